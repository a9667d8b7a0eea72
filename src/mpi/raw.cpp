#include "mpi/raw.hpp"

#include <array>
#include <atomic>

#include "message/padding.hpp"
#include "mode/xts.hpp"
#include "mpi/own_pieces.hpp"
#include "stream/grain.hpp"

namespace paes::mpi {

namespace {

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

// One rank's part of one message.
class RawPart {
 public:
  RawPart(Communicator& communicator, SharedInput& input, SharedOutput& output,
          const stream::RawTask& task, const stream::Options& options)
      : communicator_(communicator),
        input_(input),
        output_(output),
        task_(task),
        options_(options),
        encrypts_(task.direction == Direction::encrypt),
        own_(communicator, input.bytes(), piece_bytes(), run_bytes()),
        serial_(make_executor(Schedule::serial, 1)) {}

  stream::Totals run_all() {
    output_.expect(stream::raw_need(task_, 0, input_.bytes()));
    together(communicator_, options_.progress, [&](const Touch& touch) {
      done_bytes_ = &touch.done_bytes;
      const std::size_t before =
          task_.key.needs_before(task_.direction) ? task_.key.block_size() : 0;
      stream::Flow flow = own_.reading(input_, 0, before);
      flow.engine = options_.engine_use.engine;
      flow.transform = [&](stream::Batch& batch) { crypt(batch); };
      own_.write_to(flow, output_);
      stream::run(flow, options_.executor, 1, &touch.stop);
      input_.check_unchanged();
    });
    together(communicator_, [&] { output_.sync(); });
    // Only the rank with the last piece knows how long the text is behind its padding.
    std::array<std::int64_t, 1> written = {static_cast<std::int64_t>(written_bytes_.load())};
    communicator_.sum(written);
    const auto written_bytes = static_cast<std::uint64_t>(written[0]);
    output_.commit(written_bytes);
    return {encrypts_ ? input_.bytes() : written_bytes};
  }

 private:
  // Of a message that is one data unit, which nothing cuts, or whose units are long.
  [[nodiscard]] std::size_t unit_bytes() const noexcept {
    if (!task_.key.row().has_units) {
      return 0;
    }
    return task_.key.unit_bytes() == 0 ? std::size_t{xts::max_unit_bytes} : task_.key.unit_bytes();
  }

  [[nodiscard]] std::size_t step_bytes() const noexcept {
    return unit_bytes() != 0 ? unit_bytes() : task_.key.step_bytes();
  }

  [[nodiscard]] std::size_t piece_bytes() const {
    const std::size_t grain = stream::chunks_of_grain(options_) * cobblestone::chunk_text_bytes;
    const std::size_t step = step_bytes();
    // An engine declines what is longer than it likes.
    const bool rounds_down = task_.key.has_engine(task_.direction) && grain >= step;
    return rounds_down ? grain / step * step : static_cast<std::size_t>(rounded_up(grain, step));
  }

  [[nodiscard]] std::uint64_t run_bytes() const { return rounded_up(batch_bytes, step_bytes()); }

  void crypt(stream::Batch& batch) {
    const std::size_t block = task_.key.block_size();
    const bool pads = task_.pads && batch.is_last;
    const std::size_t text_bytes = batch.bytes;
    if (pads && encrypts_) {
      const std::size_t padding = padding_bytes(batch.bytes, block);
      write_padding({stream::Pieces::data_of(batch) + batch.bytes, padding});
      batch.bytes += padding;
    }
    const MutableBytes bytes = stream::Pieces::bytes_of(batch);
    RawPosition position =
        task_.key.at(task_.iv, own_.offset_of(batch), {bytes.data() - block, block});
    task_.key.crypt(task_.direction, position, bytes, bytes, *serial_, own_.piece_bytes());
    if (pads && !encrypts_) {
      const auto last_bytes = unpadded_bytes(Bytes(bytes).last(block));
      if (!last_bytes) {
        throw Error(ErrorCode::corrupt, input_.name() + ": the padding is wrong",
                    "the key, the IV or the mode is another, or the file is damaged");
      }
      batch.bytes -= block - *last_bytes;
    }
    written_bytes_.fetch_add(batch.bytes, std::memory_order_relaxed);
    done_bytes_->fetch_add(text_bytes, std::memory_order_relaxed);
  }

  Communicator& communicator_;
  SharedInput& input_;
  SharedOutput& output_;
  const stream::RawTask& task_;
  const stream::Options& options_;
  bool encrypts_;
  OwnPieces own_;
  std::unique_ptr<Executor> serial_;
  std::atomic<std::uint64_t>* done_bytes_ = nullptr;
  std::atomic<std::uint64_t> written_bytes_{0};
};

void share(Communicator& communicator, std::vector<std::uint8_t>& bytes) {
  std::uint64_t count = bytes.size();
  communicator.broadcast({reinterpret_cast<std::uint8_t*>(&count), sizeof count});
  bytes.resize(static_cast<std::size_t>(count));
  communicator.broadcast(bytes);
}

}  // namespace

void share(Communicator& communicator, RawSecrets& secrets) {
  std::uint64_t key_bytes = secrets.key.size();
  communicator.broadcast({reinterpret_cast<std::uint8_t*>(&key_bytes), sizeof key_bytes});
  if (!communicator.is_first()) {
    secrets.key = SecretBytes(static_cast<std::size_t>(key_bytes));
  }
  communicator.broadcast(secrets.key);
  share(communicator, secrets.iv);
  share(communicator, secrets.aad);
}

stream::Totals crypt_raw(Communicator& communicator, SharedInput& input, SharedOutput& output,
                         const stream::RawTask& task, const stream::Options& options) {
  together(communicator, [&] {
    if (!task.key.is_parallel(task.direction)) {
      throw Error(ErrorCode::usage, input.name() + ": this direction of the mode is chained",
                  "paes does it as fast as many ranks would");
    }
    stream::check_raw_length(input.name(), task, input.bytes(), true);
  });
  return RawPart(communicator, input, output, task, options).run_all();
}

}  // namespace paes::mpi
