// SPDX-License-Identifier: Apache-2.0
// The programs that `paes-bench file` compares, each with its fastest settings for the job, and
// their command lines in the form that a person would type.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paes-bench/child.hpp"
#include "paes-bench/place.hpp"

namespace paes::cli {

struct Tool {
  std::string name;
  std::string version;
  // "{in}" and "{out}" stand for files. Empty if the tool has no such operation.
  std::vector<std::string> encrypt;
  std::vector<std::string> decrypt;
  std::vector<std::string> verify;          // reads only
  std::vector<std::string> encrypt_stream;  // from standard input to standard output
};

// The named ones of age, openssl and gpg, or all that are installed. Throws Error(usage) for other
// names, and for one that is not installed.
[[nodiscard]] std::vector<std::string> choose_tools(
    const std::optional<std::vector<std::string>>& names);

// paes and the chosen tools, ready to run. Keys and passphrases are made in `scratch`.
class Tools {
 public:
  Tools(const ScratchFolder& scratch, const std::vector<std::string>& against, unsigned threads,
        const std::string& device);
  ~Tools();
  Tools(const Tools&) = delete;
  Tools& operator=(const Tools&) = delete;

  [[nodiscard]] const std::vector<Tool>& ciphers() const noexcept { return ciphers_; }
  [[nodiscard]] static Child child(const std::vector<std::string>& arguments, const std::string& in,
                                   const std::string& out);
  // Without the scratch folder, the path of paes, and keys.
  [[nodiscard]] std::string as_typed(const std::vector<Child>& pipe) const;

 private:
  void add_paes(unsigned threads, const std::string& device);
  void add_age();
  void add_openssl();
  void add_gpg();
  [[nodiscard]] std::string version_of(const std::vector<std::string>& arguments) const;

  const ScratchFolder& scratch_;
  std::string paes_;  // the program beside this one
  std::string recipient_;
  std::vector<std::pair<std::string, std::string>> shown_as_;  // text, and what is shown for it
  std::vector<Tool> ciphers_;
  std::unique_ptr<const ScratchFolder> gpg_home_;
};

}  // namespace paes::cli
