// SPDX-License-Identifier: Apache-2.0
#include "age/scrypt.hpp"

#include <algorithm>
#include <charconv>

#include "crypto/scrypt_in_steps.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

// Far above what libcrypto or a machine can run. The caller has a lower cap.
constexpr unsigned max_representable_work_factor = 63;

// ^[1-9][0-9]*$; empty for any other spelling.
std::optional<unsigned> parse_work_factor(std::string_view text) {
  const char* const end = text.data() + text.size();
  unsigned value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != end || text.front() == '0' ||
      value > max_representable_work_factor) {
    return std::nullopt;
  }
  return value;
}

void derive_wrap_key(Bytes passphrase, Bytes salt, unsigned work_factor, const WaitReady& wait,
                     WrapKey& wrap_key) {
  constexpr std::string_view label = "age-encryption.org/v1/scrypt";
  std::array<std::uint8_t, label.size() + 16> labelled;
  std::copy(label.begin(), label.end(), labelled.begin());
  std::copy(salt.begin(), salt.end(), labelled.begin() + label.size());
  scrypt_in_steps(
      passphrase, labelled, {work_factor}, [&wait] { check(wait); }, wrap_key.bytes);
}

}  // namespace

ScryptStanza read_scrypt(const Stanza& stanza) {
  ScryptStanza read;
  const auto arguments = stanza.split_arguments();
  const auto work_factor =
      arguments.size() == 3 ? parse_work_factor(arguments[2]) : std::optional<unsigned>{};
  if (!work_factor || !base64::decode(arguments[1], read.salt) ||
      !stanza.decode_body(read.wrapped_key)) {
    throw corrupt("malformed scrypt stanza");
  }
  read.work_factor = *work_factor;
  return read;
}

NewStanza wrap_under(Bytes passphrase, unsigned work_factor, Bytes file_key,
                     const WaitReady& wait) {
  if (passphrase.empty()) {
    throw Error(ErrorCode::usage, "passphrase: is empty");
  }
  std::array<std::uint8_t, 16> salt{};
  random_bytes(salt);
  WrapKey wrap_key;
  derive_wrap_key(passphrase, salt, work_factor, wait, wrap_key);
  return {std::string(scrypt_type) + " " + base64::encode(salt) + " " + std::to_string(work_factor),
          wrap_file_key(wrap_key, file_key)};
}

std::optional<SecretBytes> unwrap_under(Bytes passphrase, const ScryptStanza& stanza,
                                        const WaitReady& wait) {
  WrapKey wrap_key;
  derive_wrap_key(passphrase, stanza.salt, stanza.work_factor, wait, wrap_key);
  return unwrap_file_key(wrap_key, stanza.wrapped_key);
}

}  // namespace paes::age
