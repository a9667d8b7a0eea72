// SPDX-License-Identifier: Apache-2.0
// What a plugin says (c2sp.org/age-plugin): the input is all that it writes, after a byte that
// chooses what is asked of it and which questions it may ask. No process is started: the two calls
// of the system that would do so are the harness's own.
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "age/header.hpp"
#include "age/plugin.hpp"
#include "age/stanza.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;
namespace age = paes::age;

constexpr std::array<std::uint8_t, 16> file_key = {1, 2, 3};

Bytes plugin_says;
int plugin_end = -1;  // of the socket; open, so that the plugin seems to be there

enum Asked : std::uint8_t { unwrap = 1, may_show = 2, may_answer = 4, may_confirm = 8 };

age::Prompts prompts_of(std::uint8_t choice) {
  age::Prompts prompts;
  const auto check_line = [](const std::string& text) {
    require(text.find('\n') == std::string::npos, "a plugin's words are one line");
  };
  if ((choice & may_show) != 0) {
    prompts.show = check_line;
  }
  if ((choice & may_answer) != 0) {
    prompts.answer = [=](const std::string& text) {
      check_line(text);
      return paes::SecretBytes(Bytes(file_key));
    };
    prompts.passphrase = prompts.answer;
  }
  if ((choice & may_confirm) != 0) {
    prompts.confirm = [=](const std::string& text, const std::string&, const std::string&) {
      check_line(text);
      return true;
    };
  }
  return prompts;
}

void check_wrapping(const age::Prompts& prompts) {
  const age::WrappedKey wrapped =
      age::plugin_recipient("test", "age1test", prompts)->wrap(file_key);
  require(!wrapped.stanzas.empty(), "something is wrapped");
  std::size_t bytes = 0;
  for (const age::NewStanza& stanza : wrapped.stanzas) {
    std::string text;
    age::append_stanza(text, stanza);
    std::string_view rest = text;
    const age::Stanza read = age::take_stanza(rest);
    require(rest.empty() && read.arguments == stanza.arguments, "a stanza can be read again");
    bytes += text.size();
  }
  require(bytes < 2 * age::max_header_bytes, "a plugin's stanzas are bounded");
}

void check_unwrapping(const age::Prompts& prompts) {
  const paes::WaitReady never;
  age::Effort effort(never);
  std::string text;
  age::append_stanza(text, {"test argument", {file_key.begin(), file_key.end()}});
  std::string_view rest = text;
  const age::Stanza stanza = age::take_stanza(rest);
  const auto found =
      age::plugin_identity_without_data("test", prompts)->unwrap(std::span(&stanza, 1), effort);
  require(!found || found->size() == file_key.size(), "a file key has its length");
}

}  // namespace

extern "C" int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  if (syscall(SYS_socketpair, domain, type, protocol, ends) != 0) {
    return -1;
  }
  plugin_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
  const ssize_t sent = send(plugin_end, plugin_says.data(), plugin_says.size(), MSG_NOSIGNAL);
  require(sent == static_cast<ssize_t>(plugin_says.size()), "the socket takes the input");
  (void)shutdown(plugin_end, SHUT_WR);
  return 0;
}

extern "C" int posix_spawn(pid_t* process, const char*, const posix_spawn_file_actions_t*,
                           const posix_spawnattr_t*, char* const*, char* const*) {
  *process = 1 << 30;  // there is no such process: waiting for it ends at once
  return 0;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  static std::string folder = "/tmp/paes-fuzz-XXXXXX";
  require(mkdtemp(folder.data()) != nullptr, "there is a temporary folder");
  const int file = open((folder + "/age-plugin-test").c_str(), O_CREAT | O_WRONLY, 0755);
  require(file >= 0 && close(file) == 0, "the plugin is on the path");
  setenv("PATH", folder.c_str(), 1);
  std::atexit([] {
    (void)unlink((folder + "/age-plugin-test").c_str());
    (void)rmdir(folder.c_str());
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) {
    return 0;
  }
  plugin_says = Bytes(data, bytes).subspan(1);
  try {
    if ((data[0] & unwrap) != 0) {
      check_unwrapping(prompts_of(data[0]));
    } else {
      check_wrapping(prompts_of(data[0]));
    }
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::failure, "a bad plugin is a failure");
    require(std::string_view(error.what()).find('\n') == std::string_view::npos,
            "an error is one line");
  }
  (void)close(plugin_end);
  return 0;
}
