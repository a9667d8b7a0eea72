// SPDX-License-Identifier: Apache-2.0
// gocryptfs.conf: what is read is written in a form that reads as the same, and what is refused is
// refused in one line.
#include <string>
#include <string_view>

#include "fuzz/property.hpp"
#include "paes/error.hpp"
#include "vault/configuration.hpp"

using paes::Bytes;
using paes::fuzz::require;
using paes::vault::Configuration;
using paes::vault::parse_configuration;

namespace {

// Empty if readers would not take it: indented, a text at the limit is above it.
std::string text_of(const Configuration& configuration) {
  try {
    return paes::vault::configuration_text(configuration);
  } catch (const paes::Error& error) {
    require(std::string_view(error.what()).starts_with("configuration: would have "), "no other");
    return "";
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  try {
    const Configuration read = parse_configuration(Bytes(data, bytes), "input");
    require(read.scrypt.log2_n >= paes::vault::min_log2_n, "scrypt is not too cheap");
    require(read.scrypt.work_factor() >= read.scrypt.log2_n, "r and p only add to the cost");
    require(read.encrypted_key.size() == (read.features.has_hkdf ? 64 : 60), "a key is wrapped");
    require(!read.fido2 || (!read.fido2->id.empty() && read.fido2->salt.size() >= 32),
            "a token is asked for something");
    require(!read.features.has_plaintext_names ||
                !(read.features.has_directory_ivs || read.features.has_long_names),
            "plain names exclude the rest");
    const std::string text = text_of(read);
    if (text.empty()) {
      return 0;
    }
    const Bytes written(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    const Configuration again = parse_configuration(written, "written");
    require(again.creator == read.creator && again.features == read.features &&
                again.fido2 == read.fido2 && again.encrypted_key == read.encrypted_key &&
                again.scrypt.salt == read.scrypt.salt &&
                again.scrypt.log2_n == read.scrypt.log2_n && again.scrypt.r == read.scrypt.r &&
                again.scrypt.p == read.scrypt.p && again.other_members == read.other_members,
            "it comes back");
    require(paes::vault::configuration_text(again) == text, "there is one way to write it");
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::corrupt || error.code == paes::ErrorCode::failure,
            "a bad configuration is corrupt or not supported");
    require(std::string_view(error.what()).starts_with("input: "), "the error names the input");
  }
  return 0;
}
