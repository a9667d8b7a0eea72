// SPDX-License-Identifier: Apache-2.0
// The public header's keys of a vault, on top of the format's parts: checks what a caller may get
// wrong.
#include <algorithm>
#include <cstring>

#include "core/refuse.hpp"
#include "kernel/registry.hpp"
#include "library/key_parts.hpp"
#include "paes/vault.hpp"
#include "stream/transfer/cancel.hpp"
#include "vault/content_key.hpp"
#include "vault/master_key.hpp"
#include "vault/names.hpp"
#include "vault/unfinished_names.hpp"

namespace paes {

static_assert(vault_configuration_name == vault::configuration_name);
static_assert(vault_folder_iv_name == vault::folder_iv_name);
static_assert(vault_long_name_suffix == vault::long_name_suffix);
static_assert(vault_max_encoded_name_bytes == vault::max_encoded_name_bytes);
static_assert(vault_max_configuration_bytes == vault::max_configuration_bytes);
static_assert(vault_block_bytes == vault::block_bytes);
static_assert(std::tuple_size_v<VaultFileHeader> == vault::header_bytes);
static_assert(std::is_same_v<VaultFolderIv, vault::FolderIv>);

namespace {

constexpr unsigned highest_max_work_factor = 30;  // a terabyte; nobody can mean more

vault::Configuration read_configuration(Bytes text, const VaultKeyOptions& options) {
  return vault::parse_configuration(text, options.name);
}

void check_cost(const vault::ScryptCost& cost, const VaultKeyOptions& options) {
  const unsigned limit = options.max_work_factor;
  if (limit < vault::min_log2_n || limit > highest_max_work_factor) {
    throw Error(
        ErrorCode::usage, "max_work_factor: " + std::to_string(limit),
        std::to_string(vault::min_log2_n) + " to " + std::to_string(highest_max_work_factor));
  }
  if (const unsigned work_factor = cost.work_factor(); work_factor > limit) {
    throw Error(ErrorCode::failure,
                std::string(options.name) + ": its passphrase has work factor " +
                    std::to_string(work_factor) + ", above the limit of " + std::to_string(limit),
                "max_work_factor accepts more, which takes longer and more memory");
  }
}

// The number of blocks in a run, the last of which may be short.
std::size_t blocks_in(std::size_t bytes, std::size_t block) noexcept {
  return bytes / block + (bytes % block == 0 ? 0 : 1);
}

}  // namespace

struct PAES_HIDDEN VaultKey::State {
  State(const vault::Features& made, const vault::MasterKey& master, std::string_view kernel_name)
      : State(made, master, find_kernel(Cipher::aes, kernel_name)) {}
  State(const vault::Features& made, const vault::MasterKey& master, const Kernel& kernel)
      : features(made),
        names(master.name_key(features), features, kernel),
        content(vault::make_content_key(features.content, master.content_key(features), kernel)) {}

  [[nodiscard]] vault::BlockLayout layout() const noexcept { return content->layout(); }

