// SPDX-License-Identifier: Apache-2.0
// The shared files, except for the calls of MPI-IO. Ranks find a file by its name, and check that
// it is the same file: hosts may mount different file systems in one place.
#include "mpi/shared_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/together.hpp"
#include "stream/file/create_output.hpp"
#include "stream/transfer/memory_ends.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::mpi {

namespace {

constexpr const char* shared_hint =
    "all ranks must see it under this name, on a file system that their hosts share";

// Files under /proc and /sys are rarely above a few KiB.
constexpr std::size_t max_bytes_without_length = std::size_t{16} << 20;

// What rank 0 writes into a new output for the others to recognise. The contents replace it.
using Token = std::array<std::uint8_t, 16>;

}  // namespace

void throw_other_file(const std::string& name) {
  throw Error(ErrorCode::failure, name + ": is another file here than on rank 0", shared_hint);
}

void throw_not_here(const std::string& name) {
  throw Error(ErrorCode::failure, name + ": is not here what it is on rank 0", shared_hint);
}

SharedInput::SharedInput(Communicator& communicator, const std::string& path, FileAccess access)
    : name_(path) {
  together(communicator, [&] {
    if (access == FileAccess::posix || communicator.is_first()) {
      here_.emplace(stream::Input::open(path, &communicator.signals()));
      if (!here_->is_regular() && !here_->is_seekable()) {
        throw Error(ErrorCode::usage, path + ": is a pipe or a device, which ranks cannot share",
                    "paes reads it");
      }
      here_->expect_sequential();
      bytes_ = here_->bytes();
    }
  });
  bool tells_its_length = true;
  on_first(communicator, [&] { tells_its_length = here_->is_seekable(); });
  broadcast(communicator, tells_its_length);
  if (!tells_its_length) {
    read_whole(communicator);
    return;
  }
  if (access == FileAccess::posix) {
    check_same_file(communicator);
    return;
  }
  broadcast(communicator, bytes_);
  together(communicator, [&] {
    // Open MPI 4.1 accepts no relative name of one character.
    const std::string full = std::filesystem::absolute(path).string();
    by_mpi_ = std::make_unique<MpiFile>(communicator, full, MpiFile::Mode::read, path);
  });
}

void SharedInput::read_whole(Communicator& communicator) {
  on_first(communicator, [&] {
    // One byte above the limit.
    SecretBytes read(max_bytes_without_length + 1);
    const std::size_t got = here_->read(read);
    if (got > max_bytes_without_length) {
      throw Error(ErrorCode::usage,
                  name_ + ": is long and does not say how long, so ranks cannot share it",
                  "paes reads it");
    }
    read.truncate(got);
    whole_ = std::move(read);
  });
  broadcast(communicator, whole_ ? *whole_ : whole_.emplace());
  bytes_ = whole_->size();
}

void SharedInput::check_same_file(Communicator& communicator) {
  stream::SourceStamp own;
  together(communicator, [&] { own = here_->stamp(); });
  // Device numbers differ between hosts. Change times are not compared, because a new name or new
  // permissions do not matter.
  own.device = own.changed_s = own.changed_ns = 0;
  stream::SourceStamp first = own;
  broadcast(communicator, first);
  together(communicator, [&] {
    if (own != first) {
      throw_other_file(name_);
    }
  });
}

std::size_t SharedInput::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  if (whole_) {
    if (offset > bytes_ || stream::bytes_of(to) > bytes_ - offset) {
      throw Error(ErrorCode::failure, name_ + ": became shorter while it was read");
    }
    return stream::MemorySource(*whole_, 0, name_).read_at(offset, to);
  }
  return by_mpi_ != nullptr ? by_mpi_->read_at(offset, to) : here_->read_at(offset, to);
}

void SharedInput::check_unchanged() const {
  if (here_) {
    here_->check_unchanged();
  }
}

SharedOutput::SharedOutput(Communicator& communicator, const std::string& path,
                           stream::OutputOptions options, FileAccess access)
    : communicator_(communicator), name_(path) {
  Token token = {};
  std::string found_as;
  on_first(communicator, [&] {
    options.file.role = stream::FileRole::shared;
    made_ = stream::create_output(path, options);
    communicator.at_signal([this] { made_->discard(); });
    found_as = std::filesystem::absolute(made_->temporary_path()).string();
    random_bytes(token);
    made_->write_at(0, Bytes(token));
  });
  broadcast(communicator, token);
  broadcast(communicator, found_as);
  together(communicator, [&] {
    Token seen = {};
    if (access == FileAccess::mpi) {
      by_mpi_ = std::make_unique<MpiFile>(communicator, found_as, MpiFile::Mode::write, path);
      const iovec to = {seen.data(), seen.size()};
      by_mpi_->read_at(0, std::span(&to, 1));
    } else {
      find(found_as);
      if (pread(here_.number(), seen.data(), seen.size(), 0) != static_cast<ssize_t>(seen.size())) {
        seen = {};
      }
    }
    if (seen != token) {
      throw_other_file(name_);
    }
  });
}

void SharedOutput::expect(const stream::Need& need) {
  need_ = need;
  on_first(communicator_, [&] { made_->expect(need); });
}

void SharedOutput::find(const std::string& path) {
  here_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!here_.is_open()) {
    if (errno == ENOENT) {
      throw_not_here(name_);
    }
    throw_errno(name_);
  }
}

void SharedOutput::write_at(std::uint64_t offset, std::span<const iovec> from) {
  if (by_mpi_ != nullptr) {
    by_mpi_->write_at(offset, from);
  } else if (!stream::write_file_at(here_.number(), offset, from)) {
    throw stream::write_error(name_, here_.number(), need_);
  }
}

void SharedOutput::commit(std::uint64_t bytes) {
  together(communicator_, [&] {
    if (by_mpi_ != nullptr) {
      by_mpi_->sync();
    } else if (fsync(here_.number()) != 0) {
      throw stream::write_error(name_, here_.number(), need_);
    }
  });
  by_mpi_.reset();  // each rank closes its own
  on_first(communicator_, [&] { made_->commit(bytes); });
}

}  // namespace paes::mpi
