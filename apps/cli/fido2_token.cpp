// SPDX-License-Identifier: Apache-2.0
#include "cli/fido2_token.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "cli/help_page.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/children.hpp"
#include "core/descriptor.hpp"
#include "encoding/encodings.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* makes_credentials = "fido2-cred";
constexpr const char* computes_secrets = "fido2-assert";
constexpr std::string_view relying_party = "gocryptfs";
// Both programs answer in lines, and the fifth is the one that counts.
constexpr std::size_t line_of_result = 4;
constexpr std::size_t max_answer_bytes = std::size_t{16} << 10;  // fido2-cred adds certificates
constexpr std::size_t max_complaint_bytes = 4096;
constexpr std::size_t max_user_name_bytes = 64;  // that every token takes
constexpr std::size_t min_secret_bytes = 32;
constexpr std::size_t max_secret_bytes = 64;  // for a salt of 64 bytes
constexpr std::size_t challenge_bytes = 32;
// Whoever types a PIN may be slow; a program that hangs must not keep a service for ever.
constexpr auto time_to_answer = std::chrono::minutes(5);
// For a program that has switched the terminal's echo off, to switch it on again.
constexpr auto time_to_end = std::chrono::seconds(1);

Error failed(const std::string& program, const std::string& why) {
  return {ErrorCode::failure, program + ": " + why,
          "`fido2-token -L` lists the devices of tokens, and `fido2-token -I DEVICE` tells whether "
          "one has the extension hmac-secret"};
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw_errno("pipe");
    }
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  Descriptor reading;
  Descriptor writing;
};

// One run of one of the two programs.
class TokenProgram {
 public:
  TokenProgram(std::string name, std::vector<std::string> arguments);
  // Ends it, if it still runs.
  ~TokenProgram();
  TokenProgram(const TokenProgram&) = delete;
  TokenProgram& operator=(const TokenProgram&) = delete;

  // All that it prints for a request of a few lines. Throws unless it ends well.
  [[nodiscard]] SecretBytes answer(const std::string& request);

 private:
  // Waits for one of the events, of which the last is its own. Throws when the time is up, or once
  // paes is asked to stop.
  void wait(std::array<pollfd, 3>& events) const;
  void keep_complaint();
  void check_end();  // throws unless it ends well

  std::string name_;
  Pipe input_;
  Pipe output_;
  Pipe complaints_;
  pid_t process_ = -1;
  const Clock::time_point deadline_ = Clock::now() + time_to_answer;
  std::string complaint_;  // the end of what it prints on standard error
};

TokenProgram::TokenProgram(std::string name, std::vector<std::string> arguments)
    : name_(std::move(name)) {
  const std::string file = find_program(name_);
  if (file.empty()) {
    throw Error(ErrorCode::failure, name_ + ": there is no such program on the path",
                "it belongs to libfido2 (Debian package fido2-tools)");
  }
  SpawnOptions options;
  posix_spawn_file_actions_adddup2(&options.actions, input_.reading.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&options.actions, output_.writing.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&options.actions, complaints_.writing.number(), STDERR_FILENO);
  close_from(options.actions, STDERR_FILENO + 1);
  give_own_signals(options.attributes);
  arguments.insert(arguments.begin(), name_);
  std::vector<char*> pointers(arguments.size() + 1);  // and a null at the end
  std::transform(arguments.begin(), arguments.end(), pointers.begin(),
                 [](std::string& argument) { return argument.data(); });
  const int error = posix_spawn(&process_, file.c_str(), &options.actions, &options.attributes,
                                pointers.data(), environ);
  if (error != 0) {
    process_ = -1;
    errno = error;
    throw_errno(file);
  }
  input_.reading = Descriptor();
  output_.writing = Descriptor();
  complaints_.writing = Descriptor();
}

