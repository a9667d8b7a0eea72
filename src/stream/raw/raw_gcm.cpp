// SPDX-License-Identifier: Apache-2.0
#include "stream/raw/raw_gcm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "paes/error.hpp"

namespace paes::stream {

namespace {

// The content of a pipe, kept so that it can be read again.
class KeptPipe : public Source {
 public:
  explicit KeptPipe(const Input& input) : name_(input.name()) {
    constexpr std::size_t step_bytes = std::size_t{1} << 20;
    constexpr std::size_t most = max_kept_bytes + raw_tag_bytes;
    // All at once: growing would need twice the memory, and unused memory is never touched.
    kept_.reserve(most + step_bytes);
    for (std::size_t got = step_bytes; got == step_bytes;) {
      const std::size_t before = kept_.size();
      kept_.resize(before + step_bytes);
      got = input.read(MutableBytes(kept_).subspan(before));
      kept_.resize(before + got);
      if (kept_.size() > most) {
        throw Error(ErrorCode::usage,
                    name_ +
                        ": a pipe that brings more than 64 MiB cannot be checked before it is "
                        "written",
                    "decrypt it from a file");
      }
    }
  }

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return kept_.size(); }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override {
    auto at = static_cast<std::size_t>(offset);
    for (const iovec& part : to) {
      std::memcpy(part.iov_base, kept_.data() + at, part.iov_len);
      at += part.iov_len;
    }
    return at - static_cast<std::size_t>(offset);
  }

 private:
  std::string name_;
  std::vector<std::uint8_t> kept_;
};

}  // namespace

void check_gcm_limit(const std::string& name, std::uint64_t text_bytes) {
  if (text_bytes > gcm::max_plaintext_bytes) {
    throw Error(ErrorCode::usage, name + ": longer than GCM allows (64 GiB less 32 bytes)");
  }
}

std::uint64_t text_bytes_of_gcm(const std::string& name, std::uint64_t bytes) {
  if (bytes < raw_tag_bytes) {
    throw Error(ErrorCode::corrupt, name + ": too short to hold a tag", "it is truncated");
  }
  check_gcm_limit(name, bytes - raw_tag_bytes);
  return bytes - raw_tag_bytes;
}

GcmTransfer::GcmTransfer(std::string name, const GcmKey& key, Bytes iv, Bytes aad,
                         std::size_t piece_bytes, std::optional<std::uint64_t> text_bytes)
    : name_(std::move(name)), message_(key, iv, aad), parts_(message_) {
  layout_ = {.in_bytes = piece_bytes, .out_bytes = piece_bytes, .total_bytes = text_bytes};
  layout_.check_length = [this](std::uint64_t bytes, bool) { check_gcm_limit(name_, bytes); };
}

GcmTransfer::~GcmTransfer() {
  wipe(reinterpret_cast<std::uint8_t*>(hashes_.data()), hashes_.size() * sizeof(HashValue));
}

MovedBytes GcmTransfer::run(Source& source, Sink* sink, Pass pass, const Work& work,
                            const PieceStep& step) {
  const auto run_piece = [&](Buffer& buffer) {
    step(static_cast<std::size_t>(buffer.first_item - pieces_.first),
         buffer.first_item * layout_.in_bytes, buffer.contents());
  };
  return transfer(source, sink, layout_,
                  {.run = run_piece, .device = work.device_use.device, .pass = pass}, pieces_,
                  work);
}

MovedBytes GcmTransfer::seal(Source& source, Sink& sink, Range pieces, const Work& work) {
  pieces_ = pieces;
  return run(source, &sink, Pass::only, work,
             [this](std::size_t index, std::uint64_t offset, MutableBytes piece) {
               parts_.add(index, message_.encrypt(offset, piece, piece));
             });
}

void GcmTransfer::hash(Source& source, Range pieces, const Work& work) {
  pieces_ = pieces;
  hashes_.resize(static_cast<std::size_t>(pieces.count()));
  (void)run(source, nullptr, Pass::first_of_two, work,
            [this](std::size_t index, std::uint64_t, MutableBytes piece) {
              const GhashPart part = message_.hash(piece);
              hashes_[index] = part.value;
              parts_.add(index, part);
            });
}

void GcmTransfer::open(Source& source, Sink& sink, const Work& work) {
  (void)run(source, &sink, Pass::second_of_two, work,
            [this](std::size_t index, std::uint64_t offset, MutableBytes piece) {
              const GhashPart part = message_.decrypt(offset, piece, piece);
              if (!equal_constant_time(part.value.bytes, hashes_[index].bytes)) {
                throw Error(ErrorCode::corrupt, name_ + ": changed between its check and its use");
              }
            });
}

void GcmTransfer::check_tag(const Source& source, const GhashPart& all) const {
  const std::uint64_t text_bytes = *layout_.total_bytes;
  std::array<std::uint8_t, raw_tag_bytes> tag = {};
  source.read_at(text_bytes, MutableBytes(tag));
  Tag expected;
  const WipeOnExit wiped(expected.bytes);  // the right tag would validate a forgery
  message_.tag(all, text_bytes, expected);
  if (!equal_constant_time(Bytes(expected.bytes, raw_tag_bytes), tag)) {
    throw Error(ErrorCode::corrupt, name_ + ": the tag does not match",
                "it is damaged or forged, or the key, the IV or --aad is another");
  }
}

Totals seal_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Work& work) {
  const std::size_t piece_bytes = buffer_bytes(work);
  std::optional<std::uint64_t> text_bytes;
  if (input.is_seekable()) {
    text_bytes = input.bytes();
    check_gcm_limit(input.name(), *text_bytes);
    output.expect({*text_bytes + raw_tag_bytes, Filling::whole});
  }
  GcmTransfer message(input.name(), key, iv, aad, piece_bytes, text_bytes);
  input.expect_sequential();
  MovedBytes moved;
  output.complete([&] {
    moved = message.seal(input, output, message.layout().all_items(), work);
    input.check_unchanged();
    GhashPart all = message.joined();
    const WipeOnExit wiped(all.value.bytes);
    Tag tag;
    message.message().tag(all, moved.text_bytes, tag);
    output.write_at(moved.written_bytes, Bytes(tag.bytes, raw_tag_bytes));
    return moved.written_bytes + raw_tag_bytes;
  });
  return {moved.text_bytes};
}

Totals open_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Work& work) {
  const std::size_t piece_bytes = buffer_bytes(work);
  input.expect_sequential();
  std::optional<KeptPipe> kept;
  if (!input.is_seekable()) {
    kept.emplace(input);
  }
  Source& sealed = kept ? static_cast<Source&>(*kept) : input;
  const std::uint64_t text_bytes = text_bytes_of_gcm(input.name(), sealed.bytes());
  output.expect({text_bytes, Filling::compressible});
  GcmTransfer message(input.name(), key, iv, aad, piece_bytes, text_bytes);
  message.hash(sealed, message.layout().all_items(), work);
  {
    GhashPart all = message.joined();
    const WipeOnExit wiped(all.value.bytes);
    message.check_tag(sealed, all);
  }
  output.complete([&] {
    message.open(sealed, output, work);
    input.check_unchanged();
    return text_bytes;
  });
  return {text_bytes};
}

}  // namespace paes::stream
