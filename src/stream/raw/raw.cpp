// SPDX-License-Identifier: Apache-2.0
#include "stream/raw/raw.hpp"

#include <algorithm>
#include <utility>

#include "cipher/mode/xts.hpp"
#include "message/padding.hpp"
#include "paes/error.hpp"

namespace paes::stream {

namespace {

bool has_long_units(const RawTask& task, const Work& work) noexcept {
  const Device* const device = work.device_use.device;
  const std::size_t most =
      device == nullptr ? max_piece_bytes : std::max(max_piece_bytes, device->piece_bytes());
  return task.key.row().has_units && (task.key.unit_bytes() == 0 || task.key.unit_bytes() > most);
}

}  // namespace

std::size_t RawTransfer::item_bytes_of(const RawTask& task, const Work& work) {
  const std::size_t preferred = buffer_bytes(work);
  if (has_long_units(task, work)) {
    return task.key.unit_bytes() == 0 ? std::size_t{xts::max_unit_bytes} : task.key.unit_bytes();
  }
  const std::size_t step = task.key.step_bytes();
  // A device declines pieces above its piece_bytes().
  const bool rounds_down = task.key.has_device(task.direction) && preferred >= step;
  return (rounds_down ? preferred : preferred + step - 1) / step * step;
}

RawTransfer::RawTransfer(std::string name, const RawTask& task, const Work& work,
                         std::optional<std::uint64_t> bytes, std::size_t item_bytes)
    : name_(std::move(name)),
      task_(task),
      has_long_units_(has_long_units(task, work)),
      is_chained_(!task.key.is_parallel(task.direction)),
      chain_(task.key.start(task.iv)) {
  const std::size_t block = task.key.block_size();
  layout_ = {.in_bytes = item_bytes,
             .out_bytes = item_bytes,
             .in_offset = task.encrypts() ? 0 : task.head.size(),
             .out_offset = task.encrypts() ? task.head.size() : 0,
             .total_bytes = bytes,
             .before_bytes = task.key.needs_before(task.direction) ? block : 0,
             .room_bytes = block,
             // After a data unit comes nothing, another unit, or too little for one. 16 bytes tell
             // which, before the unit is written.
             .ahead_bytes = task.key.row().has_units ? block : 1};
  layout_.check_length = [this](std::uint64_t so_far, bool is_all) {
    check_raw_length(name_, task_, so_far, is_all);
  };
}

MovedBytes RawTransfer::run(Source& source, Sink& sink, Range items, const Work& work) {
  Transform transform{.is_ordered = is_chained_,
                      .device = is_chained_ || has_long_units_ ? nullptr : work.device_use.device};
  if (!has_long_units_) {
    transform.run = [this](Buffer& buffer) { crypt(buffer, serial_executor(), layout_.in_bytes); };
    return transfer(source, &sink, layout_, transform, items, work);
  }
  transform.run = [&](Buffer& buffer) { crypt(buffer, work.executor, work.piece_bytes); };
  const Work one_at_a_time{.executor = serial_executor(),
                           .kernel = work.kernel,
                           .cancel = work.cancel,
                           .progress = work.progress};
  return transfer(source, &sink, layout_, transform, items, one_at_a_time);
}

void RawTransfer::crypt(Buffer& buffer, const Executor& executor, std::size_t piece_bytes) {
  const std::size_t block = task_.key.block_size();
  const bool pads = task_.pads && buffer.is_last;
  if (pads && task_.encrypts()) {
    const std::size_t padding = padding_bytes(buffer.bytes, block);
    write_padding({buffer.item(0) + buffer.bytes, padding});
    buffer.bytes += padding;
  }
  const MutableBytes bytes = buffer.contents();
  if (is_chained_) {
    task_.key.crypt(task_.direction, chain_, bytes, bytes, executor, piece_bytes);
  } else {
    RawPosition position =
        task_.key.at(task_.iv, buffer.first_item * layout_.in_bytes, {bytes.data() - block, block});
    task_.key.crypt(task_.direction, position, bytes, bytes, executor, piece_bytes);
  }
  if (pads && !task_.encrypts()) {
    const auto last_bytes = unpadded_bytes(Bytes(bytes).last(block));
    if (!last_bytes) {
      throw Error(ErrorCode::corrupt, name_ + ": the padding is wrong", task_.hint_when_wrong);
    }
    buffer.bytes -= block - *last_bytes;
  }
}

void check_raw_length(const std::string& name, const RawTask& task, std::uint64_t bytes,
                      bool is_all) {
  const bool encrypts = task.encrypts();
  const std::size_t block = task.key.block_size();
  if (encrypts && task.max_blocks != 0) {
    const std::uint64_t padded = bytes + (task.pads ? padding_bytes(bytes, block) : 0);
    if ((padded + block - 1) / block > task.max_blocks) {
      const bool fits_unpadded = (bytes + block - 1) / block <= task.max_blocks;
      throw Error(ErrorCode::usage,
                  name + (fits_unpadded ? ": with its padding" : ":") + " more than " +
                      std::to_string(task.max_blocks) +
                      " blocks, the most that one key of this cipher may encrypt",
                  "use AES; where it must be, --no-block-limit encrypts all the same");
    }
  }
  if (task.key.row().has_units && task.key.unit_bytes() == 0 && bytes > xts::max_unit_bytes) {
    throw Error(ErrorCode::usage,
                name + ": more than 16 MiB, the most that one data unit of XTS has",
                "give the size of the data units with --unit");
  }
  if (!is_all ||
      (task.pads ? encrypts || (bytes != 0 && bytes % block == 0) : task.key.takes(bytes))) {
    return;
  }
  const std::string why = task.key.row().has_units ? ": the last data unit has fewer than 16 bytes"
                                                   : ": not a whole number of blocks";
  if (encrypts) {
    throw Error(ErrorCode::usage, name + why, task.key.row().has_units ? "" : "leave out --no-pad");
  }
  throw Error(ErrorCode::corrupt, name + why, "it is truncated, or of another mode");
}

Need raw_need(const RawTask& task, std::uint64_t bytes) {
  const std::size_t block = task.key.block_size();
  if (task.encrypts()) {
    // Without an IV equal blocks of text stay equal.
    return {task.head.size() + bytes + (task.pads ? padding_bytes(bytes, block) : 0),
            task.iv.empty() ? Filling::compressible : Filling::whole};
  }
  return {bytes - (task.pads ? std::min<std::uint64_t>(bytes, block) : 0), Filling::compressible};
}

Totals crypt_raw(Source& input, Output& output, const RawTask& task, const Work& work) {
  std::optional<std::uint64_t> bytes;
  if (input.is_seekable()) {
    bytes = input.bytes() - (task.encrypts() ? 0 : task.head.size());
    check_raw_length(input.name(), task, *bytes, true);
  }
  RawTransfer message(input.name(), task, work, bytes, RawTransfer::item_bytes_of(task, work));
  input.expect_sequential();
  if (bytes) {
    output.expect(raw_need(task, *bytes));
  }
  MovedBytes moved;
  output.complete([&] {
    if (message.layout().out_offset != 0) {
      output.write(task.head);
    }
    moved = message.run(input, output, message.layout().all_items(), work);
    input.check_unchanged();
    return message.layout().out_offset + moved.written_bytes;
  });
  return {moved.text_bytes};
}

}  // namespace paes::stream
