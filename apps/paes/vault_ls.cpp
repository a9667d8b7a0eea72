// SPDX-License-Identifier: Apache-2.0
// `paes vault ls`: what a vault has, without a mount. Each line begins or ends with a path that the
// other commands take.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/vault_tree.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

struct VaultLsCommand {
  VaultOptions vault;
  std::vector<std::string> paths;
  bool is_long = false;
  bool is_recursive = false;
  bool ends_with_zero = false;
  bool is_folder_itself = false;
  bool json = false;
};

const char* type_of(const VaultEntry& entry) {
  return entry.is_folder() ? "folder"
         : entry.is_file() ? "file"
         : entry.is_link() ? "link"
                           : "other";
}

// "-rw-r--r--", as ls(1) has it.
std::string text_of_mode(mode_t mode) {
  std::string text(1, S_ISDIR(mode)    ? 'd'
                      : S_ISLNK(mode)  ? 'l'
                      : S_ISREG(mode)  ? '-'
                      : S_ISFIFO(mode) ? 'p'
                      : S_ISSOCK(mode) ? 's'
                      : S_ISBLK(mode)  ? 'b'
                                       : 'c');
  for (unsigned bit = 0; bit < 9; ++bit) {
    text += (mode & (0400U >> bit)) != 0 ? "rwx"[bit % 3] : '-';
  }
  const auto mark = [&](mode_t special, std::size_t place, char with_x, char without) {
    if ((mode & special) != 0) {
      text[place] = text[place] == 'x' ? with_x : without;
    }
  };
  mark(S_ISUID, 3, 's', 'S');
  mark(S_ISGID, 6, 's', 'S');
  mark(S_ISVTX, 9, 't', 'T');
  return text;
}

std::string local_time(std::time_t seconds) {
  struct tm parts = {};
  return localtime_r(&seconds, &parts) == nullptr ? std::to_string(seconds)
                                                  : fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

std::string utc_time(const struct timespec& time) {
  struct tm parts = {};
  return gmtime_r(&time.tv_sec, &parts) == nullptr
             ? std::to_string(time.tv_sec)
             : fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", parts, time.tv_nsec);
}

// Shows entries as they come, or keeps them for a document.
class Listing {
 public:
  Listing(const VaultLsCommand& command, VaultTree& vault) : command_(command), vault_(vault) {}

  void add(const VaultEntry& entry) {
    std::string target;
    if (entry.is_link() && (command_.is_long || command_.json)) {
      try {
        target = vault_.target_of(entry);
      } catch (const Error& error) {
        fail(error);
      }
    }
    if (command_.json) {
      add_member(entry, target);
      return;
    }
    if (command_.is_long) {
      text_ += fmt::format("{} {:>12} {}  ", text_of_mode(entry.status.st_mode),
                           vault_.length_of(entry), local_time(entry.status.st_mtim.tv_sec));
    }
    text_ += command_.ends_with_zero ? entry.shown() : printable(entry.shown());
    if (!target.empty()) {
      text_ += " -> " + printable(target);
    }
    text_ += command_.ends_with_zero ? '\0' : '\n';
    if (text_.size() >= enough_text) {
      flush();
    }
  }

  void fail(const Error& error) {
    damaged_ = damaged_ || error.code == ErrorCode::corrupt;
    failed_ = true;
    print_error(error);
    if (command_.json) {
      errors_.push_back(to_json(error));
    }
  }

  int finish() {
    const int code =
        !failed_ ? exit_done : static_cast<int>(damaged_ ? ErrorCode::corrupt : ErrorCode::failure);
    if (command_.json) {
      print_json({{"command", "vault ls"},
                  {"exit_code", code},
                  {"folder", command_.vault.place.folder()},
                  {"entries", std::move(entries_)},
                  {"errors", std::move(errors_)}});
    } else {
      flush();
    }
    return code;
  }

 private:
  static constexpr std::size_t enough_text = std::size_t{64} << 10;

  void flush() {
    if (!text_.empty()) {
      print_result(text_);
      text_.clear();
    }
  }

  void add_member(const VaultEntry& entry, const std::string& target) {
    ordered_json member = {{"path", entry.path},
                           {"type", type_of(entry)},
                           {"bytes", vault_.length_of(entry)},
                           {"mode", fmt::format("{:04o}", entry.status.st_mode & 07777)},
                           {"modified", utc_time(entry.status.st_mtim)}};
    if (entry.is_link()) {
      member["target"] = target;
    }
    entries_.push_back(std::move(member));
  }

  const VaultLsCommand& command_;
  VaultTree& vault_;
  std::string text_;
  ordered_json entries_ = ordered_json::array();
  ordered_json errors_ = ordered_json::array();
  bool failed_ = false;
  bool damaged_ = false;
};

int list_vault(VaultLsCommand& command) {
  refuse(command.ends_with_zero && (command.is_long || command.json),
         "vault ls: -0 prints paths alone", "leave out -l and --json");
  VaultTree vault(command.vault);
  if (command.paths.empty()) {
    command.paths.emplace_back("/");
  }
  Listing listing(command, vault);
  for (const std::string& path : command.paths) {
    try {
      const VaultEntry entry = vault.find(path);
      if (!entry.is_folder() || command.is_folder_itself) {
        listing.add(entry);
        continue;
      }
      vault.walk(
          entry,
          [&](const VaultEntry& found) {
            listing.add(found);
            return command.is_recursive ? Next::on : Next::past_this_folder;
          },
          [&](const Error& error) { listing.fail(error); });
    } catch (const ClosedOutput&) {
      throw;
    } catch (const Error& error) {
      cancel().check();
      if (command.paths.size() == 1) {
        throw;
      }
      listing.fail(error);
    }
  }
  return listing.finish();
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultLsCommand>();
  command->vault.declare(app);
  app.add_option("PATH", command->paths,
                 "files and folders, named as in the vault; its root, if left out");
  app.add_flag("-l,--long", command->is_long, "print modes, lengths, times and targets of links");
  app.add_flag("-R,--recursive", command->is_recursive, "list folders with all that is below them");
  app.add_flag("-d,--directory", command->is_folder_itself, "list folders, not what they contain");
  app.add_flag("-0,--null", command->ends_with_zero,
               "print paths as they are, and NUL instead of a newline after each");
  app.add_flag("--json", command->json, "print JSON (docs/schema/vault_ls.schema.json)");
  return [command] { return list_vault(*command); };
}

}  // namespace

extern const Command vault_command_ls = {"ls", "list what is in a vault", declare};

}  // namespace paes::cli
