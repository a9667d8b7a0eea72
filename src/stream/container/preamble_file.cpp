// SPDX-License-Identifier: Apache-2.0
#include "stream/container/preamble_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/folder.hpp"
#include "core/secret.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/temporary.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

Descriptor open_locked(const FilePlace& place) {
  const std::string& path = place.path;
  // O_NONBLOCK: opening a FIFO of that name must not hang; it is refused later.
  const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor descriptor(
      openat(place.folder, place.name().c_str(), flags | (place.has_folder() ? O_NOFOLLOW : 0)));
  if (!descriptor.is_open()) {
    throw_errno(path);
  }
  if (flock(descriptor.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw Error(ErrorCode::failure, path + ": another process is changing its recipients");
    }
    throw_errno(path);
  }
  return descriptor;
}

// A separate descriptor, even if the place has one.
Descriptor open_folder_of(const FilePlace& place) {
  const std::filesystem::path parent = std::filesystem::path(place.path).parent_path();
  const std::string name = parent.empty() ? "." : parent.string();
  Descriptor folder =
      place.has_folder() ? Descriptor(fcntl(place.folder, F_DUPFD_CLOEXEC, 0)) : open_folder(name);
  if (!folder.is_open()) {
    throw_errno(name);
  }
  return folder;
}

// FILE.rekey, or a shorter name with the same beginning (path_beside). It lies beside the file
// itself, not beside a symbolic link to it.
FilePlace leftover_place(const FilePlace& file) {
  std::error_code error;
  if (!file.has_folder() && std::filesystem::is_symlink(file.path, error)) {
    const std::filesystem::path real = std::filesystem::canonical(file.path, error);
    return path_beside(error ? file.path : real.string(), ".rekey");
  }
  return place_beside(file, ".rekey");
}

}  // namespace

std::optional<std::string> find_leftover(const FilePlace& file) {
  if (file.path == "-") {
    return std::nullopt;
  }
  const FilePlace place = leftover_place(file);
  struct stat status = {};
  return place.lstat(status) == 0 ? std::optional(place.path) : std::nullopt;
}

PreambleFile::PreambleFile(const FilePlace& place, PreambleChange change)
    : name_(place.path),
      place_(place),
      change_(std::move(change)),
      descriptor_(open_locked(place)),
      copy_(leftover_place(place)),
      folder_(open_folder_of(copy_)),
      input_(Input::of(Descriptor(fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0)), name_,
                       &change_.cancel)) {
  copy_.folder = folder_.number();
  if (!input_.is_regular()) {
    throw Error(ErrorCode::failure, name_ + ": is not a regular file");
  }
}

bool PreambleFile::has_copy() const {
  struct stat status = {};
  return copy_.lstat(status) == 0;
}

bool PreambleFile::commits_to(const container::Header& header, Bytes input_key) const {
  if (input_key.size() != container::key_bytes(header.suite)) {
    return false;
  }
  if (input_.bytes() < header.payload_offset() + cobblestone::prefix_bytes) {
    throw Error(ErrorCode::corrupt, name_ + ": ends before its payload");
  }
  const PayloadPrefix prefix = read_prefix(input_, header.payload_offset());
  const std::array<std::uint8_t, container::header_bytes> encoded = container::encode(header);
  const Secret<cobblestone::StreamKeys> keys = cobblestone::derive(
      header.suite, input_key, salt_of(prefix), Bytes(encoded).first(container::context_bytes));
  return equal_constant_time(keys->commitment, Bytes(prefix).subspan(cobblestone::salt_bytes));
}

void PreambleFile::replace(Bytes before, Bytes after) const {
  assert(before.size() == after.size());
  keep_copy(before);
  // The last chance to stop: so far only the copy has been made.
  if (change_.cancel.requested()) {
    remove_copy();
    change_.cancel.check();
  }
  write(after);
  remove_copy();
}

void PreambleFile::put_back(Bytes before) const {
  write(before);
  remove_copy();
}

Preamble PreambleFile::read_leftover() const {
  const std::string& path = copy_.path;
  if (!has_copy()) {
    throw Error(ErrorCode::failure, name_ + ": nothing to put back, there is no " + path);
  }
  const auto damaged = [&] {
    return Error(ErrorCode::corrupt, path + ": is not a whole copy that rekey made",
                 "if the file opens without it, delete it");
  };
  std::optional<Input> copy = Input::open_regular(copy_, &change_.cancel);
  if (!copy) {
    throw damaged();
  }
  try {
    Preamble preamble = read_preamble(*copy);
    if (copy->is_seekable() && copy->bytes() == preamble.bytes.size()) {
      return preamble;
    }
  } catch (const Error& error) {
    if (error.code != ErrorCode::corrupt) {
      throw;
    }
  }
  throw damaged();
}

// Output gives the copy its name only when it is complete and synced, so a half-written copy never
// exists. A crash must not take the copy away while the file holds half an envelope.
void PreambleFile::keep_copy(Bytes before) const {
  OutputOptions options;
  options.only_new = true;
  options.file = {.permissions = S_IRUSR | S_IWUSR, .must_last = true};
  options.cancel = &change_.cancel;
  options.warn = [this](const std::string& what_why) {
    change_.warn(what_why, name_ + " is whole without it: delete it");
  };
  const std::unique_ptr<Output> copy = create_output({copy_.path, folder_.number()}, options);
  change_.copy_opened(*copy);
  copy->write(before);
  copy->commit(before.size());
}

// Cannot be interrupted: between the first byte and the sync, the file may hold half an envelope.
void PreambleFile::write(Bytes preamble) const {
  const iovec all = {const_cast<std::uint8_t*>(preamble.data()), preamble.size()};
  if (!write_file_at(descriptor_.number(), 0, {&all, 1}) || fsync(descriptor_.number()) != 0) {
    const int error = errno;
    throw Error(ErrorCode::failure,
                name_ + ": its recipients could not be written: " + std::strerror(error),
                change_.leftover_hint);
  }
}

// The file is complete by now, so what fails here is no failure of the work.
void PreambleFile::remove_copy() const {
  const std::string& path = copy_.path;
  if (unlinkat(folder_.number(), copy_.name().c_str(), 0) != 0) {
    const int error = errno;
    change_.warn(path + ": could not be removed: " + std::strerror(error),
                 name_ + " is whole without it: delete it");
  } else if (const int error = sync_folder(folder_.number(), descriptor_.number()); error != 0) {
    change_.warn(path + ": may be back after a crash, because its folder could not be synced: " +
                     std::strerror(error),
                 name_ + " is whole without it: if it comes back, delete it");
  }
}

}  // namespace paes::stream
