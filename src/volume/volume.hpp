// An open volume: the root of its backing tree, its features and its keys. Folders and files of it
// are opened with folder.hpp and file.hpp.
#pragma once

#include <memory>
#include <string>

#include "kernel/kernel.hpp"
#include "vault/content_key.hpp"
#include "vault/master_key.hpp"
#include "vault/names.hpp"
#include "volume/backing.hpp"
#include "volume/damage.hpp"

namespace paes::volume {

// Immutable after construction, hence safe to use from any number of threads.
class Volume {
 public:
  // `root` is the backing tree's folder. `report` may be empty.
  Volume(Descriptor root, const vault::Features& features, const vault::MasterKey& key,
         const Kernel& kernel, std::unique_ptr<Backing> backing = std::make_unique<Backing>(),
         DamageReport report = {});

  [[nodiscard]] int root() const noexcept { return root_.number(); }
  [[nodiscard]] const vault::Features& features() const noexcept { return names_.features(); }
  [[nodiscard]] const vault::NameCipher& names() const noexcept { return names_; }
  [[nodiscard]] const vault::ContentKey& content() const noexcept { return *content_; }
  [[nodiscard]] const Backing& backing() const noexcept { return *backing_; }
  void report(Damage damage) const {
    if (report_) {
      report_(damage);
    }
  }

 private:
  Descriptor root_;
  vault::NameCipher names_;
  std::unique_ptr<vault::ContentKey> content_;
  std::unique_ptr<Backing> backing_;
  DamageReport report_;
};

}  // namespace paes::volume
