// SPDX-License-Identifier: Apache-2.0
// What a mount says while it works: on standard error, and to syslog once it is in the background.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_set>

#include "volume/read/vault_damage.hpp"

namespace paes::mount {

class Messages {
 public:
  void use_syslog() noexcept;

  // Each damage is told once, because the system asks for what it could not read again and again.
  void damage(const volume::Finding& found);
  void warn(const std::string& line);
  // To syslog alone.
  void note(const std::string& line);

 private:
  std::atomic<bool> in_syslog_{false};
  std::mutex mutex_;
  std::unordered_set<std::string> told_;
};

}  // namespace paes::mount
