// SPDX-License-Identifier: Apache-2.0
// A volume for tests: a folder of its own, written with the ciphers of src/vault in the layout that
// gocryptfs gives a backing tree. Keys, IVs of folders and ids of files are the same in each run.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/registry.hpp"
#include "varied_bytes.hpp"
#include "vault/content_key.hpp"
#include "vault/master_key.hpp"
#include "vault/names.hpp"
#include "volume/read/volume.hpp"

namespace paes::volume {

using Text = std::vector<std::uint8_t>;

inline std::string to_string(const Text& text) { return {text.begin(), text.end()}; }
inline Text to_text(std::string_view text) { return {text.begin(), text.end()}; }

// Where extended attributes of users can be stored, if there is such a place: in memory first.
inline std::string parent_of_volumes() {
  for (const char* const parent : {"/dev/shm", "/var/tmp", "/tmp"}) {
    std::string pattern = std::string(parent) + "/paes-volume-XXXXXX";
    const int file = mkstemp(pattern.data());
    if (file < 0) {
      continue;
    }
    const bool has_attributes = fsetxattr(file, "user.gocryptfs.a", "1", 1, 0) == 0;
    close(file);
    unlink(pattern.c_str());
    if (has_attributes) {
      return parent;
    }
  }
  return "/tmp";
}

// The features that tests go through: each cipher of content, with and without HKDF; names in each
// form.
struct NamedFeatures {
  std::string name;
  vault::Features features;
};
inline std::vector<NamedFeatures> all_features() {
  using vault::ContentCipher;
  using vault::Features;
  std::vector<NamedFeatures> all = {
      {"gcm", {}},
      {"gcm_no_hkdf", {.has_hkdf = false}},
      {"xchacha", {.content = ContentCipher::xchacha20_poly1305}},
      {"siv", {.content = ContentCipher::aes_siv}},
      {"siv_no_hkdf", {.content = ContentCipher::aes_siv, .has_hkdf = false}},
      {"padded_base64", {.has_raw_base64 = false}},
      {"no_folder_ivs", {.has_directory_ivs = false}},
      {"no_long_names", {.has_long_names = false}},
      {"long_names_62", {.long_name_max = 62}},
  };
  Features plain;
  plain.has_plaintext_names = true;
  plain.has_directory_ivs = false;
  plain.has_long_names = false;
  plain.has_raw_base64 = false;
  all.push_back({"plaintext_names", plain});
  return all;
}

class MadeVolume {
 public:
  explicit MadeVolume(const vault::Features& features = {})
      : features_(features),
        key_(test::varied_bytes(vault::master_key_bytes, 7)),
        names_(key_.name_key(features), features, best_kernel(Cipher::aes)),
        content_(vault::make_content_key(features.content, key_.content_key(features),
                                         best_kernel(Cipher::aes))) {
    std::string pattern = parent_of_volumes() + "/paes-volume-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    root_ = pattern;
    write(root_ / "gocryptfs.conf", to_text("{}"));
    make_iv(root_);
  }
  ~MadeVolume() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  MadeVolume(const MadeVolume&) = delete;
  MadeVolume& operator=(const MadeVolume&) = delete;

  [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }
  [[nodiscard]] const vault::Features& features() const noexcept { return features_; }
  [[nodiscard]] const vault::ContentKey& content() const noexcept { return *content_; }
  [[nodiscard]] const vault::NameCipher& names() const noexcept { return names_; }

