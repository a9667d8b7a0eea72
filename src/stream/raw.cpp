#include "stream/raw.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "message/padding.hpp"
#include "mode/xts.hpp"
#include "paes/error.hpp"
#include "stream/grain.hpp"
#include "stream/pieces.hpp"

namespace paes::stream {

namespace {

// One message on its way.
class RawStream {
 public:
  RawStream(Input& input, Output& output, const RawTask& task, const Options& options)
      : input_(input),
        output_(output),
        task_(task),
        options_(options),
        encrypts_(task.direction == Direction::encrypt),
        pieces_(piece_bytes()),
        serial_(make_executor(Schedule::serial, 1)),
        chain_(task.key.start(task.iv)) {
    if (input.is_seekable()) {
      text_at_ = encrypts_ ? 0 : task.head.size();
      check_length(input.bytes() - text_at_, true);
    }
  }

  Totals run_all() {
    input_.expect_sequential();
    output_.expect_sequential();
    const std::size_t head_bytes = encrypts_ ? task_.head.size() : 0;
    if (input_.is_seekable()) {
      output_.expect(raw_need(task_, head_bytes, input_.bytes() - text_at_));
    }
    try {
      if (head_bytes != 0) {
        output_.write(task_.head);
      }
      if (has_long_units()) {
        crypt_long_units();
      } else {
        crypt_pieces(head_bytes);
      }
      input_.check_unchanged();
    } catch (const Error& error) {
      output_.rethrow_with_written(error);
    }
    output_.commit(head_bytes + written_bytes_.load());
    return {encrypts_ ? read_bytes_.load() : written_bytes_.load()};
  }

 private:
  // Data units too long to give each thread one of its own: all threads work on one at a time.
  [[nodiscard]] bool has_long_units() const noexcept {
    const Engine* const engine = options_.engine_use.engine;
    const std::size_t most =
        engine == nullptr ? max_grain_bytes : std::max(max_grain_bytes, engine->piece_bytes());
    return task_.key.row().has_units &&
           (task_.key.unit_bytes() == 0 || task_.key.unit_bytes() > most);
  }

  [[nodiscard]] std::size_t piece_bytes() const {
    const std::size_t grain = chunks_of_grain(options_) * cobblestone::chunk_text_bytes;
    if (has_long_units()) {
      return task_.key.unit_bytes() == 0 ? std::size_t{xts::max_unit_bytes}
                                         : task_.key.unit_bytes();
    }
    const std::size_t step = task_.key.step_bytes();
    // An engine declines what is longer than it likes.
    const bool rounds_down = task_.key.has_engine(task_.direction) && grain >= step;
    return (rounds_down ? grain : grain + step - 1) / step * step;
  }

  void check_length(std::uint64_t bytes, bool is_all) const {
    check_raw_length(input_.name(), task_, bytes, is_all);
  }

  void crypt_pieces(std::size_t head_bytes) {
    const bool is_chained = !task_.key.is_parallel(task_.direction);
    const std::size_t before_bytes =
        task_.key.needs_before(task_.direction) ? task_.key.block_size() : 0;
    Flow flow;
    flow.engine = is_chained ? nullptr : options_.engine_use.engine;
    if (input_.is_seekable()) {
      pieces_.read_at_offsets(
          flow, input_.bytes() - text_at_, before_bytes,
          [this](std::uint64_t offset, MutableBytes to) { input_.read_at(text_at_ + offset, to); });
    } else {
      pieces_.read_in_order(flow, input_, before_bytes, [this](std::uint64_t bytes, bool is_all) {
        check_length(bytes, is_all);
      });
    }
    flow.ordered_transform = is_chained;
    flow.transform = [this, is_chained](Batch& batch) { crypt(batch, is_chained); };
    pieces_.write_to(flow, output_, head_bytes);
    flow.stop_waiting = [this] {
      input_.stop_waiting();
      output_.stop_waiting();
    };
    run(flow, options_.executor, 1, options_.cancel);
  }

