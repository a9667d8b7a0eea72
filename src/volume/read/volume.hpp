// SPDX-License-Identifier: Apache-2.0
// An open volume: the root of its backing tree, its features and its keys. Folders and files of it
// are opened with volume_folder.hpp and volume_file.hpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernel/kernel.hpp"
#include "vault/content_key.hpp"
#include "vault/master_key.hpp"
#include "vault/names.hpp"
#include "volume/read/backing.hpp"
#include "volume/read/vault_damage.hpp"

namespace paes::volume {

// Immutable after construction, hence safe to use from any number of threads.
class Volume {
 public:
  // `root` is the backing tree's folder. `report` may be empty.
  Volume(Descriptor root, const vault::Features& features, const vault::MasterKey& key,
         const Kernel& kernel, std::unique_ptr<Backing> backing = std::make_unique<Backing>(),
         DamageReport report = {});

  // The same volume, whose damage is told to somebody else.
  Volume(const Volume& other, DamageReport report)
      : parts_(other.parts_), report_(std::move(report)) {}

  [[nodiscard]] FolderRef root() const noexcept { return FolderRef(parts_->root); }
  [[nodiscard]] const vault::Features& features() const noexcept {
    return parts_->names.features();
  }
  [[nodiscard]] const vault::NameCipher& names() const noexcept { return parts_->names; }
  [[nodiscard]] const vault::ContentKey& content() const noexcept { return *parts_->content; }
  [[nodiscard]] const Backing& backing() const noexcept { return *parts_->backing; }
  void report(const Finding& finding) const {
    if (report_) {
      report_(finding);
    }
  }
  // For what the system could not read. An input or output error is damage, too, and reported as
  // "WHAT cannot be read"; so EIO always has a report.
  Errno failed(std::string_view path, std::string_view what, Errno error) const;

 private:
  struct Parts {
    Descriptor root;
    vault::NameCipher names;
    std::unique_ptr<vault::ContentKey> content;
    std::unique_ptr<Backing> backing;
  };

  std::shared_ptr<const Parts> parts_;
  DamageReport report_;
};

}  // namespace paes::volume
