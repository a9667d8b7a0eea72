// SPDX-License-Identifier: Apache-2.0
#include "stream/container/age_format.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"
#include "stream/container/file_format.hpp"

namespace paes::stream {

namespace {

Secret<age::PayloadKey> payload_key(Bytes file_key, Bytes nonce) {
  Secret<age::PayloadKey> key;
  age::derive_payload_key(file_key, nonce, *key);
  return key;
}

// Marks only the last chunk of the text.
auto nonce_of(const Buffer& buffer, std::size_t index) {
  return age::chunk_nonce(buffer.first_item + index, buffer.is_last && index + 1 == buffer.items);
}

}  // namespace

AgeCipher::AgeCipher(Bytes file_key, Bytes payload_nonce)
    : cipher_(*payload_key(file_key, payload_nonce)) {}

void AgeCipher::seal(Buffer& buffer) const {
  const libcrypto::ChaCha20Poly1305::Worker worker(cipher_);
  for (std::size_t i = 0; i < buffer.items; ++i) {
    const Chunk chunk = chunk_at(buffer, i, buffer.bytes, age::chunking);
    worker.seal(nonce_of(buffer, i), chunk.text, chunk.tag);
  }
  buffer.bytes += buffer.items * age::chunking.tag_bytes;
}

template <typename IsAuthentic>
std::vector<Range> AgeCipher::check(Buffer& buffer, const IsAuthentic& is_authentic,
                                    const WantedText* wanted) const {
  const libcrypto::ChaCha20Poly1305::Worker worker(cipher_);
  const std::size_t text_bytes = buffer.bytes - buffer.items * age::chunking.tag_bytes;
  std::vector<Range> damaged;
  for (std::size_t i = 0; i < buffer.items; ++i) {
    const Chunk chunk = chunk_at(buffer, i, text_bytes, age::chunking);
    // An empty chunk after others is forbidden, so that each text has only one chunking.
    if ((chunk.text.empty() && chunk.number != 0) ||
        !is_authentic(worker, nonce_of(buffer, i), chunk)) {
      append_chunk(damaged, chunk.number);
    } else if (wanted != nullptr) {
      copy_wanted(chunk, age::chunking.text_bytes, *wanted);
    }
  }
  buffer.bytes = text_bytes;
  return damaged;
}

std::optional<std::uint64_t> AgeCipher::open(Buffer& buffer, const WantedText* wanted) const {
  const std::vector<Range> damaged = check(
      buffer,
      [](const auto& worker, Bytes nonce, const Chunk& chunk) {
        return worker.open(nonce, chunk.text, chunk.tag);
      },
      wanted);
  return damaged.empty() ? std::nullopt : std::optional(damaged.front().first);
}

std::vector<Range> AgeCipher::verify(Buffer& buffer) const {
  return check(
      buffer,
      [](const auto& worker, Bytes nonce, const Chunk& chunk) {
        return worker.verify(nonce, chunk.text, chunk.tag);
      },
      nullptr);
}

NewPayload new_age_payload(Bytes header, Bytes file_key) {
  std::vector<std::uint8_t> head(header.size() + age::payload_nonce_bytes);
  std::copy(header.begin(), header.end(), head.begin());
  const MutableBytes nonce = MutableBytes(head).last(age::payload_nonce_bytes);
  random_bytes(nonce);
  auto cipher = std::make_unique<AgeCipher>(file_key, nonce);
  return {header.size(), std::move(head), std::move(cipher)};
}

OpenedPayload open_age_payload(const Source& source, std::uint64_t payload_offset, Bytes file_key) {
  const Extent extent = extent_of(source, payload_offset, age::chunking);
  std::array<std::uint8_t, age::payload_nonce_bytes> nonce;
  if (source.read_at(payload_offset, MutableBytes(nonce)) != nonce.size()) {
    throw_truncated(source.name());
  }
  return {extent, std::make_unique<AgeCipher>(file_key, nonce)};
}

extern const FileFormat format_age;

namespace {

class AgeHead : public FileHead {
 public:
  explicit AgeHead(Bytes header)
      : bytes_(header.begin(), header.end()), header_(age::parse_checked(bytes_)) {}

  [[nodiscard]] const FileFormat& format() const noexcept override { return format_age; }
  [[nodiscard]] std::uint64_t payload_offset() const noexcept override { return header_.bytes; }
  [[nodiscard]] unsigned key_bits() const noexcept override {
    return 8 * std::tuple_size_v<age::PayloadKey>;
  }
  [[nodiscard]] age::Summary summary() const override { return age::summarize(header_); }
  [[nodiscard]] SecretBytes open_key(const age::Credentials& credentials) const override {
    return age::open_header(header_, credentials);
  }
  [[nodiscard]] OpenedPayload open(const Source& source, const age::Credentials& credentials,
                                   const Work& /*work*/) const override {
    return open_age_payload(source, header_.bytes, open_key(credentials));
  }
  [[nodiscard]] std::vector<std::uint8_t> rekeyed(const Rekeying& rekeying) const override {
    if (rekeying.change != nullptr) {
      age::check_change(header_, *rekeying.change);
    }
    SecretBytes file_key;
    rekeying.with_credentials(
        [&](const age::Credentials& credentials) { file_key = open_key(credentials); });
    const std::string text = rekeying.change != nullptr
                                 ? age::change_header(header_, file_key, *rekeying.change)
                                 : age::header_for(rekeying.seal_to(), file_key);
    return {text.begin(), text.end()};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  age::ParsedHeader header_;  // views of those bytes
};

// The header does not say how long it is: it ends with the line that begins with "---". For a
// malformed header this may return too much or too little, and parsing refuses it.
Bytes peek_header(PeekedSource& source) {
  constexpr std::size_t first_step = 512;  // a file for one recipient
  for (std::size_t step = first_step;; step *= 2) {
    const Bytes found = source.peek(std::min(step, age::max_header_bytes));
    const std::string_view text = libcrypto::text_of(found);
    const std::size_t mark = text.find("\n---");
    const std::size_t end = mark == std::string_view::npos ? mark : text.find('\n', mark + 1);
    if (end != std::string_view::npos) {
      return found.first(end + 1);
    }
    if (found.size() < step) {
      return found;
    }
  }
}

std::unique_ptr<FileHead> read_head(PeekedSource& source) {
  auto head = std::make_unique<AgeHead>(peek_header(source));
  if (!source.is_seekable()) {
    std::vector<std::uint8_t> passed(static_cast<std::size_t>(head->payload_offset()));
    (void)source.read_at(0, MutableBytes(passed));
  }
  return head;
}

NewPayload new_payload(const age::SealTo& seal_to, const container::Shape& /*shape*/,
                       const Work& /*work*/) {
  const RandomBytesAtOnce at_once;
  const age::SealedHeader sealed = age::seal_header(seal_to);
  return new_age_payload(libcrypto::bytes_of(sealed.text), sealed.file_key);
}

}  // namespace

extern const FileFormat format_age = {.name = "age",
                                      .suffix = ".age",
                                      .chunking = age::chunking,
                                      .has_shape = false,
                                      .kernel = "openssl",
                                      .why_cpu_alone = "no device has ChaCha20-Poly1305",
                                      .is_resumable = true,
                                      .is_rekeyed_in_place = false,
                                      .has_armor = true,
                                      .is_format_of = age::is_age,
                                      .read_head = read_head,
                                      .new_payload = new_payload};

}  // namespace paes::stream
