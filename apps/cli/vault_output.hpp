// SPDX-License-Identifier: Apache-2.0
// What `paes vault get` and `export` share: files, folders and links of a vault are written in the
// plain, below a folder that the user has named. And what `put` and `cat` share with these.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/vault_tree.hpp"
#include "exec/executor.hpp"
#include "stream/transfer/work.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

struct VaultOutputOptions {
  VaultOptions vault;
  unsigned threads = 0;
  bool overwrite = false;
  bool update = false;
  bool quiet = false;

  void declare(CLI::App& app);
};

// The threads of get, put and cat, and how they take a file.
class VaultWork {
 public:
  explicit VaultWork(unsigned threads);

  // A thread alone takes what is short.
  [[nodiscard]] stream::Work for_text(std::optional<std::uint64_t> bytes,
                                      std::atomic<std::uint64_t>* progress) const;

 private:
  std::unique_ptr<Executor> pool_;
};

// How many things a command was to move, and what became of them.
struct VaultCounts {
  std::uint64_t done = 0;
  std::uint64_t skipped = 0;  // --update found them up to date
  std::uint64_t failed = 0;
  std::uint64_t text_bytes = 0;
  ErrorCode last_code = ErrorCode::failure;  // of what has failed

  // Prints the error and counts it.
  void fail(const Error& error);
  // The exit code. Prints "paes: vault get: 10 files and links, 1.50 GB in 2.000 s; 3 up to date",
  // unless the only error says it all, or with `quiet`.
  [[nodiscard]] int finish(const char* command, std::chrono::duration<double> took,
                           bool quiet) const;
};

// What --update compares.
[[nodiscard]] bool is_same_time(const struct timespec& one, const struct timespec& other) noexcept;

// Throws Error(usage) for -f with --update, of which the one replaces what the other leaves out.
void refuse_both(const char* command, bool overwrite, bool update);

// `-T`, which means the same wherever it is.
void declare_threads(CLI::App& app, unsigned& threads);

// Brings `entry`, and all that is below it, to `path`, or with a name to what has that name in the
// folder `path`, where no link is followed. Folders that exist are taken, and files never replaced
// unless the options say so. A failure is printed, and the rest goes on. Returns the exit code.
[[nodiscard]] int write_entry(const char* command, const VaultOutputOptions& options,
                              VaultTree& vault, const VaultEntry& entry, const std::string& path,
                              const std::string& name);

}  // namespace paes::cli
