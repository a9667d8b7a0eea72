// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/tools.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/secret.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using Arguments = std::vector<std::string>;

std::string random_hex(std::size_t bytes) {
  std::vector<std::uint8_t> random(bytes);
  random_bytes(random);
  std::string text;
  for (const std::uint8_t byte : random) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

// Finds "# public key: age1..." in a key file.
std::string public_key_in(const std::string& path) {
  std::ifstream file(path);
  const std::string before = "# public key: ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(before)) {
      return line.substr(before.size());
    }
  }
  throw Error(ErrorCode::failure, path + ": no public key in it");
}

}  // namespace

std::vector<std::string> choose_tools(const std::optional<std::vector<std::string>>& names) {
  const std::vector<std::string> known = {"age", "openssl", "gpg"};
  std::vector<std::string> chosen;
  for (const std::string& name : names.value_or(known)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorCode::usage, "--against: unknown name '" + name + "'",
                  "there is: age, openssl, gpg");
    }
    if (is_installed(name)) {
      chosen.push_back(name);
    } else if (names) {
      throw Error(ErrorCode::usage, "--against: " + name + " is not installed");
    }
  }
  return chosen;
}

Tools::Tools(const ScratchFolder& scratch, const std::vector<std::string>& against,
             unsigned threads, const std::string& device)
    : scratch_(scratch),
      paes_(std::filesystem::read_symlink("/proc/self/exe").replace_filename("paes")) {
  const std::string key_file = scratch.path("key.txt");
  const Child keygen[] = {{{paes_, "keygen", "-o", key_file}}};
  (void)run_children(keygen, scratch.path("messages"));
  recipient_ = public_key_in(key_file);
  shown_as_ = {{scratch.folder() + "/", ""}, {paes_, "paes"}, {recipient_, "age1..."}};
  add_paes(threads, device);
  for (const std::string& name : against) {
    name == "age" ? add_age() : name == "openssl" ? add_openssl() : add_gpg();
  }
}

Tools::~Tools() {
  // gpg leaves an agent behind for its key folder, and that folder is about to be removed.
  if (gpg_home_ != nullptr && is_installed("gpgconf")) {
    const Child stop[] = {{{"gpgconf", "--homedir", gpg_home_->folder(), "--kill", "all"}}};
    try {
      (void)run_children(stop, gpg_home_->path("messages"));
    } catch (const Error&) {
      // It ends by itself when its folder is gone.
    }
  }
}

void Tools::add_paes(unsigned threads, const std::string& device) {
  const Arguments settings = {"-q", "-T", std::to_string(threads), "--device", device};
  const std::string key_file = scratch_.path("key.txt");
  ciphers_.push_back(
      {.name = "paes",
       .version = version_of({paes_, "--version"}),
       .encrypt =
           joined(joined({paes_, "encrypt"}, settings), {"-r", recipient_, "-o", "{out}", "{in}"}),
       .decrypt =
           joined(joined({paes_, "decrypt"}, settings), {"-i", key_file, "-o", "{out}", "{in}"}),
       .verify = joined(joined({paes_, "verify"}, settings), {"-i", key_file, "{in}"}),
       .encrypt_stream = joined(joined({paes_, "encrypt"}, settings), {"-r", recipient_})});
}

void Tools::add_age() {
  ciphers_.push_back(
      {.name = "age",
       .version = version_of({"age", "--version"}),
       .encrypt = {"age", "-r", recipient_, "-o", "{out}", "{in}"},
       .decrypt = {"age", "-d", "-i", scratch_.path("key.txt"), "-o", "{out}", "{in}"},
       .verify = {},
       .encrypt_stream = {"age", "-r", recipient_}});
}

void Tools::add_openssl() {
  // A key made only for this run, for data made only for this run: others may see it.
  const std::string key = random_hex(32);
  const std::string iv = random_hex(16);
  shown_as_.emplace_back(key, "KEY");
  shown_as_.emplace_back(iv, "IV");
  const Arguments cipher = {"openssl", "enc", "-aes-256-ctr", "-K", key, "-iv", iv};
  ciphers_.push_back({.name = "openssl",
                      .version = version_of({"openssl", "version"}),
                      .encrypt = joined(cipher, {"-in", "{in}", "-out", "{out}"}),
                      .decrypt = joined(cipher, {"-d", "-in", "{in}", "-out", "{out}"}),
                      .verify = {},
                      .encrypt_stream = cipher});
}

void Tools::add_gpg() {
  // Its agent's socket lies there, and a socket's path has at most 107 bytes.
  gpg_home_ = std::make_unique<ScratchFolder>("/tmp");
  const std::string& home = gpg_home_->folder();
  shown_as_.emplace_back(home, "HOME");
  write_text_file(scratch_.path("passphrase"), random_hex(16) + "\n");
  const Arguments gpg = {"gpg",      "--homedir",         home,
                         "--batch",  "--quiet",           "--pinentry-mode",
                         "loopback", "--passphrase-file", scratch_.path("passphrase")};
  const Arguments encrypt = {"--symmetric", "--cipher-algo", "AES256", "--compress-algo", "none"};
  ciphers_.push_back({.name = "gpg",
                      .version = version_of({"gpg", "--version"}),
                      .encrypt = joined(joined(gpg, encrypt), {"-o", "{out}", "{in}"}),
                      .decrypt = joined(gpg, {"-o", "{out}", "--decrypt", "{in}"}),
                      .verify = {},
                      .encrypt_stream = joined(gpg, encrypt)});
}

std::string Tools::version_of(const Arguments& arguments) const {
  const Child ask[] = {{arguments, "", scratch_.path("version")}};
  (void)run_children(ask, scratch_.path("messages"));
  return first_line_of(scratch_.path("version"));
}

Child Tools::child(const Arguments& arguments, const std::string& in, const std::string& out) {
  Child child;
  for (std::string argument : arguments) {
    replace_all(argument, "{in}", in);
    replace_all(argument, "{out}", out);
    child.arguments.push_back(std::move(argument));
  }
  return child;
}

std::string Tools::as_typed(const std::vector<Child>& pipe) const {
  std::string line;
  for (const Child& program : pipe) {
    line += line.empty() ? "" : " | ";
    for (std::size_t i = 0; i < program.arguments.size(); ++i) {
      line += (i == 0 ? "" : " ") + program.arguments[i];
    }
  }
  if (pipe.back().output.empty() && pipe.back().arguments.front() == "cat") {
    line += " >/dev/null";
  }
  for (const auto& [text, shown] : shown_as_) {
    replace_all(line, text, shown);
  }
  return line;
}

}  // namespace paes::cli
