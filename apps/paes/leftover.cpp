#include "paes/leftover.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string_view>

#include "paes/report.hpp"

namespace paes::cli {

namespace {

// As a shell wants it: the hint is there to be copied, and a name may be hostile.
std::string quoted(const std::string& name) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+=-";
  std::string text;
  for (const char c : name) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  if (text.find_first_not_of(plain) != std::string::npos) {
    text = "'" + text + "'";
  }
  return name.starts_with('-') ? "-- " + text : text;
}

}  // namespace

std::string leftover_path(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_symlink(file, error)) {
    const std::filesystem::path real = std::filesystem::canonical(file, error);
    return (error ? file : real.string()) + ".rekey";
  }
  return file + ".rekey";
}

bool has_leftover(const std::string& file) {
  struct stat status = {};
  return file != "-" && lstat(leftover_path(file).c_str(), &status) == 0;
}

std::string leftover_hint(const std::string& file) {
  return "its recipients were being changed; to put the old ones back: paes rekey --restore -i "
         "IDENTITY " +
         quoted(file);
}

void warn_of_leftover(const std::string& file) {
  if (has_leftover(file)) {
    print_warning(file + ": an interrupted rekey left " + leftover_path(file));
    print_hint(leftover_hint(file));
  }
}

Error with_leftover_hint(const std::string& file, const Error& error) {
  return has_leftover(file) ? Error(error.code, error.what(), leftover_hint(file)) : error;
}

}  // namespace paes::cli
