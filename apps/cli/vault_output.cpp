// SPDX-License-Identifier: Apache-2.0
#include "cli/vault_output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <utility>

#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/output_folders.hpp"
#include "cli/process.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/vault_ends.hpp"
#include "core/folder.hpp"
#include "core/new_name.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/file_place.hpp"
#include "stream/file/group_commit.hpp"
#include "stream/file/new_file.hpp"
#include "stream/file/run_outputs.hpp"
#include "stream/transfer/sparse_sink.hpp"

namespace paes::cli {

namespace {

// Writes one tree, in the order in which it is walked through.
class VaultWriter {
 public:
  VaultWriter(const VaultOutputOptions& options, VaultTree& vault, ProgressMeter& meter)
      : options_(options), vault_(vault), meter_(meter), work_(options.threads) {}

  // `name` is that of the entry below a folder that is there; empty if `path` is its own.
  void write_at(const VaultEntry& top, const std::string& path, const std::string& name) {
    stream::Tree tree(path);
    if (name.empty() && !top.is_folder()) {
      attempt([&] {
        write(top, path);
        if (top.is_link()) {
          const Descriptor around = open_folder(path.substr(0, path.rfind('/') + 1) + ".");
          sync_changed(&around, path);
        }
      });
    } else if (!name.empty() && !top.is_folder()) {
      tree.open();
      refuse_vault(tree, "");
      write_in(tree, top, name);
    } else {
      write_folder(top, tree, name);
    }
    commits_.commit_all();
    finish_folders(tree);
  }

  [[nodiscard]] const VaultCounts& counts() const noexcept { return counts_; }

 private:
  static mode_t first_mode(const VaultEntry& folder) noexcept {
    return (folder.status.st_mode & 0777) | S_IRWXU;
  }

  static stream::FilePlace place_in(const stream::Tree& tree, const std::string& below) {
    stream::OpenFolder folder = tree.folder(parent_of(below));
    if (folder == nullptr) {
      throw_errno(tree.path_of(below));
    }
    return {tree.path_of(below), std::move(folder)};
  }

  void write_folder(const VaultEntry& top, stream::Tree& tree, const std::string& name) {
    if (name.empty()) {
      if (mkdir(tree.top().c_str(), first_mode(top)) == 0) {
        changed_[""] = top.status;
        attempt([&] {
          const Descriptor around = open_folder(tree.top() + "/..");
          sync_changed(&around, tree.top());
        });
      } else if (errno != EEXIST) {
        throw_errno(tree.top());
      }
    }
    tree.open();
    refuse_vault(tree, "");
    if (!name.empty() && make_folder(tree, top, name) != Next::on) {
      return;
    }
    vault_.walk(
        top,
        [&](const VaultEntry& entry) {
          const std::string below =
              volume::path_of(name, entry.path.substr(top.path.empty() ? 0 : top.path.size() + 1));
          return entry.is_folder() ? make_folder(tree, entry, below) : write_in(tree, entry, below);
        },
        [&](const Error& error) { counts_.fail(error); });
  }

  Next write_in(const stream::Tree& tree, const VaultEntry& entry, const std::string& below) {
    attempt([&] {
      write(entry, place_in(tree, below));
      if (entry.is_link()) {
        changed_.try_emplace(parent_of(below));
      }
    });
    return Next::on;
  }

  // `place` is in a folder that is open, or a path that the user has named.
  void write(const VaultEntry& entry, const stream::FilePlace& place) {
    if (entry.is_file()) {
      write_file(entry, place);
    } else if (entry.is_link()) {
      write_link(entry, place);
    } else {
      print_warning(entry.path + ": is neither a file nor a folder nor a link, and left out");
    }
  }

  // A failure of one file is printed, and the rest goes on, unless a signal has come. False if it
  // has failed.
  template <typename Work>
  bool attempt(const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      cancel().check();
      counts_.fail(error);
    }
    return false;
  }

  // A vault that lies in DEST would get its own text in the plain. That ends the run: the user does
  // not know that DEST holds it.
  void refuse_vault(const stream::Tree& tree, const std::string& below) const {
    const stream::OpenFolder folder = tree.folder(below);
    struct stat status = {};
    if (folder != nullptr && fstat(folder->number(), &status) == 0) {
      refuse(vault_.ways_in().have(status),
             tree.path_of(below) + ": is the vault itself, or lies in it",
             "name a place outside of it");
    }
  }

