#include "paes/leftover.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "paes/report.hpp"

namespace paes::cli {

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
  return "its recipients were being changed; 'paes rekey --restore -i IDENTITY " + file +
         "' puts the old ones back";
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
