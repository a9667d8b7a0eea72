// SPDX-License-Identifier: Apache-2.0
#include "keystream/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "core/secret.hpp"

namespace paes::keystream {

std::size_t Pages::whole(std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

Pages::Pages(std::size_t bytes) : bytes_(whole(bytes)) {
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = static_cast<std::uint8_t*>(memory);
  // These three calls protect the keystream. If a system refuses one, the memory is still usable.
  (void)madvise(memory, bytes_, MADV_DONTDUMP);
  (void)madvise(memory, bytes_, MADV_WIPEONFORK);
  is_locked_ = mlock(memory, bytes_) == 0;
}

Pages::~Pages() {
  wipe(data_, bytes_);
  (void)munmap(data_, bytes_);
}

}  // namespace paes::keystream