  Next make_folder(const stream::Tree& tree, const VaultEntry& entry, const std::string& below) {
    refuse_vault(tree, below);
    const bool is_there = attempt([&] {
      const stream::FilePlace place = place_in(tree, below);
      const bool is_new = mkdirat(place.folder, place.name().c_str(), first_mode(entry)) == 0;
      if (!is_new && (errno != EEXIST || tree.folder(below) == nullptr)) {
        throw_errno(place.path);
      }
      if (is_new) {
        changed_.try_emplace(parent_of(below));
      }
      if (is_new || options_.update || options_.overwrite) {
        changed_[below] = entry.status;
        make_writable(tree.folder(below));
      }
    });
    return is_there ? Next::on : Next::past_this_folder;
  }

  // A folder that gets the mode of the vault's in the end. For others than its owner, what needs
  // this fails and says so.
  static void make_writable(const stream::OpenFolder& folder) {
    struct stat status = {};
    if (folder != nullptr && fstat(folder->number(), &status) == 0 &&
        (status.st_mode & S_IRWXU) != S_IRWXU) {
      (void)fchmod(folder->number(), (status.st_mode & 07777) | S_IRWXU);
    }
  }

  // Folders get their times last, because every file that got a name has changed them, and those
  // below first, because then nobody may be allowed to reach them.
  void finish_folders(const stream::Tree& tree) {
    for (auto changed = changed_.rbegin(); changed != changed_.rend(); ++changed) {
      attempt([&] {
        const std::string path = tree.path_of(changed->first);
        const stream::OpenFolder folder = tree.folder(changed->first);
        if (folder != nullptr && changed->second && !set_attributes(*folder, *changed->second)) {
          print_warning(path + ": " + Errno(errno).message());
        }
        sync_changed(folder.get(), path);
      });
    }
  }

  static bool set_attributes(const Descriptor& folder, const struct stat& status) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, status.st_mtim};
    return fchmod(folder.number(), stream::less_umask(status.st_mode & 0777)) == 0 &&
           futimens(folder.number(), times) == 0;
  }

  // True with --update for what has the same length and time there.
  [[nodiscard]] bool is_up_to_date(const VaultEntry& entry, const stream::FilePlace& place) const {
    struct stat there = {};
    return options_.update && place.lstat(there) == 0 && S_ISREG(there.st_mode) &&
           static_cast<std::uint64_t>(there.st_size) == vault_.length_of(entry) &&
           is_same_time(there.st_mtim, entry.status.st_mtim);
  }

  void write_file(const VaultEntry& entry, const stream::FilePlace& place) {
    if (is_up_to_date(entry, place)) {
      ++counts_.skipped;
      return;
    }
    options_.vault.refuse_as_output(place);
    VaultSource source(vault_.volume(), entry);
    const mode_t mode = stream::less_umask(source.status().st_mode & 0777);
    std::unique_ptr<stream::Output> output =
        stream::create_output(place, {.overwrite = options_.overwrite || options_.update,
                                      .cancel = &cancel(),
                                      .warn = print_warning,
                                      .file = {.role = stream::FileRole::grouped,
                                               .permissions = mode,
                                               .modified = source.status().st_mtim,
                                               .written = &written_}});
    output->expect({source.bytes(), stream::Filling::sparse});
    output->complete([&] {
      stream::SparseSink sink(*output);
      const stream::Work work = work_.for_text(source.bytes(), meter_.counter());
      return move_text(source, sink, plain_layout(source.bytes(), work), work);
    });
    counts_.text_bytes += source.bytes();
    if (output->unnamed() == nullptr) {  // a device, or a pipe
      ++counts_.done;
      return;
    }
    commits_.add(std::move(output), source.bytes(),
                 [this](const stream::Output& named, const std::optional<Error>& error) {
                   if (!named.warning().empty()) {
                     print_warning(named.warning());
                   }
                   if (error) {
                     counts_.fail(about(named.name(), *error));
                   } else {
                     ++counts_.done;
                   }
                 });
  }

  void write_link(const VaultEntry& entry, const stream::FilePlace& place) {
    const std::string target = vault_.target_of(entry);
    const std::string name = place.name();
    struct stat there = {};
    const bool exists = place.lstat(there) == 0;
    if (exists && options_.update && S_ISLNK(there.st_mode) && has_target(place, target)) {
      ++counts_.skipped;
      return;
    }
    if (exists && !options_.overwrite && !options_.update) {
      stream::throw_exists(place.path, {});
    }
    options_.vault.refuse_as_output(place);
    // The name has the old or the new at every moment.
    const std::string folder = name.substr(0, name.rfind('/') + 1);
    const std::string made = folder + new_temporary_name();
    const struct timespec times[2] = {{0, UTIME_OMIT}, entry.status.st_mtim};
    if (symlinkat(target.c_str(), place.folder, made.c_str()) != 0) {
      throw_errno(place.path);
    }
    (void)utimensat(place.folder, made.c_str(), times, AT_SYMLINK_NOFOLLOW);
    int error = 0;
    if (!exists) {
      error = rename_to_new_name(place.folder, made, name).error;
    } else if (renameat(place.folder, made.c_str(), place.folder, name.c_str()) != 0) {
      error = errno;
    }
    if (error != 0) {
      (void)unlinkat(place.folder, made.c_str(), 0);
      errno = error;
      throw_errno(place.path);
    }
    ++counts_.done;
  }

  static bool has_target(const stream::FilePlace& place, const std::string& target) {
    std::string there(target.size() + 1, '\0');
    const ssize_t bytes =
        readlinkat(place.folder, place.name().c_str(), there.data(), there.size());
    return bytes >= 0 && there.substr(0, static_cast<std::size_t>(bytes)) == target;
  }

  const VaultOutputOptions& options_;
  VaultTree& vault_;
  ProgressMeter& meter_;
  VaultWork work_;
  stream::RunOutputs written_;
  stream::GroupCommit commits_;
  // The folders in which names are new, below the top, and what they get in the end: that of the
  // vault's own, or nothing.
  std::map<std::string, std::optional<struct stat>> changed_;
  VaultCounts counts_;
};

}  // namespace

