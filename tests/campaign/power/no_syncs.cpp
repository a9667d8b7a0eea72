// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program that then promises too much: some of its syncs succeed and do nothing.
// NO_SYNCS says which: those of "files", of "folders", or those of files until the program ends
// ("late").
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace {

using Sync = int (*)(int);

std::string_view left_out() {
  const char* const word = std::getenv("NO_SYNCS");
  return word != nullptr ? word : "";
}

Sync real(const char* name) { return reinterpret_cast<Sync>(dlsym(RTLD_NEXT, name)); }

std::atomic<int> to_sync_late = -1;

int sync_unless_left_out(const char* name, int file, bool is_whole) {
  struct stat status = {};
  const bool is_folder = !is_whole && fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  const std::string_view what = left_out();
  if (is_folder ? what != "folders" : what != "files" && what != "late") {
    return real(name)(file);
  }
  if (int none = -1; what == "late" && to_sync_late == none) {
    to_sync_late.compare_exchange_strong(none, dup(file));
  }
  return 0;
}

__attribute__((destructor)) void sync_late() {
  if (to_sync_late >= 0) {
    (void)real("syncfs")(to_sync_late);
  }
}

}  // namespace

extern "C" {
int fsync(int file) { return sync_unless_left_out("fsync", file, false); }
int fdatasync(int file) { return sync_unless_left_out("fdatasync", file, false); }
int syncfs(int file) noexcept { return sync_unless_left_out("syncfs", file, true); }
}
