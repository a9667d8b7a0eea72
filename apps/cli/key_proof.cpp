// SPDX-License-Identifier: Apache-2.0
#include "cli/key_proof.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/report.hpp"
#include "cli/tree_walk.hpp"
#include "core/descriptor.hpp"
#include "kernel/registry.hpp"
#include "stream/file/file_place.hpp"
#include "vault/content_key.hpp"
#include "vault/names.hpp"
#include "vault/vault_blocks.hpp"

namespace paes::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_entries = 5000;
constexpr std::size_t enough_names = 4;   // an error in 2^32 keys
constexpr std::size_t names_for_one = 8;  // of which a wrong key seldom decrypts more than one

enum class Trial { passed, failed, none };

// As many bytes as there are, from the beginning of a regular file.
std::vector<std::uint8_t> read_beginning(const stream::FilePlace& place, std::size_t most_bytes) {
  std::vector<std::uint8_t> read;
  const Descriptor file(openat(place.folder, place.name().c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status = {};
  if (!file.is_open() || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return read;
  }
  read.resize(most_bytes);
  std::size_t filled = 0;
  while (filled != most_bytes) {
    const ssize_t got = ::read(file.number(), read.data() + filled, most_bytes - filled);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    filled += static_cast<std::size_t>(got);
  }
  read.resize(filled);
  return read;
}

class Prover {
 public:
  Prover(const vault::Features& features, const vault::MasterKey& key)
      : features_(features),
        content_(vault::make_content_key(features.content, key.content_key(features),
                                         best_kernel(Cipher::aes))),
        names_(key.name_key(features), features, best_kernel(Cipher::aes)) {}

  // Whether a file of this name has blocks.
  [[nodiscard]] bool holds_content(std::string_view name) const noexcept {
    const vault::StoredKind kind = names_.kind_of(name);
    return kind == vault::StoredKind::name || kind == vault::StoredKind::long_name;
  }

  // Its first block. Holes are the same under every key.
  [[nodiscard]] Trial try_file(const stream::FilePlace& place) const {
    const vault::BlockLayout layout = content_->layout();
    const std::vector<std::uint8_t> stored =
        read_beginning(place, vault::header_bytes + layout.stride());
    vault::FileId id;
    if (stored.size() <= vault::header_bytes + layout.overhead() ||
        !vault::parse_header(Bytes(stored).first(vault::header_bytes), id)) {
      return Trial::none;
    }
    const Bytes sealed = Bytes(stored).subspan(vault::header_bytes);
    if (std::all_of(sealed.begin(), sealed.end(), [](std::uint8_t byte) { return byte == 0; })) {
      return Trial::none;
    }
    SecretBytes text(sealed.size() - layout.overhead());
    return vault::open_block(*content_, {0, &id}, sealed, text) ? Trial::passed : Trial::failed;
  }

  // With names in plain text a target is plain text, too, which any key would pass.
  [[nodiscard]] Trial try_link(const stream::FilePlace& place) const {
    if (features_.has_plaintext_names) {
      return Trial::none;
    }
    std::array<char, PATH_MAX> target;
    const ssize_t bytes =
        readlinkat(place.folder, place.name().c_str(), target.data(), target.size());
    if (bytes < 0) {
      return Trial::none;
    }
    const std::string text(target.data(), static_cast<std::size_t>(bytes));
    return vault::open_link_target(*content_, text, features_) ? Trial::passed : Trial::failed;
  }

  // The names in the root, which all have one IV.
  [[nodiscard]] KeyProof try_names(const fs::path& folder) const {
    vault::FolderIv iv = {};
    if (features_.has_plaintext_names) {
      return KeyProof::nothing_to_try;
    }
    if (features_.has_directory_ivs) {
      const std::vector<std::uint8_t> read =
          read_beginning((folder / vault::folder_iv_name).string(), iv.size());
      if (read.size() != iv.size()) {
        return KeyProof::nothing_to_try;
      }
      std::copy(read.begin(), read.end(), iv.begin());
    }
    std::size_t tried = 0;
    std::size_t passed = 0;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end;
         !error && entry != end && tried != most_entries; entry.increment(error)) {
      const std::string encoded = encoded_name(entry->path());
      if (names_.is_well_formed(encoded)) {
        ++tried;
        passed += static_cast<std::size_t>(names_.decode(encoded, iv).has_value());
      }
    }
    if (passed >= enough_names && 2 * passed > tried) {
      return KeyProof::right;
    }
    return tried != 0 && passed <= tried / names_for_one ? KeyProof::wrong
                                                         : KeyProof::nothing_to_try;
  }

 private:
  // Empty if it has none that can be read.
  [[nodiscard]] std::string encoded_name(const fs::path& path) const {
    std::string name = path.filename().string();
    switch (names_.kind_of(name)) {
      case vault::StoredKind::name:
        return name;
      case vault::StoredKind::long_name: {
        const std::vector<std::uint8_t> read =
            read_beginning(path.string() + std::string(vault::long_name_suffix),
                           vault::max_encoded_name_bytes + 1);
        return {read.begin(), read.end()};
      }
      default:
        return {};
    }
  }

  vault::Features features_;
  std::unique_ptr<vault::ContentKey> content_;
  vault::NameCipher names_;
};

}  // namespace