TokenProgram::~TokenProgram() {
  if (process_ < 0) {
    return;
  }
  (void)kill(process_, SIGTERM);
  const auto deadline = Clock::now() + time_to_end;
  int status = 0;
  while (waitpid(process_, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) {
      (void)kill(process_, SIGKILL);
      (void)wait_for_child(process_);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void TokenProgram::wait(std::array<pollfd, 3>& events) const {
  events.back() = {cancel().descriptor(), POLLIN, 0};
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  const int ready = left <= 0 ? 0 : poll(events.data(), events.size(), static_cast<int>(left));
  cancel().check();
  if (ready == 0) {
    throw failed(name_, "has not answered for five minutes");
  }
  if (ready < 0) {
    if (errno != EINTR) {
      throw_errno(name_);
    }
    std::for_each(events.begin(), events.end(), [](pollfd& event) { event.revents = 0; });
  }
}

// The last bytes: libraries may complain of other things first.
void TokenProgram::keep_complaint() {
  std::array<char, max_complaint_bytes> room;
  const ssize_t got = read(complaints_.reading.number(), room.data(), room.size());
  if (got <= 0) {
    complaints_.reading = Descriptor();
    return;
  }
  complaint_.append(room.data(), static_cast<std::size_t>(got));
  if (complaint_.size() > max_complaint_bytes) {
    complaint_.erase(0, complaint_.size() - max_complaint_bytes);
  }
}

SecretBytes TokenProgram::answer(const std::string& request) {
  // A pipe holds a whole request. One that has already ended says by its status why.
  if (write(input_.writing.number(), request.data(), request.size()) < 0 && errno != EPIPE) {
    throw_errno(name_);
  }
  input_.writing = Descriptor();
  SecretBytes answer(max_answer_bytes);
  std::size_t filled = 0;
  while (output_.reading.is_open() || complaints_.reading.is_open()) {
    std::array<pollfd, 3> events = {
        {{output_.reading.number(), POLLIN, 0}, {complaints_.reading.number(), POLLIN, 0}, {}}};
    wait(events);
    if (events[1].revents != 0) {
      keep_complaint();
    }
    if (events[0].revents != 0) {
      if (filled == answer.size()) {
        throw failed(name_, "says more than it is asked for");
      }
      const ssize_t got =
          read(output_.reading.number(), answer.data() + filled, answer.size() - filled);
      if (got <= 0) {
        output_.reading = Descriptor();
      }
      filled += static_cast<std::size_t>(std::max(got, ssize_t{0}));
    }
  }
  check_end();
  answer.truncate(filled);
  return answer;
}

void TokenProgram::check_end() {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(process_, &status, WNOHANG)) == 0) {
    cancel().check();
    if (Clock::now() > deadline_) {
      throw failed(name_, "has answered, but does not end");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process_ = -1;
  if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return;
  }
  if (ended > 0 && WIFSIGNALED(status)) {
    throw failed(name_, "was killed by signal " + std::to_string(WTERMSIG(status)));
  }
  std::string_view last = complaint_;
  last = last.substr(0, last.find_last_not_of('\n') + 1);
  last.remove_prefix(last.rfind('\n') + 1);
  if (last.starts_with(name_ + ": ")) {
    last.remove_prefix(name_.size() + 2);
  }
  throw failed(name_, last.empty() ? "has failed" : "has failed: " + printable(last));
}

std::string base64_of(Bytes data) {
  std::string text;
  base64::append_public(data, text);
  return text;
}

std::string random_base64() {
  std::array<std::uint8_t, challenge_bytes> bytes{};
  random_bytes(bytes);
  return base64_of(bytes);
}

// Empty if there is no such line.
std::string_view result_of(const SecretBytes& answer) {
  std::string_view rest(reinterpret_cast<const char*>(answer.data()), answer.size());
  for (std::size_t line = 0; line < line_of_result; ++line) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

// The request is made of lines, and a token shows the name.
std::string user_name(std::string_view vault_name) {
  const bool is_plain = std::all_of(vault_name.begin(), vault_name.end(),
                                    [](char c) { return c >= ' ' && c <= '~'; });
  return vault_name.empty() || vault_name.size() > max_user_name_bytes || !is_plain
             ? "vault"
             : std::string(vault_name);
}

}  // namespace

void Fido2Token::declare(CLI::App& app) {
  const OptionGroup keys(app, keys_group);
  app.add_option("--fido2", device_, "the device of a FIDO2 token, in place of a passphrase")
      ->type_name("DEVICE");
}

SecretBytes Fido2Token::ask(const char* program, std::vector<std::string> options,
                            const std::string& request) const {
  const std::string device = device_.value_or("");
  refuse(device.empty() || device.starts_with('-'), "--fido2: '" + device + "' is no device",
         "`fido2-token -L` lists the devices of tokens");
  refuse_zero_byte(device);
  if (isatty(STDERR_FILENO) == 1) {
    print_note("paes: " + printable(device) + ": touch the token when it blinks");
  }
  options.push_back(device);
  return TokenProgram(program, std::move(options)).answer(request);
}

vault::Fido2Credential Fido2Token::make_credential(std::string_view vault_name,
                                                   std::vector<std::string> assert_options) const {
  const SecretBytes answer = ask(makes_credentials, {"-M", "-h"},
                                 random_base64() + "\n" + std::string(relying_party) + "\n" +
                                     user_name(vault_name) + "\n" + random_base64() + "\n");
  vault::Fido2Credential credential;
  const std::string_view text = result_of(answer);
  if (text.empty() || text.size() % 4 != 0 || !base64::append_decoded_public(text, credential.id) ||
      credential.id.size() > vault::max_fido2_credential_bytes) {
    throw failed(makes_credentials, "its answer holds no credential");
  }
  credential.salt.resize(vault::fido2_salt_bytes);
  random_bytes(credential.salt);
  credential.assert_options = std::move(assert_options);
  return credential;
}

SecretBytes Fido2Token::secret(const vault::Fido2Credential& credential) const {
  std::vector<std::string> options = {"-G", "-h"};
  for (const std::string& option : credential.assert_options) {
    options.insert(options.end(), {"-t", option});
  }
  const SecretBytes answer =
      ask(computes_secrets, std::move(options),
          random_base64() + "\n" + std::string(relying_party) + "\n" + base64_of(credential.id) +
              "\n" + base64_of(credential.salt) + "\n");
  std::string_view text = result_of(answer);
  const std::size_t bytes = base64::decoded_bytes(text);
  if (bytes < min_secret_bytes || bytes > max_secret_bytes) {
    throw failed(computes_secrets, "its answer holds no secret of 32 to 64 bytes");
  }
  SecretBytes secret(bytes);
  const bool is_padded = text.size() % 4 == 0;
  text = text.substr(0, base64::text_length(bytes));
  if (!is_padded || !base64::decode(text, secret)) {
    throw failed(computes_secrets, "its answer is not Base 64");
  }
  if (equal_constant_time(secret, SecretBytes(bytes))) {
    throw failed(computes_secrets, "the secret is all zeros, which protects nothing");
  }
  return secret;
}

}  // namespace paes::cli
