// SPDX-License-Identifier: Apache-2.0
// The container as a file format: an envelope that holds the input key, and Cobblestone's chunks.
#include <utility>

#include "core/secret.hpp"
#include "stream/container/chunk_cipher.hpp"
#include "stream/container/file_format.hpp"

namespace paes::stream {

extern const FileFormat format_paes;

namespace {

class ContainerHead : public FileHead {
 public:
  explicit ContainerHead(Preamble preamble) : preamble_(std::move(preamble)) {}

  [[nodiscard]] const FileFormat& format() const noexcept override { return format_paes; }
  [[nodiscard]] std::uint64_t payload_offset() const noexcept override {
    return preamble_.header.payload_offset();
  }
  [[nodiscard]] unsigned key_bits() const noexcept override {
    return static_cast<unsigned>(8 * container::key_bytes(preamble_.header.suite));
  }
  [[nodiscard]] age::Summary summary() const override {
    return age::summarize(preamble_.envelope());
  }
  [[nodiscard]] SecretBytes open_key(const age::Credentials& credentials) const override {
    return age::open(preamble_.envelope(), credentials);
  }
  [[nodiscard]] OpenedPayload open(const Source& source, const age::Credentials& credentials,
                                   const Work& work) const override {
    return open_container(source, preamble_.header, open_key(credentials), work);
  }
  [[nodiscard]] const Preamble* container() const noexcept override { return &preamble_; }

 private:
  Preamble preamble_;
};

std::unique_ptr<FileHead> read_head(PeekedSource& source) {
  return std::make_unique<ContainerHead>(read_preamble(source));
}

NewPayload new_payload(const age::SealTo& seal_to, const container::Shape& shape,
                       const Work& work) {
  const RandomBytesAtOnce at_once;
  SecretBytes input_key(container::key_bytes(shape.suite));
  random_bytes(input_key);
  return new_container(shape, age::seal_envelope(seal_to, input_key), input_key, work);
}

}  // namespace

extern const FileFormat format_paes = {.name = "paes",
                                       .suffix = ".paes",
                                       .chunking = cobblestone::chunking,
                                       .has_shape = true,
                                       .kernel = "",
                                       .why_cpu_alone = "",
                                       .is_resumable = true,
                                       .is_rekeyed_in_place = true,
                                       .has_armor = false,
                                       .is_format_of = container::is_container,
                                       .read_head = read_head,
                                       .new_payload = new_payload};

}  // namespace paes::stream
