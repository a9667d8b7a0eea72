// SPDX-License-Identifier: Apache-2.0
// Reads NIST's response files (CAVP, *.rsp): "NAME = VALUE" lines, a lone word such as FAIL,
// headings in brackets of which [ENCRYPT] and [DECRYPT] matter here. A case begins at its COUNT and
// ends at an empty line, a heading or the next COUNT. Names come out in upper case, values in lower
// case, because the files do not agree on either.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "hex.hpp"

namespace paes::test {

struct RspCase {
  bool decrypts = false;
  std::map<std::string, std::string> fields;

  [[nodiscard]] bool has(const std::string& name) const { return fields.contains(name); }
  [[nodiscard]] const std::string& at(const std::string& name) const { return fields.at(name); }
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& name) const {
    return from_hex(fields.at(name));
  }
};

template <typename Fn>
void for_each_rsp_case(const std::filesystem::path& path, Fn&& fn) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read " + path.string());
  }
  RspCase read;
  const auto finish = [&] {
    if (read.has("COUNT")) {
      fn(std::as_const(read));
    }
    read.fields.clear();
  };
  const auto cased = [](std::string text, int (*change)(int)) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [change](unsigned char letter) { return static_cast<char>(change(letter)); });
    return text;
  };
  std::string line;
  while (std::getline(file, line)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.pop_back();
    }
    if (line.empty()) {
      finish();
    } else if (line[0] == '[') {
      finish();
      read.decrypts = line == "[DECRYPT]";
    } else if (line[0] != '#') {
      const std::size_t equals = line.find(" =");
      const std::size_t value =
          std::min(line.size(), equals == std::string::npos ? equals : equals + 3);
      const std::string name = cased(line.substr(0, equals), std::toupper);
      if (name == "COUNT") {
        finish();
      }
      read.fields[name] = cased(line.substr(value), std::tolower);
    }
  }
  finish();
}

}  // namespace paes::test
