// SPDX-License-Identifier: Apache-2.0
// A file that another program wrote as Base 64 (RFC 4648, section 4), such as `openssl enc -a`: one
// long line, or lines of any length that end with LF, CR or both. It may contain nothing else. It
// holds ciphertext, so looking characters up in tables is safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace paes {

// Turns the text into the file, in pieces of any size. Throws Error(corrupt) "Base 64: WHY".
class Base64Reader {
 public:
  // Appends to `file` the bytes of the text's whole groups.
  void add(Bytes text, std::vector<std::uint8_t>& file);
  // Ends the text. Some readers then append a last line to `file`; this one has nothing left.
  void end(std::vector<std::uint8_t>& file);

 private:
  void take_symbols(std::string_view symbols, std::vector<std::uint8_t>& file);
  void decode(std::string_view groups, std::vector<std::uint8_t>& file);

  std::string partial_;  // a group that is not complete yet
  bool is_padded_ = false;
};

}  // namespace paes
