#include "age/envelope.hpp"

#include "age/payload.hpp"
#include "format/container.hpp"

namespace paes::age {

namespace {

struct ParsedFile {
  ParsedHeader header;
  Bytes payload;
};

ParsedFile parse_file(Bytes file) {
  if (file.size() > container::max_envelope_bytes) {
    throw corrupt("longer than " + std::to_string(container::max_envelope_bytes) + " bytes");
  }
  ParsedHeader header = parse_checked(file);
  const Bytes payload = file.subspan(header.bytes);
  if (payload.size() < payload_nonce_bytes) {
    throw corrupt("truncated");
  }
  return {std::move(header), payload};
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

SecretBytes open_authentic_payload(const ParsedFile& file, Bytes file_key) {
  auto plaintext = open_payload(file_key, file.payload);
  if (!plaintext) {
    throw corrupt("its payload is damaged or truncated");
  }
  return std::move(*plaintext);
}

}  // namespace

std::vector<std::uint8_t> seal_to_recipients(std::span<const SharedRecipient> recipients,
                                             Bytes plaintext) {
  return seal(seal_header(recipients), plaintext);
}

std::vector<std::uint8_t> seal_to_passphrase(Bytes passphrase, Bytes plaintext,
                                             unsigned work_factor, const WaitReadable& wait) {
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

Summary summarize(Bytes envelope) { return summarize(parse_file(envelope).header); }

SecretBytes open(Bytes envelope, const Credentials& credentials) {
  const ParsedFile file = parse_file(envelope);
  return open_authentic_payload(file, open_header(file.header, credentials));
}

std::vector<std::uint8_t> remove_recipients(Bytes envelope, const Credentials& credentials,
                                            std::span<const std::size_t> places) {
  const ParsedFile file = parse_file(envelope);
  const SecretBytes file_key = open_header(file.header, credentials);
  (void)open_authentic_payload(file, file_key);
  return join(remove_from_header(file.header, file_key, places), file.payload);
}

std::vector<std::uint8_t> add_recipients(Bytes envelope, const Credentials& credentials,
                                         std::span<const SharedRecipient> recipients) {
  const ParsedFile file = parse_file(envelope);
  // Before a passphrase is asked for, which would be in vain.
  if (file.header.stanzas.front().type() == scrypt_type) {
    return join(add_to_header(file.header, {}, recipients), file.payload);
  }
  const SecretBytes file_key = open_header(file.header, credentials);
  (void)open_authentic_payload(file, file_key);  // refuses a damaged payload
  return join(add_to_header(file.header, file_key, recipients), file.payload);
}

}  // namespace paes::age
