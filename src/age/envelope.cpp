// SPDX-License-Identifier: Apache-2.0
#include "age/envelope.hpp"

#include "age/age_payload.hpp"
#include "format/container.hpp"

namespace paes::age {

namespace {

ParsedHeader parse_envelope(Bytes envelope) {
  if (envelope.size() > container::max_envelope_bytes) {
    throw corrupt("longer than " + std::to_string(container::max_envelope_bytes) + " bytes");
  }
  ParsedHeader header = parse_checked(envelope);
  if (envelope.size() - header.bytes < payload_nonce_bytes) {
    throw corrupt("truncated");
  }
  return header;
}

std::vector<std::uint8_t> join(const std::string& header, Bytes payload) {
  container::check_envelope_bytes(header.size() + payload.size());
  std::vector<std::uint8_t> file(header.begin(), header.end());
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

std::vector<std::uint8_t> seal(const SealedHeader& header, Bytes plaintext) {
  return join(header.text, seal_payload(header.file_key, plaintext));
}

}  // namespace

std::vector<std::uint8_t> seal_to_recipients(std::span<const SharedRecipient> recipients,
                                             Bytes plaintext, const WaitReady& wait) {
  return seal(seal_header(recipients, wait), plaintext);
}

std::vector<std::uint8_t> seal_to_passphrase(Bytes passphrase, Bytes plaintext,
                                             unsigned work_factor, const WaitReady& wait) {
  return seal(seal_header(passphrase, work_factor, wait), plaintext);
}

std::vector<std::uint8_t> seal_envelope(const SealTo& to, Bytes plaintext) {
  return seal(seal_header(to), plaintext);
}

Summary summarize(const ParsedHeader& header) {
  Summary summary;
  for (const Stanza& stanza : header.stanzas) {
    const bool asks_work = stanza.type() == scrypt_type;
    summary.stanzas.push_back(
        {std::string(stanza.type()), asks_work ? read_scrypt(stanza).work_factor : 0});
  }
  return summary;
}

Summary summarize(Bytes envelope) { return summarize(parse_envelope(envelope)); }

OpenEnvelope::OpenEnvelope(Bytes envelope, const Credentials& credentials)
    : header_(parse_envelope(envelope)),
      payload_(envelope.subspan(header_.bytes)),
      file_key_(open_header(header_, credentials)) {
  auto plaintext = open_payload(file_key_, payload_);
  if (!plaintext) {
    throw corrupt("its payload is damaged or truncated");
  }
  plaintext_ = std::move(*plaintext);
}

std::vector<std::uint8_t> OpenEnvelope::changed(const RecipientChange& change) const {
  return join(change_header(header_, file_key_, change), payload_);
}

void check_change(Bytes envelope, const RecipientChange& change) {
  check_change(parse_envelope(envelope), change);
}

}  // namespace paes::age
