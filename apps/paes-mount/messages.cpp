// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/messages.hpp"

#include <syslog.h>

#include "cli/report.hpp"

namespace paes::mount {

namespace {

// After so many kinds of damage, they are told anew.
constexpr std::size_t most_remembered = 10'000;

}  // namespace

void Messages::use_syslog() noexcept {
  openlog("paes-mount", LOG_PID, LOG_USER);
  in_syslog_.store(true);
}

void Messages::damage(const volume::Finding& found) {
  const std::string path = found.path.empty() ? "the vault's folder" : found.path;
  const std::string line = path + ": " + found.what;
  {
    const std::lock_guard lock(mutex_);
    if (told_.size() >= most_remembered) {
      told_.clear();
    }
    if (!told_.insert(line).second) {
      return;
    }
  }
  warn(line);
}

void Messages::warn(const std::string& line) {
  if (in_syslog_.load()) {
    syslog(LOG_ERR, "%s", cli::printable(line).c_str());
  } else {
    cli::print_warning(line);
  }
}

void Messages::note(const std::string& line) {
  if (in_syslog_.load()) {
    syslog(LOG_INFO, "%s", cli::printable(line).c_str());
  }
}

}  // namespace paes::mount
