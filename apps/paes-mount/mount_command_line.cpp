// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/mount_command_line.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "cli/decimal.hpp"
#include "cli/option_list.hpp"
#include "cli/report.hpp"
#include "exec/executor.hpp"
#include "paes/error.hpp"
#include "volume/change/sealing_ahead.hpp"

namespace paes::mount {

namespace {

// Which fstab and mount(8) themselves understand, and what makes no difference to a mount.
constexpr std::array ignored = {"defaults",      "auto",     "noauto",     "user",
                                "nouser",        "users",    "owner",      "group",
                                "_netdev",       "nofail",   "async",      "sync",
                                "dirsync",       "atime",    "noatime",    "diratime",
                                "nodiratime",    "relatime", "norelatime", "strictatime",
                                "nostrictatime", "lazytime", "nolazytime", "iversion",
                                "noiversion",    "silent",   "loud",       "default_permissions",
                                "quiet",         "q"};

constexpr std::string_view not_supported = "paes does not have that";
// gocryptfs's options, and what to say in their place.
constexpr std::pair<std::string_view, std::string_view> options_of_gocryptfs[] = {
    {"ro", "use -r"},
    {"rw", "use -w"},
    {"fg", "use -f"},
    {"passfile", "use --passphrase-file FILE"},
    {"extpass", "use --passphrase-fd N"},
    {"masterkey", "use --master-key FILE"},
    {"config", "use --config FILE"},
    {"allow_other", "use --allow-other"},
    {"i", "use --idle TIME"},
    {"idle", "use --idle TIME"},
    {"sharedstorage", "use --shared"},
    {"acl", "use --acl"},
    {"fsname", "use --fsname NAME"},
    {"nonempty", "use -o nonempty"},
    {"suid", "use -o suid"},
    {"nosuid", "use -o nosuid"},
    {"dev", "use -o dev"},
    {"nodev", "use -o nodev"},
    {"exec", "use -o exec"},
    {"noexec", "use -o noexec"},
    {"ko", "use -o OPTIONS"},
    {"openssl", "use --kernel NAME"},
    {"q", "leave it out"},
    {"quiet", "leave it out"},
    {"nosyslog", "use -f"},
    {"init", "use `paes vault init`"},
    {"passwd", "use `paes vault passwd`"},
    {"info", "use `paes vault info`"},
    {"fsck", "use `paes vault fsck`"},
    {"reverse", not_supported},
    {"fido2", "use --fido2 DEVICE"},
    {"force_owner", not_supported},
    {"ctlsock", not_supported},
    {"badname", not_supported},
    {"kernel_cache", "leave it out"},
};

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail_usage(const std::string& why,
                             const std::string& hint = "paes-mount --help") {
  throw Error(ErrorCode::usage, "-o " + why, hint);
}

[[noreturn]] void fail_unknown(const std::string& name) {
  const std::string hint = hint_for_option_of_gocryptfs(name);
  fail_usage(name + ": there is no such option", hint.empty() ? "paes-mount --help" : hint);
}

// The value of an option: a number of so many things, from `least` to `most`.
unsigned parse_number(const std::string& name, const std::string& text, unsigned least,
                      unsigned most, const char* things) {
  unsigned number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < least || number > most) {
    fail_usage(name + "=" + text + ": is not a number of " + things);
  }
  return number;
}

// libfuse ends an option at a comma without a backslash before it.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == ',' || c == '\\') {
      text += '\\';
    }
    text += c;
  }
  return text;
}

// The options of a list. A comma after a backslash is part of an option.
std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> options(1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == ',') {
      options.emplace_back();
    } else {
      i += list[i] == '\\' && i + 1 < list.size() ? 1U : 0U;
      options.back() += list[i];
    }
  }
  return options;
}

}  // namespace

std::string hint_for_option_of_gocryptfs(std::string_view word) {
  word = word.substr(0, word.find('='));
  const std::string option(word);
  word.remove_prefix(std::min({word.find_first_not_of('-'), word.size(), std::size_t{2}}));
  for (const auto& [known, hint] : options_of_gocryptfs) {
    if (word == known && !hint.starts_with("use " + option + " ")) {  // else it is one here, too
      return option + " is an option of gocryptfs: " + std::string(hint);
    }
  }
  return "";
}

std::chrono::seconds parse_duration(std::string_view text) {
  constexpr std::uint64_t longest = std::uint64_t{10} * 365 * 24 * 3600;
  const auto throw_no_time = [&] {
    throw Error(ErrorCode::usage, "idle: '" + std::string(text) + "' is not a time",
                "give seconds, or a time such as 15m, 2h30m or 1d");
  };
  std::uint64_t sum = 0;
  for (const char *at = text.data(), *const end = at + text.size(); at != end || sum == 0;) {
    std::uint64_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number > longest) {
      throw_no_time();
    }
    const char unit = after == end ? 's' : *after;
    const std::uint64_t scale = unit == 's'   ? 1
                                : unit == 'm' ? 60
                                : unit == 'h' ? 3600
                                : unit == 'd' ? 86400
                                              : 0;
    sum += number * scale;
    if (scale == 0 || sum == 0 || sum > longest) {
      throw_no_time();
    }
    at = after == end ? end : after + 1;
  }
  return std::chrono::seconds(sum);
}