  [[nodiscard]] Volume open(DamageReport report = {},
                            std::unique_ptr<Backing> backing = std::make_unique<Backing>()) const {
    return {Descriptor(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
            features_,
            key_,
            best_kernel(Cipher::aes),
            std::move(backing),
            std::move(report)};
  }

  // Under which path of the system something with that path in the volume is stored.
  [[nodiscard]] std::filesystem::path stored(const std::string& path) const {
    std::filesystem::path at = root_;
    for (const std::filesystem::path& part : std::filesystem::path(path)) {
      const std::string encoded = names_.encode(part.string(), iv_of(at));
      at /= names_.is_long(encoded) ? names_.hashed(encoded) : encoded;
    }
    return at;
  }

  void folder(const std::string& path) {
    const std::filesystem::path made = claim(path);
    std::filesystem::create_directory(made);
    make_iv(made);
  }
  void file(const std::string& path, const Text& text) { write(claim(path), sealed(text)); }
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_symlink(vault::seal_link_target(*content_, target, features_),
                                    claim(path));
  }
  void hard_link(const std::string& path, const std::string& to) {
    std::filesystem::create_hard_link(stored(to), claim(path));
  }
  // False where the file system has no attributes.
  [[nodiscard]] bool attribute(const std::string& path, const std::string& name,
                               const Text& value) {
    const Text sealed_value = vault::seal_attribute(*content_, value);
    return setxattr(stored(path).c_str(), names_.encode_attribute(name).c_str(),
                    sealed_value.data(), sealed_value.size(), 0) == 0;
  }

  // The stored bytes of a file.
  [[nodiscard]] Text sealed(const Text& text) {
    if (text.empty()) {
      return {};
    }
    const vault::BlockLayout layout = content_->layout();
    Text stored(static_cast<std::size_t>(layout.stored_length(text.size())));
    const Text random = test::varied_bytes(16, ++seed_);
    vault::FileId id;
    std::copy(random.begin(), random.end(), id.begin());
    vault::write_header(id, MutableBytes(stored).first(vault::header_bytes));
    for (std::size_t at = 0; at < text.size(); at += vault::block_bytes) {
      const std::uint64_t block = at / vault::block_bytes;
      const std::size_t bytes = std::min(text.size() - at, vault::block_bytes);
      content_->seal({block, &id}, test::varied_bytes(layout.iv_bytes, ++seed_),
                     Bytes(text).subspan(at, bytes),
                     MutableBytes(stored).subspan(static_cast<std::size_t>(layout.offset_of(block)),
                                                  bytes + layout.overhead()));
    }
    return stored;
  }

  static void write(const std::filesystem::path& path, const Text& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) {
      throw std::runtime_error("cannot write " + path.string());
    }
  }
  static Text read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  [[nodiscard]] vault::FolderIv iv_of(const std::filesystem::path& folder) const {
    vault::FolderIv iv{};
    if (has_ivs()) {
      const Text bytes = read(folder / vault::folder_iv_name);
      std::copy(bytes.begin(), bytes.end(), iv.begin());
    }
    return iv;
  }
  [[nodiscard]] bool has_ivs() const noexcept {
    return features_.has_directory_ivs && !features_.has_plaintext_names;
  }

 private:
  // Where something new goes. The file of a long name is made.
  std::filesystem::path claim(const std::string& path) {
    const std::filesystem::path in_volume(path);
    const std::filesystem::path parent = stored(in_volume.parent_path().string());
    const std::string encoded = names_.encode(in_volume.filename().string(), iv_of(parent));
    if (!names_.is_long(encoded)) {
      return parent / encoded;
    }
    const std::string hashed = names_.hashed(encoded);
    write(parent / (hashed + std::string(vault::long_name_suffix)), to_text(encoded));
    return parent / hashed;
  }
  void make_iv(const std::filesystem::path& folder) {
    if (has_ivs()) {
      write(folder / vault::folder_iv_name, test::varied_bytes(16, ++seed_));
    }
  }

  vault::Features features_;
  vault::MasterKey key_;
  vault::NameCipher names_;
  std::unique_ptr<vault::ContentKey> content_;
  std::filesystem::path root_;
  std::uint64_t seed_ = 100;
};

// Findings of a volume, from any thread.
class Findings {
 public:
  [[nodiscard]] DamageReport report() {
    return [this](const Finding& finding) { add(finding); };
  }
  void add(const Finding& finding) {
    const std::lock_guard lock(mutex_);
    all_.push_back(finding.path + ": " + finding.what);
  }
  [[nodiscard]] std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

}  // namespace paes::volume
