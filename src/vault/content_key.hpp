// SPDX-License-Identifier: Apache-2.0
// The cipher of a volume's content: one of ContentCipher, each with its own file. It seals
// and opens blocks, and the small values that are stored as one block without a file's id: targets
// of symbolic links, and values of extended attributes.
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

// Which block of what: the associated data.
struct BlockPlace {
  std::uint64_t number = 0;
  const FileId* id = nullptr;  // null: a value without a file
};

// Immutable after construction, hence safe to use from any number of threads.
class ContentKey {
 public:
  virtual ~ContentKey() = default;

  [[nodiscard]] virtual BlockLayout layout() const noexcept = 0;

  // `sealed` has the length of `text` and the overhead. A block has 1 to block_bytes bytes of text,
  // a value may have more. `iv` is not all zero and never used twice. The two do not overlap.
  virtual void seal(const BlockPlace& place, Bytes iv, Bytes text, MutableBytes sealed) const = 0;
  // False, with `text` wiped, for a block that is not authentic. `sealed` is longer than the
  // overhead. A hole is no block: see open_block.
  [[nodiscard]] virtual bool open(const BlockPlace& place, Bytes sealed,
                                  MutableBytes text) const = 0;
};

// `key` is MasterKey::content_key. `kernel` computes AES-GCM; the other ciphers are libcrypto's.
[[nodiscard]] std::unique_ptr<ContentKey> make_content_key(ContentCipher cipher, Bytes key,
                                                           const Kernel& kernel);

// ContentKey::open for what a file stores. A whole block of zeros is a hole, and its text is zeros.
// False, with `text` wiped, for any other block that has an IV of zeros, is too short to hold text,
// or is not authentic. `text` has room for sealed.size() - overhead bytes.
[[nodiscard]] bool open_block(const ContentKey& key, const BlockPlace& place, Bytes sealed,
                              MutableBytes text);
// Consecutive blocks of one file, of which the last may be short; the answer is how many of them,
// from the first on, are authentic. `text` gets the text of these, without gaps.
[[nodiscard]] std::size_t open_blocks(const ContentKey& key, const FileId& id,
                                      std::uint64_t first_block, Bytes sealed, MutableBytes text);

// The target of a symbolic link: Base 64 of one block. Nothing: damaged.
[[nodiscard]] std::string seal_link_target(const ContentKey& key, std::string_view target,
                                           const Features& features);
[[nodiscard]] std::optional<std::string> open_link_target(const ContentKey& key,
                                                          std::string_view stored,
                                                          const Features& features);
// What lstat says of a link's length; 0 for what is too short to hold a target.
[[nodiscard]] std::uint64_t link_target_length(const ContentKey& key, std::string_view stored,
                                               const Features& features) noexcept;
// The same from the length of the backing link alone. Without Raw64 the padding is not known, and
// the answer may be 1 or 2 too large: then read the link.
[[nodiscard]] std::uint64_t link_target_length(const ContentKey& key, std::uint64_t stored,
                                               const Features& features) noexcept;

// The value of an extended attribute; an empty one stays empty, and Base 64 is read too. Names in
// plain text change nothing here.
[[nodiscard]] std::vector<std::uint8_t> seal_attribute(const ContentKey& key, Bytes value);
[[nodiscard]] std::optional<std::vector<std::uint8_t>> open_attribute(const ContentKey& key,
                                                                      Bytes stored);

}  // namespace paes::vault
