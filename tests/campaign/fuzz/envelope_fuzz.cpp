// SPDX-License-Identifier: Apache-2.0
// The age envelope, in two ways: the input as a whole file, and the input as stanzas of a header
// whose MAC is right, which mutation alone would never hit. Identity, file key and stanza are those
// of the vector `x25519` of the Community Cryptography Test Vectors (see age/testkit.txt).
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "age/age_payload.hpp"
#include "age/envelope.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::SecretBytes;
using paes::fuzz::require;
using paes::libcrypto::bytes_of;
namespace age = paes::age;

constexpr std::string_view file_key = "YELLOW SUBMARINE";
constexpr std::string_view plaintext = "paes";
constexpr std::string_view passphrase = "password";
constexpr unsigned max_work_factor = 3;  // a file may ask for microseconds only

const std::vector<age::SharedIdentity>& identities() {
  static const std::vector<age::SharedIdentity> all = {age::parse_identity(
      "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0")};
  return all;
}

age::Credentials credentials() {
  return {identities(), [] { return SecretBytes(bytes_of(passphrase)); }, max_work_factor};
}

bool equal(const SecretBytes& a, Bytes b) {
  return std::equal(a.data(), a.data() + a.size(), b.begin(), b.end());
}

constexpr std::string_view own_stanza =
    "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\n"
    "hjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE\n";

const std::vector<std::uint8_t>& own_payload() {
  static const std::vector<std::uint8_t> payload =
      age::seal_payload(bytes_of(file_key), bytes_of(plaintext));
  return payload;
}

// A file whose header is our stanza, then `more`, and right in everything else.
std::vector<std::uint8_t> file_with(Bytes more) {
  std::string text = age::version_line();
  text.append(own_stanza).append(more.begin(), more.end()).append(age::mac_mark);
  std::uint8_t mac_key[32];
  paes::libcrypto::hkdf_sha256(bytes_of(file_key), {}, bytes_of("header"), mac_key);
  age::append_mac(text, paes::libcrypto::hmac_sha256(mac_key, bytes_of(text)));
  std::vector<std::uint8_t> file(text.begin(), text.end());
  file.insert(file.end(), own_payload().begin(), own_payload().end());
  return file;
}

// Nothing in an accepted header could have been written in another way.
void check_spelling(Bytes file) {
  const age::ParsedHeader parsed = age::parse_checked(file);
  std::string text = age::version_line();
  for (const age::Stanza& stanza : parsed.stanzas) {
    text.append("-> ").append(stanza.arguments).append("\n").append(stanza.body).append("\n");
    std::istringstream lines{std::string(stanza.body)};
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::uint8_t> data(line.size() * 6 / 8);
      require(paes::base64::decode(line, data) && paes::base64::encode(data) == line,
              "bodies are canonical Base 64");
    }
  }
  text.append(age::mac_mark);
  require(std::equal(text.begin(), text.end(), parsed.authenticated.begin(),
                     parsed.authenticated.end()),
          "the MAC covers version line and stanzas");
}

void check_adding(Bytes file, const SecretBytes& opened) {
  const age::SharedRecipient more[] = {identities().front()->recipients().front()};
  std::vector<std::uint8_t> extended;
  try {
    extended = age::OpenEnvelope(file, credentials()).changed({.added = more});
  } catch (const paes::Error& error) {
    // A post-quantum key goes with its like alone.
    require(error.code == paes::ErrorCode::usage, error.what());
    return;
  }
  require(equal(age::open(extended, credentials()), opened), "adding keeps the plaintext");
  require(age::summarize(extended).stanzas.size() == age::summarize(file).stanzas.size() + 1,
          "adding adds one stanza");
}

void check_file(Bytes file) {
  check_spelling(file);
  const age::Summary summary = age::summarize(file);
  require(!summary.stanzas.empty(), "an envelope has a stanza");
  const SecretBytes opened = age::open(file, credentials());
  if (summary.stanzas.front().type != "scrypt") {
    check_adding(file, opened);
  }
}

// Throws Error if the stanzas are malformed; opens otherwise.
void check_stanzas(Bytes more) {
  const auto file = file_with(more);
  check_spelling(file);
  if (file.size() - age::parse_header(file).bytes != own_payload().size()) {
    return;  // the input brought an end line of its own, before the right one
  }
  try {
    const SecretBytes opened = age::open(file, credentials());
    require(equal(opened, bytes_of(plaintext)), "a right header opens to its plaintext");
    check_adding(file, opened);
  } catch (const paes::Error& error) {
    require(false, error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  for (const auto check : {check_file, check_stanzas}) {
    try {
      check(Bytes(data, bytes));
    } catch (const paes::Error& error) {
      const bool is_costly =
          std::string_view(error.what()).find("work factor") != std::string_view::npos;
      require(is_costly == (error.code == paes::ErrorCode::failure),
              "only what is too costly fails, and no input makes libcrypto fail");
    }
  }
  return 0;
}
