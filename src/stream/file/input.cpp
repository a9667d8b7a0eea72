// SPDX-License-Identifier: Apache-2.0
#include "stream/file/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "stream/file/permissions.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

// False for a regular file that has fewer or more bytes than it says. Files under /sys say a page
// and have a line, those under /proc say nothing. Only a file that takes less room than it says is
// asked, because an ordinary one would have to be read at its end first.
bool holds_what_it_says(int descriptor, const struct stat& status) noexcept {
  constexpr off_t block_bytes = 512;
  if (status.st_blocks >= (status.st_size + block_bytes - 1) / block_bytes) {
    return true;
  }
  std::uint8_t at_end[2];
  ssize_t got = 0;
  do {
    got = pread(descriptor, at_end, sizeof at_end, status.st_size - 1);
  } while (got < 0 && errno == EINTR);
  struct stat now = {};
  const bool is_growing = got > 1 && fstat(descriptor, &now) == 0 && now.st_size != status.st_size;
  return got == 1 || got < 0 || is_growing;  // an error comes again when the file is read
}

}  // namespace

Input Input::open(const std::string& path, const Cancel* cancel) {
  refuse_zero_byte(path);
  int number = -1;
  // A FIFO makes open itself wait for a writer; a signal then ends it.
  do {
    check(cancel);
    number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  if (number < 0) {
    throw_errno(path);
  }
  Descriptor descriptor(number);
  const struct stat status = status_of(number, path);
  return {path, std::move(descriptor), status, Opened::here, cancel};
}

Input Input::standard_input(const Cancel* cancel) {
  return of(Descriptor(STDIN_FILENO, false), "standard input", cancel);
}

std::optional<Input> Input::open_regular(const FilePlace& place, const Cancel* cancel) {
  const std::string& path = place.path;
  Descriptor descriptor(openat(place.folder, place.name().c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!descriptor.is_open() && errno == ELOOP) {
    return std::nullopt;
  }
  if (!descriptor.is_open()) {
    throw_errno(path);
  }
  const struct stat status = status_of(descriptor.number(), path);
  if (!S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return Input(path, std::move(descriptor), status, Opened::here, cancel);
}

Input Input::of(Descriptor descriptor, std::string name, const Cancel* cancel) {
  const struct stat status = status_of(descriptor.number(), name);
  return {std::move(name), std::move(descriptor), status, Opened::elsewhere, cancel};
}

Input::Input(std::string name, Descriptor descriptor, const struct stat& status, Opened opened,
             const Cancel* cancel)
    : name_(std::move(name)), descriptor_(std::move(descriptor)), cancel_(cancel), opened_(status) {
  if (S_ISDIR(opened_.st_mode)) {
    throw Error(ErrorCode::failure, name_ + ": is a directory",
                "encrypt --recursive takes the files in it; tar makes one file of it");
  }
  if (is_storage()) {
    const off_t here = opened == Opened::here ? 0 : lseek(descriptor_.number(), 0, SEEK_CUR);
    const off_t end = is_regular() ? opened_.st_size : lseek(descriptor_.number(), 0, SEEK_END);
    // What says the wrong size, such as a file of size 0 that has contents (under /proc), is read
    // to its end as pipes are.
    if (here >= 0 && end > here &&
        (!is_regular() || holds_what_it_says(descriptor_.number(), opened_))) {
      if (!is_regular()) {
        (void)lseek(descriptor_.number(), here, SEEK_SET);
      }
      seekable_ = true;
      start_ = static_cast<std::uint64_t>(here);
      bytes_ = static_cast<std::uint64_t>(end - here);
      return;
    }
  }
  stop_ = std::make_unique<Cancel>();
}

std::optional<struct timespec> Input::modified() const noexcept {
  return is_regular() ? std::optional(opened_.st_mtim) : std::nullopt;
}

mode_t Input::permissions() const noexcept {
  return is_regular() ? permissions_of(descriptor_.number(), opened_) : 0666;
}

bool Input::is_terminal() const noexcept {
  return S_ISCHR(opened_.st_mode) && isatty(descriptor_.number()) == 1;
}

std::size_t Input::read(std::span<const iovec> to) const {
  VectorCursor rest(to);
  std::size_t filled = 0;
  while (!rest.is_done()) {
    if (!seekable_) {
      wait_ready(descriptor_.number(), POLLIN, cancel_, stop_.get());
    }
    check(cancel_);
    const ssize_t got = readv(descriptor_.number(), rest.data(), rest.count());
    if (got == 0) {
      break;
    }
    if (got > 0) {
      rest.advance(static_cast<std::size_t>(got));
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR && errno != EAGAIN) {
      throw_errno(name_);
    }
  }
  return filled;
}

std::size_t Input::read(MutableBytes to) const {
  const iovec one = {to.data(), to.size()};
  return read(std::span(&one, 1));
}

void Input::stop_waiting() noexcept {
  if (stop_ != nullptr) {
    stop_->request();
  }
}

std::size_t Input::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  if (!seekable_) {
    return read(to);
  }
  const std::size_t got = read_file_at(descriptor_.number(), start_ + offset, to, name_, cancel_);
  if (got != bytes_of(to)) {
    throw Error(ErrorCode::failure, name_ + ": became shorter while it was read");
  }
  return got;
}

void Input::check_same_size() const {
  if (seekable_ && is_regular()) {
    require_same_size(stamp().bytes);
  }
}

void Input::require_same_size(std::uint64_t bytes) const {
  if (bytes != start_ + bytes_) {
    throw Error(ErrorCode::failure, name_ + ": changed its size while it was read");
  }
}

void Input::check_unchanged() const {
  if (!seekable_ || !is_regular()) {
    return;
  }
  const struct stat status = status_of(descriptor_.number(), name_);
  require_same_size(static_cast<std::uint64_t>(status.st_size));
  const struct timespec now = status.st_mtim;
  if (now.tv_sec != opened_.st_mtim.tv_sec || now.tv_nsec != opened_.st_mtim.tv_nsec) {
    throw Error(ErrorCode::failure, name_ + ": changed while it was read");
  }
}

SourceStamp Input::stamp() const {
  const struct stat now = status_of(descriptor_.number(), name_);
  const auto unsigned_of = [](auto value) { return static_cast<std::uint64_t>(value); };
  return {unsigned_of(now.st_dev),          unsigned_of(now.st_ino),
          unsigned_of(now.st_size),         unsigned_of(now.st_mtim.tv_sec),
          unsigned_of(now.st_mtim.tv_nsec), unsigned_of(now.st_ctim.tv_sec),
          unsigned_of(now.st_ctim.tv_nsec)};
}

void Input::expect_sequential() const noexcept {
  constexpr std::uint64_t read_ahead_anyway = std::uint64_t{128} << 10;
  if (seekable_) {
    if (bytes_ > read_ahead_anyway) {
      (void)posix_fadvise(descriptor_.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
    }
  } else {
    enlarge_pipe(descriptor_.number());
  }
}

}  // namespace paes::stream