  void crypt(Batch& batch, bool is_chained) {
    const std::size_t block = task_.key.block_size();
    count(read_bytes_, batch.bytes);
    const bool pads = task_.pads && batch.is_last;
    if (pads && encrypts_) {
      const std::size_t padding = padding_bytes(batch.bytes, block);
      write_padding({Pieces::data_of(batch) + batch.bytes, padding});
      batch.bytes += padding;
    }
    const MutableBytes bytes = Pieces::bytes_of(batch);
    RawPosition position = chain_;
    if (!is_chained) {
      position = task_.key.at(task_.iv, pieces_.offset_of(batch), {bytes.data() - block, block});
    }
    task_.key.crypt(task_.direction, position, bytes, bytes, *serial_, pieces_.piece_bytes());
    if (is_chained) {
      chain_ = position;
    }
    if (pads && !encrypts_) {
      const auto last_bytes = unpadded_bytes(Bytes(bytes).last(block));
      if (!last_bytes) {
        throw Error(ErrorCode::corrupt, input_.name() + ": the padding is wrong",
                    task_.head.empty()
                        ? "the key, the IV or the mode is another, or the file is damaged"
                        : "the passphrase, --iter or the mode is another, or the file is damaged "
                          "or was made without -pbkdf2");
      }
      batch.bytes -= block - *last_bytes;
    }
    count(written_bytes_, batch.bytes);
    if (options_.progress != nullptr) {
      count(*options_.progress, batch.bytes);
    }
  }

  void crypt_long_units() {
    // Read beyond a unit before it is written: what follows is nothing, another unit, or too short
    // for one. The batch has room for it.
    constexpr std::size_t ahead_bytes = block_bytes;
    const std::size_t unit_bytes = pieces_.piece_bytes();
    Batch batch(1, pieces_.shape());
    std::uint8_t* const data = Pieces::data_of(batch);
    RawPosition position = chain_;
    std::uint64_t total = 0;
    std::size_t held = 0;
    for (bool has_ended = false;;) {
      check(options_.cancel);
      if (!has_ended) {
        held += input_.read(MutableBytes(data + held, unit_bytes + ahead_bytes - held));
        has_ended = held < unit_bytes + ahead_bytes;
        check_length(total + held, has_ended);
      }
      batch.bytes = std::min(held, unit_bytes);
      const MutableBytes bytes = Pieces::bytes_of(batch);
      task_.key.crypt(task_.direction, position, bytes, bytes, options_.executor,
                      options_.grain_bytes);
      output_.write(Bytes(bytes));
      count(read_bytes_, batch.bytes);
      count(written_bytes_, batch.bytes);
      if (options_.progress != nullptr) {
        count(*options_.progress, batch.bytes);
      }
      if (held <= unit_bytes) {
        return;
      }
      total += unit_bytes;
      held -= unit_bytes;
      std::memcpy(data, data + unit_bytes, held);
    }
  }

  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t bytes) noexcept {
    counter.fetch_add(bytes, std::memory_order_relaxed);
  }

  Input& input_;
  Output& output_;
  const RawTask& task_;
  const Options& options_;
  bool encrypts_;
  Pieces pieces_;
  std::unique_ptr<Executor> serial_;
  RawPosition chain_;  // of chained directions: where the next piece begins
  std::uint64_t text_at_ = 0;
  std::atomic<std::uint64_t> read_bytes_{0};
  std::atomic<std::uint64_t> written_bytes_{0};
};

}  // namespace

void check_raw_length(const std::string& name, const RawTask& task, std::uint64_t bytes,
                      bool is_all) {
  const bool encrypts = task.direction == Direction::encrypt;
  const std::size_t block = task.key.block_size();
  if (encrypts && task.max_blocks != 0) {
    const std::uint64_t padded = bytes + (task.pads ? padding_bytes(bytes, block) : 0);
    if ((padded + block - 1) / block > task.max_blocks) {
      const bool fits_unpadded = (bytes + block - 1) / block <= task.max_blocks;
      throw Error(ErrorCode::usage, name + (fits_unpadded ? ": with its padding" : ":") +
                                        " more than " + std::to_string(task.max_blocks) +
                                        " blocks, the most that one key of this cipher encrypts");
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

Need raw_need(const RawTask& task, std::size_t head_bytes, std::uint64_t bytes) {
  const std::size_t block = task.key.block_size();
  if (task.direction == Direction::encrypt) {
    // Without an IV equal blocks of text stay equal.
    return {head_bytes + bytes + (task.pads ? padding_bytes(bytes, block) : 0),
            task.iv.empty() ? Filling::compressible : Filling::whole};
  }
  return {bytes - (task.pads ? std::min<std::uint64_t>(bytes, block) : 0), Filling::compressible};
}

Totals crypt_raw(Input& input, Output& output, const RawTask& task, const Options& options) {
  return RawStream(input, output, task, options).run_all();
}

std::size_t read_head(Input& input, MutableBytes to) {
  if (!input.is_seekable()) {
    return input.read(to);
  }
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(input.bytes(), to.size()));
  input.read_at(0, to.first(bytes));
  return bytes;
}

}  // namespace paes::stream
