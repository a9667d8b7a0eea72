// SPDX-License-Identifier: Apache-2.0
// A file that another program wrote as Base 64 (RFC 4648, section 4), such as `openssl enc -a`:
// lines of any length, which LF, CR or both may end, or one long line. Nothing else may stand in
// it. What goes through it is ciphertext, so it looks characters up in tables.
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
  // Appends to `file` what the text's whole groups hold.
  void add(Bytes text, std::vector<std::uint8_t>& file);
  // The text ends here. A reader whose last line needs no line end appends that line to `file`;
  // this one has nothing left.
  void end(std::vector<std::uint8_t>& file);

 private:
  void take_symbols(std::string_view symbols, std::vector<std::uint8_t>& file);
  void decode(std::string_view groups, std::vector<std::uint8_t>& file);

  std::string partial_;  // a group whose end has not come yet
  bool is_padded_ = false;
};

}  // namespace paes
