// SPDX-License-Identifier: Apache-2.0
// Base 64 in lines, in pieces of any size, and what is refused.
#include "encoding/base64_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "refusal.hpp"

namespace paes {
namespace {

using File = std::vector<std::uint8_t>;

File read(std::string_view text, std::size_t piece) {
  File file;
  Base64Reader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.add(libcrypto::bytes_of(text.substr(at, piece)), file);
  }
  reader.end(file);
  return file;
}

std::string in_lines(std::string_view text, std::size_t columns, std::string_view line_end) {
  std::string lines;
  for (std::size_t at = 0; at < text.size(); at += columns) {
    lines.append(text.substr(at, columns)).append(line_end);
  }
  return lines;
}

TEST(Base64Reader, LinesOfAnyLengthInPiecesOfAnySize) {
  for (const std::size_t bytes : {0U, 1U, 2U, 3U, 47U, 48U, 49U, 1000U}) {
    File file(bytes);
    std::generate(file.begin(), file.end(), [i = 0U]() mutable { return 37 * i++ & 255; });
    std::string text;
    base64::append_public(file, text);
    const std::string texts[] = {text, in_lines(text, 64, "\n"), in_lines(text, 76, "\r\n"),
                                 "\n\r\n" + in_lines(text, 5, "\r") + "\n\n"};
    for (const std::string& one : texts) {
      for (const std::size_t piece : {1U, 3U, 4U, 63U, 64U, 65U, 10000U}) {
        EXPECT_EQ(read(one, piece), file) << one;
      }
    }
  }
}

TEST(Base64Reader, AnythingElseIsRefused) {
  const std::pair<std::string_view, std::string_view> texts[] = {
      {"Z", "within a group"},        {"Zm9vZg", "within a group"},  {"Zg=", "within a group"},
      {"Zh==", "canonical"},          {"Z===", "canonical"},         {"Zm9v Zm9v", "canonical"},
      {"Zm9v\tZm9v\n", "canonical"},  {"Zm-v", "canonical"},         {"Zm9v\x80m9v", "canonical"},
      {"Zg==\nZm9v", "its padding"},  {"Zg==\nZg==", "its padding"}, {"====", "canonical"},
      {"-----BEGIN AGE", "canonical"}};
  for (const auto& [text, why] : texts) {
    for (const std::size_t piece : {4U, 10000U}) {
      const std::string said =
          test::refusal(ErrorCode::corrupt, [&, part = text] { (void)read(part, piece); });
      EXPECT_TRUE(said.starts_with("Base 64: ")) << said;
      EXPECT_NE(said.find(why), std::string::npos) << text << ": " << said;
    }
  }
}

}  // namespace
}  // namespace paes
