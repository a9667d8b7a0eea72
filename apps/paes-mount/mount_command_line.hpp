// SPDX-License-Identifier: Apache-2.0
// What the command line asks of paes-mount, its options and the list after -o, which fstab and
// mount(8) use.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/vault_options.hpp"

namespace paes::mount {

class MountCommandLine {
 public:
  void declare(CLI::App& app);
  // Takes the options after -o. Call it once the command line is parsed. Throws Error(usage), also
  // for options that make no sense together.
  void take_listed();

  cli::VaultOptions vault;
  std::string mountpoint;
  bool in_foreground = false;
  bool allows_others = false;
  bool may_have_files = false;  // the mountpoint
  bool is_shared = false;       // others change the vault meanwhile
  bool can_write = false;
  bool writes_through = false;  // the system holds nothing back
  bool has_acls = false;
  bool may_use_io_uring = true;
  bool is_verbose = false;
  // What the system allows on the mount.
  bool has_suid = false;
  bool has_devices = false;
  bool can_execute = true;
  unsigned threads = 0;  // 0: as many as fit the machine
  unsigned ahead = 0;    // blocks whose IV and keystream are made ahead; 0: none
  std::string kernel = "auto";
  std::string source;  // what mount(8) lists; empty: the vault's path
  std::optional<std::chrono::seconds> idle;

  // For the system, as `mount -o` takes them.
  [[nodiscard]] std::string mount_options(const std::string& vault_path) const;

 private:
  void take(std::string_view option);

  std::vector<std::string> lists_;
  std::string idle_;
  std::string cache_;
  std::string io_uring_;
  bool only_reads_ = false;
};

// For a word that is an option of gocryptfs, after a dash or two or in a list: how to say it here.
// Empty for any other word.
[[nodiscard]] std::string hint_for_option_of_gocryptfs(std::string_view word);

// "90", "90s", "15m", "2h45m", "1d". Throws Error(usage) for anything else and for no time at all.
[[nodiscard]] std::chrono::seconds parse_duration(std::string_view text);

}  // namespace paes::mount
