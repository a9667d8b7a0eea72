// SPDX-License-Identifier: Apache-2.0
// `paes vault fsck`: reads and authenticates everything in a vault, and changes nothing. Without a
// mount, hence also without the rights that mounting takes.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/process.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/vault_tree.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "volume/check/fsck.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using volume::Finding;
using volume::FsckCounts;

// More findings than these are only counted in a document.
constexpr std::size_t max_listed = 100'000;

struct VaultFsckCommand {
  VaultOptions vault;
  std::vector<std::string> paths;
  unsigned threads = 0;
  bool json = false;
  bool quiet = false;
};

// What was found, as a document has it, and on standard error where no document is wanted.
class Findings {
 public:
  Findings(bool json, bool quiet) : json_(json), quiet_(quiet) {}

  void add_damaged(const Finding& finding) { add(finding, damaged_, "damaged"); }
  void add_unread(const Finding& finding) { add(finding, unread_, "not checked"); }
  void add_leftover(const Finding& finding) {
    if (json_ || !quiet_) {
      add(finding, leftovers_, "left over");
    }
  }

  [[nodiscard]] ordered_json& damaged() noexcept { return damaged_; }
  [[nodiscard]] ordered_json& unread() noexcept { return unread_; }
  [[nodiscard]] ordered_json& leftovers() noexcept { return leftovers_; }

 private:
  void add(const Finding& finding, ordered_json& list, const char* verdict) const {
    if (!json_) {
      print_note(fmt::format("paes: {}: {}: {}", shown(finding.path), verdict, finding.what));
    } else if (list.size() < max_listed) {
      list.push_back({{"path", finding.path}, {"what", finding.what}});
    }
  }
  static std::string shown(const std::string& path) { return path.empty() ? "/" : path; }

  bool json_;
  bool quiet_;
  ordered_json damaged_ = ordered_json::array();
  ordered_json unread_ = ordered_json::array();
  ordered_json leftovers_ = ordered_json::array();
};

std::string number_of(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// What the run is worth, if it is not clean.
std::optional<Error> verdict_on(const VaultFsckCommand& command, const FsckCounts& counts) {
  const std::string& folder = command.vault.place.folder();
  const std::string unread =
      counts.unread == 0
          ? ""
          : fmt::format("{} not be read", number_of(counts.unread, "thing could", "things could"));
  if (counts.damaged != 0) {
    return Error(ErrorCode::corrupt,
                 fmt::format("{}: {}{}{}", folder,
                             number_of(counts.damaged, "thing is damaged", "things are damaged"),
                             unread.empty() ? "" : "; ", unread),
                 !command.vault.master_key_file.empty()
                     ? "if everything is damaged, the master key is that of another vault"
                 : command.vault.place.has_configuration_elsewhere()
                     ? "if everything is damaged, the configuration is that of another vault"
                     : "get copies of what is named from a backup");
  }
  if (counts.unread != 0) {
    return Error(ErrorCode::failure, fmt::format("{}: {}", folder, unread),
                 "a user who may read all files can check all of them; if memory or open files ran "
                 "out, allow more of them (ulimit -n)");
  }
  return std::nullopt;
}

ordered_json to_json(const FsckCounts& counts) {
  return {{"folders", counts.folders},       {"files", counts.files},
          {"links", counts.links},           {"others", counts.others},
          {"text_bytes", counts.text_bytes}, {"damaged", counts.damaged},
          {"unread", counts.unread},         {"leftovers", counts.leftovers}};
}

void print_summary(const std::string& folder, const FsckCounts& counts, double seconds) {
  print_note(fmt::format(
      "paes: {}: {}, {}, {}{}, {} in {:.3f} s", folder,
      number_of(counts.folders, "folder", "folders"), number_of(counts.files, "file", "files"),
      number_of(counts.links, "link", "links"),
      counts.others == 0 ? "" : fmt::format(", {} without content", counts.others),
      human_bytes(static_cast<double>(counts.text_bytes)), seconds));
}

int check_vault(const VaultFsckCommand& command) {
  const std::string& folder = command.vault.place.folder();
  Descriptor root = open_vault_folder(folder);
  const OpenedVault opened = command.vault.open();
  const std::size_t most_open = allow_open_files();
  const volume::Volume vault(std::move(root), opened.configuration.features, opened.key,
                             best_kernel(Cipher::aes));
  // A thread has up to three files open, and one more folder than there should be.
  const std::unique_ptr<Executor> executor = make_thread_pool(static_cast<unsigned>(
      std::clamp<std::size_t>(most_open / 8, 1, checked_threads(command.threads))));
  executor->start();

  Findings findings(command.json, command.quiet);
  const auto start = std::chrono::steady_clock::now();
  FsckCounts counts;
  {
    ProgressMeter meter(!command.quiet && !command.json, "checking " + folder, std::nullopt);
    volume::FsckWatch watch;
    watch.damaged = [&](const Finding& finding) { findings.add_damaged(finding); };
    watch.unread = [&](const Finding& finding) { findings.add_unread(finding); };
    watch.leftover = [&](const Finding& finding) { findings.add_leftover(finding); };
    watch.stops = [] { return cancel().requested(); };
    watch.done_bytes = meter.counter();
    counts = volume::fsck(vault, command.paths, *executor, watch, most_open / 4);
  }
  cancel().check();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const std::optional<Error> verdict = verdict_on(command, counts);
  const int code = verdict ? static_cast<int>(verdict->code) : exit_done;
  if (command.json) {
    print_json({{"command", "vault fsck"},
                {"exit_code", code},
                {"folder", folder},
                {"counts", to_json(counts)},
                {"seconds", seconds.count()},
                {"damaged", std::move(findings.damaged())},
                {"unread", std::move(findings.unread())},
                {"leftovers", std::move(findings.leftovers())}});
  } else if (!command.quiet) {
    print_summary(folder, counts, seconds.count());
  }
  if (verdict) {
    print_error(*verdict);
  }
  return code;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultFsckCommand>();
  command->vault.declare(app);
  app.add_option("PATH", command->paths,
                 "check only this file or folder, named as in the vault, and what is below it");
  app.add_option("-T,--threads", command->threads, "threads; 0 is every processor, the default")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(0U, max_threads));
  app.add_flag("-q,--quiet", command->quiet, "print only errors and warnings");
  app.add_flag("--json", command->json, "print JSON (docs/schema/vault_fsck.schema.json)");
  return [command] { return check_vault(*command); };
}

}  // namespace

extern const Command vault_command_fsck = {
    "fsck", "check everything in a vault, and change nothing", declare};

}  // namespace paes::cli