void MountCommandLine::declare(CLI::App& app) {
  const std::vector<std::string> caches = {"back", "through"};
  const std::vector<std::string> io_uring = {"auto", "off"};
  vault.declare(app);
  app.add_option("MOUNTPOINT", mountpoint, "the empty folder where its text is to be seen")
      ->required();
  app.add_flag("-f,--foreground", in_foreground, "stay in the foreground until it is unmounted");
  app.add_flag("--allow-other", allows_others,
               "let other users in, as far as permissions let them");
  app.add_option("--idle", idle_, "unmount after so long without use, as in 15m or 2h30m")
      ->type_name("TIME");
  app.add_flag("--shared", is_shared,
               "other programs change the vault meanwhile: cache only briefly");
  app.add_flag("--acl", has_acls, "enforce POSIX ACLs");
  CLI::Option* const writable = app.add_flag("-w,--writable", can_write, "mount for writing");
  app.add_flag("-r,--read-only", only_reads_, "mount read-only, which is the default")
      ->excludes(writable);
  app.add_option("--cache", cache_,
                 "back: the system holds for a while what is written; through: it holds nothing")
      ->type_name(cli::join_choices(caches))
      ->check(CLI::IsMember(caches).description(""));
  app.add_option("--fsname", source, "what mount(8) lists as the source, in place of the vault")
      ->type_name("NAME");
  app.add_option("--kernel", kernel, "the kernel of AES; auto: the best of this machine")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("-t,--threads", threads,
                 "threads that answer; as many as fit the machine when not given")
      ->type_name("N")
      ->check(CLI::Range(1U, max_threads))
      ->check(cli::decimal());
  app.add_option("--io-uring", io_uring_,
                 "auto, the default: requests come through io_uring where the system offers it; "
                 "off: never")
      ->type_name(cli::join_choices(io_uring))
      ->check(CLI::IsMember(io_uring).description(""));
  app.add_option("--ahead", ahead,
                 "blocks to write of which IV and keystream are made ahead; 0, the default, is off")
      ->type_name("N")
      ->check(CLI::Range(0U, volume::SealingAhead::max_blocks))
      ->check(cli::decimal());
  app.add_flag("-v,--verbose", is_verbose, "say how the system's requests come");
  app.add_option("-o", lists_, "these and mount(8)'s options in a list, as in fstab")
      ->type_name("OPTIONS")
      ->allow_extra_args(false);
}

void MountCommandLine::take_listed() {
  writes_through = cache_ == "through";
  may_use_io_uring = io_uring_ != "off";
  if (!idle_.empty()) {
    idle = parse_duration(idle_);
  }
  for (const std::string& list : lists_) {
    for (const std::string& option : split(list)) {
      if (!option.empty()) {
        take(option);
      }
    }
  }
  if (ahead != 0 && !can_write) {
    throw Error(ErrorCode::usage,
                "--ahead: nothing is sealed in a vault that is mounted for reading",
                "-w makes it one that can be written to");
  }
}

void MountCommandLine::take(std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string name(option.substr(0, equals));
  const bool has_value = equals != std::string_view::npos;
  const std::string value(has_value ? option.substr(equals + 1) : "");
  if (name.starts_with("x-") || name.starts_with("X-") || name == "comment") {
    return;
  }
  if (!has_value) {
    if (contains(ignored, name)) {
      return;
    }
    for (const auto& [known, allowed] :
         {std::pair("suid", &has_suid), std::pair("dev", &has_devices),
          std::pair("exec", &can_execute)}) {
      if (name == known || name == std::string("no") + known) {
        *allowed = name == known;  // the last one counts
        return;
      }
    }
    if (name == "rw" || name == "ro") {
      can_write = name == "rw" && !only_reads_;
      return;
    }
    for (const auto& [known, flag] :
         {std::pair("allow_other", &allows_others), std::pair("nonempty", &may_have_files),
          std::pair("shared", &is_shared), std::pair("sharedstorage", &is_shared),
          std::pair("acl", &has_acls)}) {
      if (name == known) {
        *flag = true;
        return;
      }
    }
    fail_unknown(name);
  }
  if (value.empty()) {
    fail_usage(name + ": has no value");
  }
  if (name == "passfile" || name == "passphrase-file") {
    vault.passphrase.use_file(value);
  } else if (name == "masterkeyfile" || name == "master-key") {
    vault.master_key_file = value;
  } else if (name == "fido2") {
    vault.token.use_device(value);
  } else if (name == "config") {
    vault.place.use_configuration(value);
  } else if (name == "idle") {
    idle = parse_duration(value);
  } else if (name == "fsname") {
    source = value;
  } else if (name == "kernel") {
    kernel = value;
  } else if (name == "cache") {
    if (value != "back" && value != "through") {
      fail_usage("cache=" + value + ": is neither back nor through");
    }
    writes_through = value == "through";
  } else if (name == "io_uring") {
    if (value != "auto" && value != "off") {
      fail_usage("io_uring=" + value + ": is neither auto nor off");
    }
    may_use_io_uring = value == "auto";
  } else if (name == "threads") {
    threads = parse_number(name, value, 1, max_threads, "threads");
  } else if (name == "ahead") {
    ahead = parse_number(name, value, 0, volume::SealingAhead::max_blocks, "blocks up to 4096");
  } else if (name != "subtype") {
    fail_unknown(name);
  }
}

std::string MountCommandLine::mount_options(const std::string& vault_path) const {
  std::string options = (can_write ? "rw" : "ro") +
                        std::string(",default_permissions,subtype=paes-mount,fsname=") +
                        escaped(source.empty() ? vault_path : source);
  // All are named, so that no default of libfuse or fusermount3 decides.
  options += has_suid ? ",suid" : ",nosuid";
  options += has_devices ? ",dev" : ",nodev";
  options += can_execute ? ",exec" : ",noexec";
  if (allows_others) {
    options += ",allow_other";
  }
  return options;
}

}  // namespace paes::mount
