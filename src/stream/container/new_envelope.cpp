// SPDX-License-Identifier: Apache-2.0
#include "stream/container/new_envelope.hpp"

#include <optional>

#include "age/envelope.hpp"
#include "paes/error.hpp"
#include "stream/container/file_format.hpp"
#include "stream/container/rewritten_file.hpp"

namespace paes::stream {

namespace {

// Throws Error(corrupt), saying `otherwise`, unless the payload belongs to the envelope.
age::OpenEnvelope open_envelope(const PreambleFile& file, const Preamble& preamble,
                                const Rekeying& rekeying, const std::string& otherwise) {
  std::optional<age::OpenEnvelope> envelope;
  rekeying.with_credentials([&](const age::Credentials& credentials) {
    envelope.emplace(preamble.envelope(), credentials);
  });
  if (!file.commits_to(preamble.header, envelope->plaintext())) {
    throw Error(ErrorCode::corrupt, otherwise);
  }
  return std::move(*envelope);
}

std::vector<std::uint8_t> reseal(const Rekeying& rekeying, const age::OpenEnvelope& old) {
  return rekeying.change != nullptr ? old.changed(*rekeying.change)
                                    : age::seal_envelope(rekeying.seal_to(), old.plaintext());
}

// The same place for the payload, whatever the new envelope's length.
container::Header new_header(const std::string& name, const container::Header& before,
                             std::size_t envelope_bytes) {
  if (envelope_bytes > before.envelope_room() || envelope_bytes > container::max_envelope_bytes) {
    throw Error(ErrorCode::failure,
                name + ": the new envelope has " + std::to_string(envelope_bytes) +
                    " bytes, and there is room for " + std::to_string(before.envelope_room()),
                "write a new file: paes decrypt, then paes encrypt --reserve");
  }
  container::Header after = before;
  after.envelope_bytes = static_cast<std::uint32_t>(envelope_bytes);
  return after;
}

}  // namespace

std::size_t rekey_file(const PreambleFile& file, const Rekeying& rekeying) {
  const std::string& name = file.name();
  if (file.has_copy()) {
    throw Error(ErrorCode::failure, name + ": an interrupted rekey left " + file.copy_name(),
                file.leftover_hint());
  }
  const FileFormat* const format = format_of(file.input());
  if (format != nullptr && !format->is_rekeyed_in_place) {
    return rewrite_file(file, rekeying);
  }
  const Preamble before = read_preamble(file.input());
  if (rekeying.change != nullptr) {
    age::check_change(before.envelope(), *rekeying.change);
  }
  const std::vector<std::uint8_t> envelope =
      reseal(rekeying, open_envelope(file, before, rekeying,
                                     name + ": its payload was not made with its envelope's key"));
  const container::Header header = new_header(name, before.header, envelope.size());
  const std::vector<std::uint8_t> after = container::encode_preamble(header, envelope);
  const std::size_t recipients = age::summarize(envelope).stanzas.size();
  file.replace(before.bytes, after);
  return recipients;
}

std::size_t restore_recipients(const PreambleFile& file, const Rekeying& rekeying) {
  const Preamble copy = file.read_leftover();
  (void)open_envelope(file, copy, rekeying,
                      file.copy_name() + ": belongs to another file, and is not put back");
  const std::size_t recipients = age::summarize(copy.envelope()).stanzas.size();
  file.put_back(copy.bytes);
  return recipients;
}

}  // namespace paes::stream
