// SPDX-License-Identifier: Apache-2.0
#include "vault/names.hpp"

#include <cassert>
#include <cstring>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "message/padding.hpp"
#include "paes/error.hpp"

namespace paes::vault {

namespace {

constexpr std::size_t cipher_block = 16;
using PaddedName =
    std::array<std::uint8_t, max_name_bytes / cipher_block * cipher_block + cipher_block>;

// Used for extended attributes where names of files use a folder's IV.
constexpr std::string_view attribute_tweak = "xattr_name_iv_xx";
static_assert(attribute_tweak.size() == cipher_block);

base64::Form form_of(const Features& features) noexcept {
  return {base64::Alphabet::url, !features.has_raw_base64};
}

// The bytes that a name contains, found without a branch that depends on them.
struct Contents {
  explicit Contents(std::string_view name) noexcept {
    for (const char c : name) {
      const unsigned byte = static_cast<unsigned char>(c);
      zeros |= is_zero(byte);
      slashes |= is_zero(byte ^ '/');
      others_than_dots |= byte ^ '.';
    }
  }
  static unsigned is_zero(unsigned byte) noexcept { return (byte - 1) >> 31; }

  unsigned zeros = 0;
  unsigned slashes = 0;
  unsigned others_than_dots = 0;
};

bool is_attribute_name(std::string_view name) noexcept {
  return !name.empty() && Contents(name).zeros == 0;
}

void require_length(std::string_view name) {
  if (name.empty() || name.size() > max_name_bytes) {
    throw Error(ErrorCode::usage,
                "name: has " + std::to_string(name.size()) + " bytes instead of 1 to 255");
  }
}

std::string seal_name(const Eme& eme, base64::Form form, std::string_view name, Bytes tweak) {
  PaddedName padded;
  const WipeOnExit wiped(padded);
  const std::size_t padding = padding_bytes(name.size(), cipher_block);
  const auto used = MutableBytes(padded).first(name.size() + padding);
  std::memcpy(used.data(), name.data(), name.size());
  write_padding(used.last(padding));
  eme.encrypt(tweak, used);
  std::string encoded;
  base64::append_public(used, encoded, form);
  return encoded;
}

// The encrypted blocks of a name, at the beginning of `room`. Empty unless `encoded` has the form
// of an encoded name.
MutableBytes blocks_of(base64::Form form, std::string_view encoded, PaddedName& room) {
  const std::size_t bytes = base64::decoded_bytes(encoded, form);
  if (bytes == 0 || bytes > room.size() || bytes % cipher_block != 0) {
    return {};
  }
  const auto used = MutableBytes(room).first(bytes);
  return base64::decode_public(encoded, used, form) ? used : MutableBytes();
}

// Empty unless `encoded` is what seal_name makes of a valid name.
std::optional<std::string> open_name(const Eme& eme, base64::Form form, std::string_view encoded,
                                     Bytes tweak, bool (&is_valid)(std::string_view) noexcept) {
  PaddedName padded;
  const WipeOnExit wiped(padded);
  const MutableBytes used = blocks_of(form, encoded, padded);
  if (used.empty()) {
    return std::nullopt;
  }
  eme.decrypt(tweak, used);
  const auto in_last = unpadded_bytes(used.last(cipher_block));
  if (!in_last) {
    return std::nullopt;
  }
  const std::string_view name =
      libcrypto::text_of(used.first(used.size() - cipher_block + *in_last));
  return is_valid(name) ? std::optional<std::string>(name) : std::nullopt;
}

}  // namespace

bool is_file_name(std::string_view name) noexcept {
  const Contents contents(name);
  const bool is_dots = name.size() <= 2 && contents.others_than_dots == 0;
  return !name.empty() && name.size() <= max_name_bytes && !is_dots &&
         (contents.zeros | contents.slashes) == 0;
}

NameCipher::NameCipher(Bytes name_key, const Features& features, const Kernel& kernel)
    : features_(features), eme_(name_key, kernel) {}

std::string NameCipher::encode(std::string_view name, const FolderIv& iv) const {
  require_length(name);
  assert(is_file_name(name));
  return features_.has_plaintext_names ? std::string(name)
                                       : seal_name(eme_, form_of(features_), name, iv);
}

std::optional<std::string> NameCipher::decode(std::string_view encoded, const FolderIv& iv) const {
  if (!features_.has_plaintext_names) {
    return open_name(eme_, form_of(features_), encoded, iv, is_file_name);
  }
  return is_file_name(encoded) ? std::optional<std::string>(encoded) : std::nullopt;
}

bool NameCipher::is_well_formed(std::string_view encoded) const {
  PaddedName room;
  return !features_.has_plaintext_names && !blocks_of(form_of(features_), encoded, room).empty();
}

std::string NameCipher::hashed(std::string_view encoded) const {
  std::array<std::uint8_t, libcrypto::sha256_bytes> hash;
  libcrypto::sha256(libcrypto::bytes_of(encoded), hash);
  std::string name(long_name_prefix);
  base64::append_public(hash, name, form_of(features_));
  return name;
}

StoredKind NameCipher::kind_of(std::string_view stored) const noexcept {
  if (stored == configuration_name) {
    return StoredKind::configuration;
  }
  if (features_.has_directory_ivs && stored == folder_iv_name) {
    return StoredKind::folder_iv;
  }
  if (features_.hashes_long_names() && stored.starts_with(long_name_prefix)) {
    return stored.ends_with(long_name_suffix) ? StoredKind::long_name_file : StoredKind::long_name;
  }
  return StoredKind::name;
}

std::string NameCipher::encode_attribute(std::string_view name) const {
  require_length(name);
  assert(is_attribute_name(name));
  return std::string(attribute_prefix) +
         seal_name(eme_, form_of(features_), name, libcrypto::bytes_of(attribute_tweak));
}

std::optional<std::string> NameCipher::decode_attribute(std::string_view stored) const {
  if (!stored.starts_with(attribute_prefix)) {
    return std::nullopt;
  }
  return open_name(eme_, form_of(features_), stored.substr(attribute_prefix.size()),
                   libcrypto::bytes_of(attribute_tweak), is_attribute_name);
}

}  // namespace paes::vault
