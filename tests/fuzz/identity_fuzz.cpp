// Identity and recipient files, and the Bech32 beneath: the input is a file's contents, and its
// first 32 bytes are a key to write and read back.
#include <algorithm>
#include <string>
#include <string_view>

#include "format/age.hpp"
#include "format/encodings.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;
namespace age = paes::age;
namespace bech32 = paes::bech32;

void check_identities(Bytes contents) {
  const std::string_view text(reinterpret_cast<const char*>(contents.data()), contents.size());
  for (const age::X25519Identity& identity : age::parse_identity_file(contents, "file")) {
    const paes::SecretBytes written = age::to_secret_text(identity);
    require(text.find({reinterpret_cast<const char*>(written.data()), written.size()}) !=
                std::string_view::npos,
            "an identity has one spelling");
  }
}

void check_recipients(Bytes contents) {
  const std::string_view text(reinterpret_cast<const char*>(contents.data()), contents.size());
  for (const age::X25519Recipient& recipient : age::parse_recipient_file(contents, "file")) {
    require(text.find(age::to_string(recipient)) != std::string_view::npos,
            "a recipient has one spelling");
  }
}

void check_bech32(std::span<const std::uint8_t, bech32::data_bytes> data) {
  for (const std::string_view part : {"age", "AGE-SECRET-KEY-"}) {
    std::string text(bech32::text_length(part), '\0');
    bech32::encode(part, data, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    std::uint8_t read[bech32::data_bytes];
    require(bech32::decode(text, part, read) == bech32::Decoded::good, "what is written is read");
    require(std::equal(data.begin(), data.end(), read), "what is read was written");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const Bytes input(data, bytes);
  if (bytes >= bech32::data_bytes) {
    check_bech32(std::span<const std::uint8_t, bech32::data_bytes>(data, bech32::data_bytes));
  }
  for (const auto check : {check_identities, check_recipients}) {
    try {
      check(input);
    } catch (const paes::Error& error) {
      require(error.code == paes::ErrorCode::usage, "a bad key file is a usage error");
    }
  }
  return 0;
}