KeyProof prove_master_key(const std::string& folder, const vault::Features& features,
                          const vault::MasterKey& key) {
  const Prover prover(features, key);
  const auto tree = std::make_shared<stream::Tree>(folder);
  tree->open();
  const stream::TreePlace place{tree, tree->path_of("").size()};
  std::size_t looked_at = 0;
  bool has_passed = false;
  bool has_failed = false;
  walk(*tree, [&](const VisitedEntry& visited) {
    if (visited.error != 0 && visited.below.empty()) {
      throw Error(ErrorCode::failure, folder + ": " + std::strerror(visited.error));
    }
    if (visited.error != 0 || visited.below.empty() || looked_at == most_entries) {
      return looked_at == most_entries ? Next::stop : Next::on;
    }
    ++looked_at;
    const std::string path = tree->path_of(visited.below);
    const stream::OpenFolder around = tree->folder(place.folder_of(path));
    const stream::FilePlace entry(path, around);
    Trial trial = Trial::none;
    if (around != nullptr && S_ISLNK(visited.status.st_mode)) {
      trial = prover.try_link(entry);
    } else if (around != nullptr && S_ISREG(visited.status.st_mode) &&
               prover.holds_content(entry.name())) {
      trial = prover.try_file(entry);
    }
    has_passed = trial == Trial::passed;
    has_failed = has_failed || trial == Trial::failed;
    return has_passed ? Next::stop : Next::on;
  });
  if (has_passed) {
    return KeyProof::right;
  }
  const KeyProof by_names = prover.try_names(folder);
  return by_names == KeyProof::nothing_to_try && has_failed ? KeyProof::wrong : by_names;
}

void refuse_key_of_another_vault(const VaultOptions& options, const std::string& folder,
                                 const OpenedVault& opened) {
  const bool is_master_key = !options.master_key_file.empty();
  if (!is_master_key && !options.place.has_configuration_elsewhere()) {
    return;
  }
  if (prove_master_key(folder, opened.configuration.features, opened.key) != KeyProof::wrong) {
    return;
  }
  if (is_master_key) {
    throw Error(ErrorCode::wrong_key,
                shown_name(options.master_key_file) + ": is not the master key of this vault",
                "if all that is in it is damaged, 'paes vault passwd --master-key FILE -f' gives "
                "it a passphrase");
  }
  throw Error(ErrorCode::wrong_key,
              options.place.configuration_path() + ": is not the configuration of this vault",
              "if all that is in it is damaged, copy this file into it as gocryptfs.conf");
}

}  // namespace paes::cli
