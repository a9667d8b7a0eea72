// SPDX-License-Identifier: Apache-2.0
// A key that its owner keeps, in a key manager for example, in place of recipients. The file is
// then a payload alone (Cobblestone), which the library and the Python package open with the same
// key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/secret_source.hpp"

namespace paes::cli {

struct OwnKey {
  SecretBytes key;                    // 16 or 32 bytes
  std::vector<std::uint8_t> context;  // public; part of what the key is for
};

class OwnKeyOptions {
 public:
  // `prefix` precedes the names of the options: empty, or "new-".
  void declare(CLI::App& app, const std::string& prefix = "");

  [[nodiscard]] bool is_given() const { return source_.is_given(); }
  [[nodiscard]] unsigned standard_input_uses() const { return source_.standard_input_uses(); }
  // With -f an output of that name would replace the key. Throws Error(usage).
  void refuse_as_output(const stream::FilePlace& output) const;
  // Throws Error(usage) if something is said of a key and none is given, and if there are other
  // keys beside it.
  void check(bool has_others) const;
  // Throws Error(usage) for what is no key of its encoding, and does not show it.
  [[nodiscard]] OwnKey read() const;
  // What the owner calls the key, as the member "key_id" of a document.
  void add_id(nlohmann::ordered_json& document) const;

 private:
  [[nodiscard]] std::string option(const std::string& name) const { return "--" + prefix_ + name; }

  std::string prefix_;
  SecretSource source_;
  std::string encoding_ = "raw";
  std::string context_;
  std::string id_;
};

}  // namespace paes::cli
