// SPDX-License-Identifier: Apache-2.0
#include "vault/unfinished_names.hpp"

#include <array>
#include <cstdio>

#include "core/secret.hpp"
#include "vault/names.hpp"

namespace paes::vault {

namespace {

// No hash in Base 64 has the length of what follows here.
constexpr std::string_view unfinished_mark = "paes-";
constexpr std::string_view plain_prefix = ".paes-put-";
constexpr std::size_t digits = 16;

std::string random_digits() {
  std::array<std::uint8_t, digits / 2> random{};
  random_bytes(random);
  std::array<char, digits + 1> text;
  (void)std::snprintf(text.data(), text.size(), "%016llx",
                      static_cast<unsigned long long>(load_be64(random.data())));
  return text.data();
}

}  // namespace

std::string new_unfinished_name(bool has_plain_names) {
  if (has_plain_names) {
    return std::string(plain_prefix) + random_digits();
  }
  std::string name(long_name_prefix);
  name += unfinished_mark;
  name += random_digits();
  name += long_name_suffix;
  return name;
}

bool is_unfinished_name(std::string_view stored, bool has_plain_names) noexcept {
  if (has_plain_names) {
    return stored.size() == plain_prefix.size() + digits && stored.starts_with(plain_prefix) &&
           stored.find_first_not_of("0123456789abcdef", plain_prefix.size()) ==
               std::string_view::npos;
  }
  constexpr std::size_t bytes =
      long_name_prefix.size() + unfinished_mark.size() + digits + long_name_suffix.size();
  return stored.size() == bytes && stored.starts_with(long_name_prefix) &&
         stored.substr(long_name_prefix.size()).starts_with(unfinished_mark) &&
         stored.ends_with(long_name_suffix);
}

}  // namespace paes::vault
