// SPDX-License-Identifier: Apache-2.0
#include "volume/check/fsck_report.hpp"

#include <cerrno>

namespace paes::volume {

bool is_refusal(Errno error) noexcept { return error.is(EACCES, EPERM, ENOMEM, EMFILE, ENFILE); }

std::string FsckReport::with_reason(std::string_view what, Errno error) {
  return std::string(what) + ": " + error.message();
}

void FsckReport::tell(std::atomic<std::uint64_t>& counter,
                      const std::function<void(const Finding&)>& told, const Finding& finding) {
  counter.fetch_add(1);
  const std::lock_guard lock(telling_);
  if (told) {
    told(finding);
  }
}

void FsckReport::damaged(const Finding& finding) {
  tell(counters_.damaged, watch_.damaged, finding);
}

void FsckReport::leftover(const Finding& finding) {
  tell(counters_.leftovers, watch_.leftover, finding);
}

void FsckReport::unread(const Finding& finding) { tell(counters_.unread, watch_.unread, finding); }

void FsckReport::refused(std::string_view path, const char* what, Errno error) {
  // ENOENT: it has been removed in the meantime.
  if (error.is(EIO, ENOENT)) {
    return;
  }
  const Finding finding{std::string(path), with_reason(what, error)};
  if (is_refusal(error)) {
    unread(finding);
  } else {
    damaged(finding);
  }
}

void FsckReport::progress(std::uint64_t bytes) {
  if (watch_.done_bytes != nullptr) {
    watch_.done_bytes->fetch_add(bytes);
  }
}

FsckCounts FsckReport::counts() const {
  return {counters_.folders,    counters_.files,   counters_.links,     counters_.others,
          counters_.text_bytes, counters_.damaged, counters_.leftovers, counters_.unread};
}

}  // namespace paes::volume
