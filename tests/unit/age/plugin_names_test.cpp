// SPDX-License-Identifier: Apache-2.0
// Which characters the name of a plugin may have: it becomes the name of a program.
#include <gtest/gtest.h>

#include <string>

#include "age/plugin.hpp"
#include "paes/error.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

TEST(PluginNames, HaveLettersDigitsAndAFewSigns) {
  const std::string allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
  for (int c = 1; c < 256; ++c) {
    const auto letter = static_cast<char>(c);
    const std::string name = std::string("a") + letter;
    if (allowed.find(letter) != std::string::npos) {
      EXPECT_NO_THROW((void)plugin_identity_without_data(name, {})) << name;
    } else {
      EXPECT_EQ(
          test::refusal(ErrorCode::usage, [&] { (void)plugin_identity_without_data(name, {}); }),
          "plugin '" + name + "': is not the name of a plugin")
          << c;
    }
  }
  EXPECT_THROW((void)plugin_identity_without_data("", {}), Error);
  EXPECT_THROW((void)plugin_identity_without_data(std::string(1, '\0'), {}), Error);
}

}  // namespace
}  // namespace paes::age
