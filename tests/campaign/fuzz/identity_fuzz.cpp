// SPDX-License-Identifier: Apache-2.0
// Identity and recipient files, SSH's private keys among them, and the Bech32 beneath: the input is
// a file's contents, or what OpenSSH writes between BEGIN and END, and its first 32 bytes are a key
// to write and read back.
#include <algorithm>
#include <string>
#include <string_view>

#include "age/openssh_key.hpp"
#include "encoding/encodings.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;
namespace age = paes::age;
namespace bech32 = paes::bech32;

bool is_ssh(const std::string& recipient) { return recipient.starts_with("ssh-"); }

void check_identities(Bytes contents) {
  const std::string_view text(reinterpret_cast<const char*>(contents.data()), contents.size());
  for (const age::SharedIdentity& identity : age::parse_identity_file(contents, "file")) {
    if (is_ssh(identity->recipients().front()->text())) {
      continue;  // it has no text
    }
    const paes::SecretBytes written = identity->secret_text();
    require(text.find({reinterpret_cast<const char*>(written.data()), written.size()}) !=
                std::string_view::npos,
            "an identity has one spelling");
  }
}

void check_recipients(Bytes contents) {
  const std::string_view text(reinterpret_cast<const char*>(contents.data()), contents.size());
  for (const age::SharedRecipient& recipient : age::parse_recipient_file(contents, "file")) {
    const std::string written = recipient->text();
    // Tabs and several spaces may come before the Base 64 of SSH's keys.
    const std::size_t begin = is_ssh(written) ? written.find(' ') + 1 : 0;
    require(text.find(written.substr(begin)) != std::string_view::npos,
            "a recipient has one spelling");
  }
}

void check_openssh(Bytes data) {
  const age::OpensshKey key(data, "file");
  if (!key.is_encrypted()) {  // a passphrase would take too long
    const age::SharedIdentity identity = key.open({}, {});
    require(identity->recipients().front()->text() == key.recipient()->text(),
            "both halves belong together");
  }
}

void check_bech32(std::span<const std::uint8_t, bech32::key_bytes> data) {
  for (const std::string_view part : {"age", "AGE-SECRET-KEY-"}) {
    std::string text(bech32::text_length(part), '\0');
    bech32::encode(part, data, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    std::uint8_t read[bech32::key_bytes];
    require(bech32::decode(text, part, read) == bech32::Decoded::good, "what is written is read");
    require(std::equal(data.begin(), data.end(), read), "what is read was written");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const Bytes input(data, bytes);
  if (bytes >= bech32::key_bytes) {
    check_bech32(std::span<const std::uint8_t, bech32::key_bytes>(data, bech32::key_bytes));
  }
  for (const auto check : {check_identities, check_recipients, check_openssh}) {
    try {
      check(input);
    } catch (const paes::Error& error) {
      require(error.code == paes::ErrorCode::usage, "a bad key file is a usage error");
    }
  }
  return 0;
}
