// SPDX-License-Identifier: Apache-2.0
// Where a secret comes from that a user keeps in a file or hands over in an open descriptor.
#pragma once

#include <optional>
#include <string>

#include "core/secret.hpp"
#include "stream/file/file_place.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

class SecretSource {
 public:
  // Declares --NAME-file and --NAME-fd, of which only one may be given. `in_file` and
  // `in_descriptor` are their help.
  void declare(CLI::App& app, const std::string& name, const std::string& in_file,
               const std::string& in_descriptor);

  // As --NAME-file would.
  void use_file(const std::string& path) { file_ = path; }
  [[nodiscard]] bool is_given() const { return !file_.empty() || descriptor_.has_value(); }
  // What messages call it.
  [[nodiscard]] std::string name() const;
  // 0 or 1.
  [[nodiscard]] unsigned standard_input_uses() const;
  // With -f an output of that name would replace the secret, which `what` names. Throws
  // Error(usage).
  void refuse_as_output(const stream::FilePlace& output, const char* what) const;

  // All of it. Throws as stream::read_small_file does.
  [[nodiscard]] SecretBytes read(std::size_t max_bytes) const;

 private:
  std::string file_;
  std::optional<int> descriptor_;
};

}  // namespace paes::cli
