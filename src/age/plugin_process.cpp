// SPDX-License-Identifier: Apache-2.0
#include "age/plugin_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/children.hpp"
#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::age {

namespace {

constexpr std::size_t max_stanza_bytes = std::size_t{64} << 10;
// Far more than any plugin has to say. One that talks without end must not keep its caller for
// ever.
constexpr std::size_t max_messages = 10000;
constexpr auto time_to_end = std::chrono::milliseconds(1000);
// The user waits only for the end.
constexpr auto time_to_end_given_up = std::chrono::milliseconds(200);

Error no_plugin(std::string_view name, const std::string& why) {
  return {ErrorCode::failure, "plugin " + std::string(name) + ": " + why,
          "install age-plugin-" + std::string(name) +
              " in a folder of PATH (https://age-encryption.org/awesome#plugins lists plugins)"};
}

std::string find_plugin(std::string_view name) {
  const std::string program = "age-plugin-" + std::string(name);
  std::string file = find_program(program);
  if (file.empty()) {
    throw no_plugin(name, "there is no program " + program + " on the path");
  }
  return file;
}

pid_t start(const std::string& file, const char* machine, int socket) {
  SpawnOptions options;
  posix_spawn_file_actions_adddup2(&options.actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&options.actions, socket, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&options.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  close_from(options.actions, STDERR_FILENO + 1);
  give_own_signals(options.attributes);
  std::string machine_option = std::string("--age-plugin=") + machine;
  std::string program = file;
  char* const arguments[] = {program.data(), machine_option.data(), nullptr};
  pid_t process = -1;
  const int error = posix_spawn(&process, file.c_str(), &options.actions, &options.attributes,
                                arguments, environ);
  if (error != 0) {
    errno = error;
    throw_errno(file);
  }
  return process;
}

}  // namespace

std::string Message::text() const {
  std::string text(reinterpret_cast<const char*>(body.data()), body.size());
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

PluginProcess::PluginProcess(std::string_view name, const char* machine, const WaitReady& wait)
    : name_(name), wait_(wait), read_(max_stanza_bytes) {
  const std::string file = find_plugin(name);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw_errno("plugin " + name_);
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  process_ = start(file, machine, theirs.number());
}

PluginProcess::~PluginProcess() {
  socket_ = Descriptor();
  // Only the protocol says whether a plugin has done its work: its status cannot be had if the
  // caller's program ignores SIGCHLD or collects all children itself (ECHILD).
  const auto deadline =
      std::chrono::steady_clock::now() + (is_given_up_ ? time_to_end_given_up : time_to_end);
  int status = 0;
  while (waitpid(process_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      (void)kill(process_, SIGKILL);
      while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
      }
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Error PluginProcess::failed(const std::string& why) const {
  return {ErrorCode::failure, "plugin " + name_ + ": " + why};
}

void PluginProcess::wait_for(short events) {
  if (!wait_) {
    return;
  }
  try {
    wait_(socket_.number(), events);
  } catch (...) {
    is_given_up_ = true;
    throw;
  }
}

void PluginProcess::send(std::string_view arguments, Bytes body) {
  NewStanza stanza{std::string(arguments), {body.begin(), body.end()}};
  std::string text;
  text.reserve(max_stanza_bytes);  // growing would leave a copy behind
  append_stanza(text, stanza);
  const WipeOnExit wiped_text({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  const WipeOnExit wiped_arguments(
      {reinterpret_cast<std::uint8_t*>(stanza.arguments.data()), stanza.arguments.size()});
  const WipeOnExit wiped_body(stanza.body);
  for (std::string_view rest = text; !rest.empty();) {
    wait_for(POLLOUT);
    // If the plugin has ended, this reports an error instead of raising SIGPIPE. A plugin that does
    // not read must not block a wait that can be given up.
    const ssize_t sent = ::send(socket_.number(), rest.data(), rest.size(),
                                MSG_NOSIGNAL | (wait_ ? MSG_DONTWAIT : 0));
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent == 0 || (errno != EINTR && errno != EAGAIN)) {
      throw failed("has ended early");
    }
  }
}

std::string PluginProcess::read_line() {
  for (;;) {
    const std::uint8_t* const begin = read_.data() + begin_;
    const std::uint8_t* const end = read_.data() + end_;
    const std::uint8_t* const line_end = std::find(begin, end, std::uint8_t{'\n'});
    if (line_end != end) {
      begin_ += static_cast<std::size_t>(line_end + 1 - begin);
      return {begin, line_end + 1};
    }
    std::copy(begin, end, read_.data());
    end_ -= begin_;
    begin_ = 0;
    if (end_ == read_.size()) {
      throw failed("sends a line that is too long");
    }
    wait_for(POLLIN);
    const ssize_t got =
        recv(socket_.number(), read_.data() + end_, read_.size() - end_, wait_ ? MSG_DONTWAIT : 0);
    if (got > 0) {
      end_ += static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      throw failed("has ended early");
    }
  }
}

Message PluginProcess::receive() {
  if (++messages_ > max_messages) {
    throw failed("sends more messages than a plugin may");
  }
  SecretBytes room(max_stanza_bytes);
  std::size_t bytes = 0;
  const auto take_line = [&] {
    std::string line = read_line();
    const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(line.data()), line.size()});
    if (bytes + line.size() > room.size()) {
      throw failed("sends a stanza that is too long");
    }
    std::copy(line.begin(), line.end(), room.data() + bytes);
    bytes += line.size();
    return line.size();
  };
  take_line();
  while (take_line() > body_columns) {  // including its line feed
  }
  try {
    std::string_view rest = libcrypto::text_of(Bytes(room).first(bytes));
    const Stanza stanza = take_stanza(rest);
    Message message;
    for (const std::string_view word : stanza.split_arguments()) {
      message.words.emplace_back(word);
    }
    message.body = SecretBytes(stanza.body_bytes());
    if (!stanza.decode_body(message.body)) {
      throw failed("does not keep to the protocol");
    }
    return message;
  } catch (const Error&) {
    throw failed("does not keep to the protocol");
  }
}

}  // namespace paes::age