bool is_same_time(const struct timespec& one, const struct timespec& other) noexcept {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

void refuse_both(const char* command, bool overwrite, bool update) {
  refuse(overwrite && update, std::string(command) + ": -f and --update cannot be combined",
         "-f replaces every file, --update those that have changed");
}

void declare_threads(CLI::App& app, unsigned& threads) {
  app.add_option("-T,--threads", threads, "threads; 0 is every processor, the default")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(0U, max_threads));
}

void VaultOutputOptions::declare(CLI::App& app) {
  vault.declare(app);
  app.add_flag("-f,--force", overwrite, "replace files that exist");
  app.add_flag("--update", update, "leave out files that have the same length and time there");
  declare_threads(app, threads);
  app.add_flag("-q,--quiet", quiet, "print only errors and warnings");
}

VaultWork::VaultWork(unsigned threads) : pool_(make_thread_pool(threads)) {}

stream::Work VaultWork::for_text(std::optional<std::uint64_t> bytes,
                                 std::atomic<std::uint64_t>* progress) const {
  constexpr std::uint64_t enough_pieces = 8;
  stream::Work work{.kernel = best_kernel(Cipher::aes), .cancel = &cancel(), .progress = progress};
  if (!bytes || *bytes >= enough_pieces * work.piece_bytes) {
    pool_->start();
    work.executor = *pool_;
  }
  return work;
}

void VaultCounts::fail(const Error& error) {
  print_error(error);
  last_code = error.code;
  ++failed;
}

int VaultCounts::finish(const char* command, std::chrono::duration<double> took, bool quiet) const {
  const bool is_one_failure = failed == 1 && done + skipped == 0;
  if (!is_one_failure && !quiet) {
    print_note(fmt::format("paes: {}: {} {}, {} in {:.3f} s{}{}", command, done,
                           done == 1 ? "file" : "files and links",
                           human_bytes(static_cast<double>(text_bytes)), took.count(),
                           skipped == 0 ? "" : fmt::format("; {} up to date", skipped),
                           failed == 0 ? "" : fmt::format("; {} failed", failed)));
  }
  return failed == 0 ? exit_done : is_one_failure ? static_cast<int>(last_code) : exit_some_failed;
}

int write_entry(const char* command, const VaultOutputOptions& options, VaultTree& vault,
                const VaultEntry& entry, const std::string& path, const std::string& name) {
  const auto start = std::chrono::steady_clock::now();
  VaultCounts counts;
  {
    ProgressMeter meter(!options.quiet, "writing " + entry.shown(),
                        entry.is_file() ? std::optional(vault.length_of(entry)) : std::nullopt);
    VaultWriter writer(options, vault, meter);
    writer.write_at(entry, path, name);
    counts = writer.counts();
  }
  return counts.finish(command, std::chrono::steady_clock::now() - start, options.quiet);
}

}  // namespace paes::cli
