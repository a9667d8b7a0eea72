// SPDX-License-Identifier: Apache-2.0
// Vaults in the format of gocryptfs (version 2; github.com/rfjakob/gocryptfs, Documentation), for
// those who store the files themselves, in an object store for example. It encrypts and decrypts
// names and content, and reads and writes no files. `paes vault` does that in a folder, and the
// Python package on file systems of fsspec.
//
//   const paes::VaultKey key = paes::VaultKey::open(configuration, passphrase);
//   const std::string stored = key.stored_name("notes.txt", folder_iv, false).stored;
//   // Block 7 of that file, which needs its header, too:
//   key.open_blocks(header, 7, bytes_from(key.block_offset(7)), text);
//
// A vault is a folder with `gocryptfs.conf`, the configuration, in its root. Names are encrypted,
// and the content of files; lengths, times and the tree of folders are not. Each folder has its IV
// in `gocryptfs.diriv` (16 bytes), unless has_folder_ivs() is false.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "paes/cancel.hpp"
#include "paes/error.hpp"
#include "paes/export.h"
#include "paes/keys.hpp"

namespace paes {
inline namespace v0 {

inline constexpr std::string_view vault_configuration_name = "gocryptfs.conf";
inline constexpr std::string_view vault_folder_iv_name = "gocryptfs.diriv";
// Follows a stored long name in the name of the file that holds the encoded name.
inline constexpr std::string_view vault_long_name_suffix = ".name";
// The longest encoded name that such a file holds.
inline constexpr std::size_t vault_max_encoded_name_bytes = 344;
// A longer configuration is refused.
inline constexpr std::size_t vault_max_configuration_bytes = std::size_t{64} << 10;
// The text of each block, except the last one of a file, which may be shorter.
inline constexpr std::size_t vault_block_bytes = 4096;

// The IV that encrypts the names in one folder. It is all zeros in vaults whose folders have none.
using VaultFolderIv = std::array<std::uint8_t, 16>;
// The beginning of each stored file that has text: a version and the file's random id. Each block
// is authenticated together with the id and its own number.
using VaultFileHeader = std::array<std::uint8_t, 18>;

// What a stored name means. The name alone tells it.
enum class VaultEntryKind : int {
  name,            // a file or folder, whose name decrypts
  long_name,       // one whose encoded name is in a file beside it
  long_name_file,  // that file
  folder_iv,
  configuration,  // which is there in the root alone
  unfinished,     // what paes has not completed, or is removing; users do not see it
};

// The name of a file or folder as it is stored. A hash replaces an encoded name that is too long,
// which is then kept in a file beside it, named `stored` + vault_long_name_suffix.
struct VaultName {
  std::string stored;
  std::string encoded = {};  // empty unless the name is a long one
};

struct VaultKeyOptions {
  // A configuration whose passphrase costs more than scrypt with N = 2^this, r = 8 and p = 1 is
  // refused with Error(failure) before any work. 2^20 takes about a gigabyte. 10 to 30.
  unsigned max_work_factor = 20;
  // A name that `paes devices` lists as available, or "auto".
  std::string_view kernel = "auto";
  // For messages.
  std::string_view name = vault_configuration_name;
  // Ends the derivation of a passphrase's key. May be null.
  const Cancel* cancel = nullptr;
};

// The keys of a vault. It is a handle: copies share the keys, which lie in locked memory and are
// wiped with the last copy. Any number of threads may use it, and so may a forked child.
class PAES_API VaultKey {
 public:
  // Opens a configuration with the passphrase. Throws Error(corrupt) if the text is no
  // configuration, Error(wrong_key) if the passphrase is another one, and Error(usage) if it is
  // empty or an option is out of range. Throws Error(failure) for a version or feature that paes
  // does not read, for a cost above the limit, and once `cancel` is requested.
  [[nodiscard]] static VaultKey open(std::span<const std::uint8_t> configuration,
                                     const Passphrase& passphrase,
                                     const VaultKeyOptions& options = {});
  // Takes the master key itself (32 bytes; Error(usage) for another length). The configuration
  // only tells how the vault was made. Nothing tells here whether the key is this vault's, but no
  // block opens under another.
  [[nodiscard]] static VaultKey with_master_key(std::span<const std::uint8_t> configuration,
                                                std::span<const std::uint8_t> master_key,
                                                const VaultKeyOptions& options = {});

  [[nodiscard]] bool has_plain_names() const noexcept;
  [[nodiscard]] bool has_folder_ivs() const noexcept;

  // Names. A name has 1 to 255 bytes without '/' and zero bytes, and is neither "." nor "..".

  [[nodiscard]] VaultEntryKind kind_of(std::string_view stored, bool is_in_root) const noexcept;
  // The stored name of `name`. Throws Error(usage) if no file can have that name. In a vault with
  // plain names it does so, too, for the names that the vault keeps for itself: those of unfinished
  // files, and gocryptfs.conf in the root.
  [[nodiscard]] VaultName stored_name(std::string_view name, const VaultFolderIv& iv,
                                      bool is_in_root) const;
  // The name of what is stored as a VaultEntryKind::name. Throws Error(corrupt) if it is damaged or
  // of another folder. Names are not authenticated: who can write to the vault can exchange two of
  // one folder, and one damaged name among some hundreds decrypts to another name.
  [[nodiscard]] std::string name_of(std::string_view stored, const VaultFolderIv& iv) const;
  // The name of what is stored as a VaultEntryKind::long_name. `encoded` is what the file beside it
  // holds. Throws Error(corrupt) if that is damaged or belongs to another name.
  [[nodiscard]] std::string name_of_long(std::string_view stored, std::string_view encoded,
                                         const VaultFolderIv& iv) const;
  // A new random IV for a new folder.
  [[nodiscard]] static VaultFolderIv new_folder_iv();
  // A name of kind VaultEntryKind::unfinished, for what gets its own name once it is complete.
  [[nodiscard]] std::string new_unfinished_name() const;

  // Content. A file without text is empty; one with text is its header and its blocks.

  // The length of the text in a file of this length. A last block that is too short to hold text
  // counts as one byte, and does not open.
  [[nodiscard]] std::uint64_t text_bytes(std::uint64_t stored_bytes) const noexcept;
  // The length of the file for a text of this length.
  [[nodiscard]] std::uint64_t stored_bytes(std::uint64_t text_bytes) const noexcept;
  // Where a block begins in its file. Block `n` has the text from n * vault_block_bytes on.
  [[nodiscard]] std::uint64_t block_offset(std::uint64_t block) const noexcept;

  // Opens consecutive blocks of a file, whole ones but for its last one. A block of zeros is a hole
  // and its text zeros. `text` has exactly opened_bytes() bytes. Throws
  // Error(usage) for other lengths, and Error(corrupt) "NAME: block 7 is not authentic", or "NAME:
  // the header is damaged"; `text` is then all zeros. Nothing tells whether blocks are missing at
  // the end of a file, or whether an older version of a block was put back.
  void open_blocks(const VaultFileHeader& header, std::uint64_t first_block,
                   std::span<const std::uint8_t> sealed, std::span<std::uint8_t> text,
                   std::string_view name = "file") const;
  // The length of the text of consecutive blocks of this length together.
  [[nodiscard]] std::size_t opened_bytes(std::size_t sealed_bytes) const noexcept;

  // A header with a new random id, for a new file.
  [[nodiscard]] static VaultFileHeader new_header();
  // Seals consecutive blocks, each under a new random IV: all of `text`, of which only the last
  // block of the file may be shorter than the others. `sealed` has exactly sealed_bytes() bytes and
  // shares no memory with `text`. Throws Error(usage) for other lengths and a damaged header.
  void seal_blocks(const VaultFileHeader& header, std::uint64_t first_block,
                   std::span<const std::uint8_t> text, std::span<std::uint8_t> sealed) const;
  // The length of the blocks of a text of this length.
  [[nodiscard]] std::size_t sealed_bytes(std::size_t text_bytes) const noexcept;

 private:
  struct State;
  explicit VaultKey(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace v0
}  // namespace paes
