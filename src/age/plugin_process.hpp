// SPDX-License-Identifier: Apache-2.0
// A running plugin, and the stanzas to and from it (c2sp.org/age-plugin, "IPC protocol").
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "age/stanza.hpp"
#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "crypto/derivation.hpp"

namespace paes::age {

// What a plugin says.
struct Message {
  std::vector<std::string> words;  // the command first
  SecretBytes body;

  [[nodiscard]] const std::string& command() const { return words.front(); }
  [[nodiscard]] std::string text() const;  // the body, without control characters
};

class PluginProcess {
 public:
  // Starts age-plugin-NAME, found on the path, with `--age-plugin=MACHINE`. Its standard error is
  // discarded. `wait` may throw to give up; it must outlive this. Throws Error(failure) in one line
  // if there is no such program.
  PluginProcess(std::string_view name, const char* machine, const WaitReady& wait);
  // Closes the plugin's input, and kills it after a second, or a fifth of that if `wait` has
  // thrown.
  ~PluginProcess();
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // `arguments` begins with the command. Both throw Error(failure) if the plugin has ended or
  // violates the protocol, also by a stanza above 64 KiB or endless messages.
  void send(std::string_view arguments, Bytes body = {});
  [[nodiscard]] Message receive();

  [[nodiscard]] Error failed(const std::string& why) const;

 private:
  [[nodiscard]] std::string read_line();
  void wait_for(short events);

  std::string name_;
  const WaitReady& wait_;
  Descriptor socket_;
  pid_t process_ = -1;
  bool is_given_up_ = false;
  SecretBytes read_;  // received, but not taken yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t messages_ = 0;  // received so far
};

}  // namespace paes::age
