// SPDX-License-Identifier: Apache-2.0
// One file that all ranks read, and one that all of them write, each at its own offsets: by the
// system's calls if every rank sees the file under the same name, or by MPI's. The output gets its
// name only when all ranks have finished.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/secret.hpp"
#include "mpi/communicator.hpp"
#include "stream/file/output.hpp"

namespace paes::mpi {

enum class FileAccess : unsigned {
  posix,  // open, pread, pwrite: any file system that is mounted on every host
  mpi,    // MPI-IO: what the MPI library reaches
};

// Error(failure): this rank does not see the file that rank 0 sees, or sees none.
[[noreturn]] void throw_other_file(const std::string& name);
[[noreturn]] void throw_not_here(const std::string& name);

// A file that each rank has opened by itself with MPI-IO (mpi_file.cpp). The ranks write to
// different places, and `together` makes them agree on errors. Any thread may call read_at and
// write_at.
class MpiFile {
 public:
  enum class Mode : unsigned { read, write };
  MpiFile(Communicator& communicator, const std::string& path, Mode mode, std::string name);
  ~MpiFile();
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;

  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const;
  void write_at(std::uint64_t offset, std::span<const iovec> from) const;
  void sync();

 private:
  struct Handle;
  Communicator& communicator_;
  std::string name_;  // for messages
  std::unique_ptr<Handle> handle_;
};

class SharedInput : public stream::Source {
 public:
  // Collective. Throws the same Error on all ranks if one of them cannot open the file, or opens
  // another one. Refuses pipes. A file without a known length (under /proc and /sys) must be small,
  // and rank 0 reads it.
  SharedInput(Communicator& communicator, const std::string& path, FileAccess access);

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  // The file on this rank.
  [[nodiscard]] const stream::Input& here() const noexcept { return *here_; }
  [[nodiscard]] stream::Input& here() noexcept { return *here_; }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  // Throws if the file has changed since it was opened, as far as this rank can see.
  void check_unchanged() const override;

 private:
  void check_same_file(Communicator& communicator);
  void read_whole(Communicator& communicator);

  std::string name_;
  std::uint64_t bytes_ = 0;
  std::optional<SecretBytes> whole_;   // if only reading tells the file's length; on all ranks
  std::optional<stream::Input> here_;  // only on rank 0 with MPI-IO
  std::unique_ptr<MpiFile> by_mpi_;
};

class SharedOutput : public stream::Sink {
 public:
  // Collective. Rank 0 makes the file under a temporary name, and the others open it by that name.
  // Only rank 0 uses `options`. Throws the same Error on all ranks, also if one of them sees
  // another file there.
  SharedOutput(Communicator& communicator, const std::string& path, stream::OutputOptions options,
               FileAccess access);
  ~SharedOutput() override { communicator_.at_signal(nullptr); }
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  // Collective. Rank 0 checks that the file system has the free space (stream::Output::expect).
  void expect(const stream::Need& need);
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  // Collective. Syncs what each rank wrote, and gives the complete file of `bytes` its name.
  void commit(std::uint64_t bytes);
  // The file on rank 0; null on the others.
  [[nodiscard]] const stream::Output* made() const noexcept { return made_.get(); }

 private:
  void find(const std::string& path);

  Communicator& communicator_;
  std::string name_;
  std::optional<stream::Need> need_;
  std::unique_ptr<stream::Output> made_;  // on rank 0
  Descriptor here_;                       // POSIX
  std::unique_ptr<MpiFile> by_mpi_;
};

}  // namespace paes::mpi
