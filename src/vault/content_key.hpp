// SPDX-License-Identifier: Apache-2.0
// The cipher of a volume's content. Each ContentCipher has its own file. It seals and opens blocks,
// and small values that are stored as one block without a file's id: targets of symbolic links, and
// values of extended attributes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "kernel/kernel.hpp"
#include "vault/configuration.hpp"
#include "vault/vault_blocks.hpp"

namespace paes::vault {

// Which block of which file: the associated data.
struct BlockPlace {
  std::uint64_t number = 0;
  const FileId* id = nullptr;  // null: a value, which belongs to no file
};

// Immutable after construction, hence safe to use from any number of threads.
class ContentKey {
 public:
  virtual ~ContentKey() = default;

  [[nodiscard]] virtual BlockLayout layout() const noexcept = 0;

  // `sealed` has the length of `text` plus the overhead, and does not overlap it. A block has 1 to
  // block_bytes bytes of text; a value may have more. `iv` is not all zero and never used twice.
  virtual void seal(const BlockPlace& place, Bytes iv, Bytes text, MutableBytes sealed) const = 0;
  // If the block is not authentic, returns false and wipes `text`. `sealed` is longer than the
  // overhead. A hole is not a block: see open_block().
  [[nodiscard]] virtual bool open(const BlockPlace& place, Bytes sealed,
                                  MutableBytes text) const = 0;
};

// `key` is MasterKey::content_key. `kernel` computes AES-GCM; libcrypto computes the other ciphers.
[[nodiscard]] std::unique_ptr<ContentKey> make_content_key(ContentCipher cipher, Bytes key,
                                                           const Kernel& kernel);

// Opens a block that a file stores. A whole block of zeros is a hole, and its text is zeros. Any
// other block with an IV of zeros, one that is too short to hold text, and one that is not
// authentic make it return false and wipe `text`. `text` has room for sealed.size() - overhead
// bytes.
[[nodiscard]] bool open_block(const ContentKey& key, const BlockPlace& place, Bytes sealed,
                              MutableBytes text);
// Opens consecutive blocks of one file; the last may be short. Returns how many of them, from the
// first on, are authentic. `text` gets their text, without gaps.
[[nodiscard]] std::size_t open_blocks(const ContentKey& key, const FileId& id,
                                      std::uint64_t first_block, Bytes sealed, MutableBytes text);

// The target of a symbolic link, in Base 64 of one block. Empty if it is damaged.
[[nodiscard]] std::string seal_link_target(const ContentKey& key, std::string_view target,
                                           const Features& features);
[[nodiscard]] std::optional<std::string> open_link_target(const ContentKey& key,
                                                          std::string_view stored,
                                                          const Features& features);
// The length that lstat reports for a link; 0 if the link is too short to hold a target.
[[nodiscard]] std::uint64_t link_target_length(const ContentKey& key, std::string_view stored,
                                               const Features& features) noexcept;
// The length that lstat reports for a link, from the length of the backing link alone. Without
// Raw64 the padding is unknown, and the result may be 1 or 2 too large: then read the link.
[[nodiscard]] std::uint64_t link_target_length(const ContentKey& key, std::uint64_t stored,
                                               const Features& features) noexcept;

// The value of an extended attribute. An empty value stays empty, and Base 64 is read, too. Volumes
// with plain names do the same.
[[nodiscard]] std::vector<std::uint8_t> seal_attribute(const ContentKey& key, Bytes value);
[[nodiscard]] std::optional<std::vector<std::uint8_t>> open_attribute(const ContentKey& key,
                                                                      Bytes stored);

}  // namespace paes::vault
