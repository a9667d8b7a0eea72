// `paes bench file`: what a user waits for. Whole programs, this one among them, take turns on the
// same random file in the same folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paes::cli {

struct FileBenchRequest {
  std::uint64_t file_bytes = 0;  // 0: 2 GiB, or less where there is no room
  std::string folder;            // empty: memory (/dev/shm) if it has room, else TMPDIR or /tmp
  std::optional<std::vector<std::string>> against;  // of age, openssl, gpg; unset: those installed
  unsigned runs = 5;
  unsigned threads = 0;  // for paes; 0 is all
  std::string engine = "auto";
  bool json = false;
};

// Prints its results, and removes every file it made also when interrupted. Throws Error.
void bench_files(const FileBenchRequest& request);

}  // namespace paes::cli
