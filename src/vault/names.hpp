// SPDX-License-Identifier: Apache-2.0
// How a volume names what it stores: PKCS #7 padding to whole AES blocks, EME under the folder's IV
// (eme.hpp), Base 64 with the URL alphabet, and a hash in place of names that are too long for the
// backing file system.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/kernel.hpp"
#include "vault/configuration.hpp"
#include "vault/eme.hpp"

namespace paes::vault {

inline constexpr std::string_view folder_iv_name = "gocryptfs.diriv";
inline constexpr std::string_view long_name_prefix = "gocryptfs.longname.";
// Follows a long name's hash in the name of the file that holds the encoded name.
inline constexpr std::string_view long_name_suffix = ".name";
// Begins the stored name of an extended attribute.
inline constexpr std::string_view attribute_prefix = "user.gocryptfs.";
inline constexpr std::size_t max_name_bytes = 255;
// The longest encoded name of max_name_bytes: 256 bytes in Base 64.
inline constexpr std::size_t max_encoded_name_bytes = 344;

// The tweak of the names in one folder; all zero in volumes without DirIV.
using FolderIv = std::array<std::uint8_t, 16>;

// What a name in the backing tree means, before anything is decrypted.
enum class StoredKind {
  name,            // an encoded name
  long_name,       // the hash of one; a file beside it has the encoded name
  long_name_file,  // that file
  folder_iv,       // gocryptfs.diriv
  configuration,   // gocryptfs.conf, which is special only in the root
};

// Whether a file can have this name: 1 to 255 bytes, no '/', no zero byte, not "." or "..".
[[nodiscard]] bool is_file_name(std::string_view name) noexcept;

class NameCipher {
 public:
  NameCipher(Bytes name_key, const Features& features, const Kernel& kernel);

  [[nodiscard]] const Features& features() const noexcept { return features_; }

  // The encoded name, however long. `name` is one that a file can have; throws Error(usage) for
  // other lengths. Plain names stay unchanged.
  [[nodiscard]] std::string encode(std::string_view name, const FolderIv& iv) const;
  // Empty unless `encoded` is exactly what encode() makes of a name that a file can have.
  [[nodiscard]] std::optional<std::string> decode(std::string_view encoded,
                                                  const FolderIv& iv) const;

  // Whether `encoded` has the form of an encoded name, which other files in a folder seldom have.
  // Plain names have none.
  [[nodiscard]] bool is_well_formed(std::string_view encoded) const;

  [[nodiscard]] bool is_long(std::string_view encoded) const noexcept {
    return features_.hashes_long_names() && encoded.size() > features_.long_name_max;
  }
  // The stored name of content with this encoded name: long_name_prefix and the Base 64 of its
  // SHA-256.
  [[nodiscard]] std::string hashed(std::string_view encoded) const;

  [[nodiscard]] StoredKind kind_of(std::string_view stored) const noexcept;

  // The stored name of an extended attribute: attribute_prefix and the encoded name under a fixed
  // tweak, also in volumes with plain names. A name has 1 to 255 bytes and no zero byte. Empty if
  // somebody else stored it.
  [[nodiscard]] std::string encode_attribute(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> decode_attribute(std::string_view stored) const;

 private:
  Features features_;
  Eme eme_;
};

}  // namespace paes::vault
