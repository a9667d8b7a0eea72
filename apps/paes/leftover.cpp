#include "paes/leftover.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "paes/report.hpp"

namespace paes::cli {

std::string leftover_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(file, error);
  return (error ? file : real.string()) + ".rekey";
}

bool has_leftover(const std::string& file) {
  struct stat status = {};
  return file != "-" && lstat(leftover_path(file).c_str(), &status) == 0;
}

std::string leftover_hint(const std::string& file) {
  return "'paes rekey --restore -i IDENTITY " + file + "' puts the old recipients back";
}

void warn_of_leftover(const std::string& file) {
  if (has_leftover(file)) {
    print_warning(file + ": a change of its recipients was interrupted, and " +
                  leftover_path(file) + " keeps the old ones");
    print_hint(leftover_hint(file));
  }
}

}  // namespace paes::cli