  const vault::Features features;
  const vault::NameCipher names;
  const std::unique_ptr<const vault::ContentKey> content;
};

VaultKey VaultKey::open(Bytes configuration, const Passphrase& passphrase,
                        const VaultKeyOptions& options) {
  refuse(passphrase.is_empty(), "passphrase: is empty");
  const vault::Configuration read = read_configuration(configuration, options);
  if (read.fido2) {
    throw Error(
        ErrorCode::failure,
        std::string(options.name) + ": a FIDO2 token opens this vault, and not a passphrase",
        "the master key opens it, too; `paes vault passwd --fido2` gives it a passphrase");
  }
  check_cost(read.scrypt, options);
  const std::optional<vault::MasterKey> key = vault::unwrap_master_key(
      read, KeyParts::of(passphrase).text, stream::waiting(options.cancel));
  if (!key) {
    throw Error(ErrorCode::wrong_key, std::string(options.name) + ": the passphrase is wrong",
                "if it is right, this file is damaged: use a copy of it, or the master key");
  }
  return VaultKey(std::make_shared<const State>(read.features, *key, options.kernel));
}

VaultKey VaultKey::with_master_key(Bytes configuration, Bytes master_key,
                                   const VaultKeyOptions& options) {
  return VaultKey(std::make_shared<const State>(read_configuration(configuration, options).features,
                                                vault::MasterKey(master_key), options.kernel));
}

bool VaultKey::has_plain_names() const noexcept { return state_->features.has_plaintext_names; }

bool VaultKey::has_folder_ivs() const noexcept {
  return state_->features.has_directory_ivs && !has_plain_names();
}

VaultEntryKind VaultKey::kind_of(std::string_view stored, bool is_in_root) const noexcept {
  if (vault::is_unfinished_name(stored, has_plain_names())) {
    return VaultEntryKind::unfinished;
  }
  switch (state_->names.kind_of(stored)) {
    case vault::StoredKind::configuration:
      return is_in_root ? VaultEntryKind::configuration : VaultEntryKind::name;
    case vault::StoredKind::folder_iv:
      return VaultEntryKind::folder_iv;
    case vault::StoredKind::long_name:
      return VaultEntryKind::long_name;
    case vault::StoredKind::long_name_file:
      return VaultEntryKind::long_name_file;
    case vault::StoredKind::name:
      break;
  }
  return VaultEntryKind::name;
}

VaultName VaultKey::stored_name(std::string_view name, const VaultFolderIv& iv,
                                bool is_in_root) const {
  refuse(!vault::is_file_name(name), "name: no file can have it",
         "1 to 255 bytes without '/' and zero bytes");
  if (has_plain_names()) {
    refuse(
        (is_in_root && name == vault::configuration_name) || vault::is_unfinished_name(name, true),
        "name: the vault keeps it for itself");
    return {std::string(name)};
  }
  std::string encoded = state_->names.encode(name, iv);
  if (state_->names.is_long(encoded)) {
    std::string hashed = state_->names.hashed(encoded);
    return {std::move(hashed), std::move(encoded)};
  }
  return {std::move(encoded)};
}

std::string VaultKey::name_of(std::string_view stored, const VaultFolderIv& iv) const {
  std::optional<std::string> name = state_->names.decode(stored, iv);
  // A name that is too long would be looked for under its hash.
  if (!name || state_->names.is_long(stored)) {
    throw Error(ErrorCode::corrupt, "name: it is damaged");
  }
  return std::move(*name);
}

std::string VaultKey::name_of_long(std::string_view stored, std::string_view encoded,
                                   const VaultFolderIv& iv) const {
  std::optional<std::string> name = state_->names.decode(encoded, iv);
  if (!name) {
    throw Error(ErrorCode::corrupt, "name: the file of its long name is damaged");
  }
  if (!state_->names.is_long(encoded) || state_->names.hashed(encoded) != stored) {
    throw Error(ErrorCode::corrupt, "name: the file of its long name holds another name");
  }
  return std::move(*name);
}

VaultFolderIv VaultKey::new_folder_iv() {
  VaultFolderIv iv{};
  while (iv == VaultFolderIv{}) {
    random_bytes(iv);
  }
  return iv;
}

std::string VaultKey::new_unfinished_name() const {
  return vault::new_unfinished_name(has_plain_names());
}

std::uint64_t VaultKey::text_bytes(std::uint64_t stored_bytes) const noexcept {
  return state_->layout().text_length(stored_bytes);
}

std::uint64_t VaultKey::stored_bytes(std::uint64_t text_bytes) const noexcept {
  return state_->layout().stored_length(text_bytes);
}

std::uint64_t VaultKey::block_offset(std::uint64_t block) const noexcept {
  return state_->layout().offset_of(block);
}

std::size_t VaultKey::opened_bytes(std::size_t sealed_bytes) const noexcept {
  const vault::BlockLayout layout = state_->layout();
  const std::size_t whole = sealed_bytes / layout.stride();
  const std::size_t rest = sealed_bytes % layout.stride();
  return whole * vault::block_bytes + rest - std::min(rest, layout.overhead());
}

std::size_t VaultKey::sealed_bytes(std::size_t text_bytes) const noexcept {
  return text_bytes + blocks_in(text_bytes, vault::block_bytes) * state_->layout().overhead();
}

void VaultKey::open_blocks(const VaultFileHeader& header, std::uint64_t first_block, Bytes sealed,
                           MutableBytes text, std::string_view name) const {
  refuse(text.size() != opened_bytes(sealed.size()), "text: not as long as that of the blocks");
  const auto refuse_as_corrupt = [&](const std::string& why) {
    if (!text.empty()) {
      wipe(text);
    }
    throw Error(ErrorCode::corrupt, std::string(name) + ": " + why);
  };
  vault::FileId id{};
  if (!vault::parse_header(header, id)) {
    refuse_as_corrupt("the header is damaged");
  }
  const std::size_t opened = vault::open_blocks(*state_->content, id, first_block, sealed, text);
  if (opened != blocks_in(sealed.size(), state_->layout().stride())) {
    refuse_as_corrupt("block " + std::to_string(first_block + opened) + " is not authentic");
  }
}

VaultFileHeader VaultKey::new_header() {
  vault::FileId id{};
  while (id == vault::FileId{}) {
    random_bytes(id);
  }
  VaultFileHeader header;
  vault::write_header(id, header);
  return header;
}

void VaultKey::seal_blocks(const VaultFileHeader& header, std::uint64_t first_block, Bytes text,
                           MutableBytes sealed) const {
  refuse(sealed.size() != sealed_bytes(text.size()), "sealed: not as long as the blocks");
  vault::FileId id{};
  refuse(!vault::parse_header(header, id), "header: is damaged");
  const vault::BlockLayout layout = state_->layout();
  std::array<std::uint8_t, vault::max_iv_bytes> room;
  const MutableBytes iv = MutableBytes(room).first(layout.iv_bytes);
  for (std::uint64_t block = first_block; !text.empty(); ++block) {
    const Bytes part = text.first(std::min(text.size(), vault::block_bytes));
    const std::size_t bytes = part.size() + layout.overhead();
    do {
      random_bytes(iv);
    } while (std::all_of(iv.begin(), iv.end(), [](std::uint8_t byte) { return byte == 0; }));
    state_->content->seal({block, &id}, iv, part, sealed.first(bytes));
    text = text.subspan(part.size());
    sealed = sealed.subspan(bytes);
  }
}

}  // namespace paes
