// SPDX-License-Identifier: Apache-2.0
// One file that all ranks read, and one that all of them write, each at offsets of its own: by the
// system's calls where every rank sees the file under the same name, or by MPI's. The output gets
// its name only when all ranks have finished theirs.
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

// Error(failure): a rank does not see the file that rank 0 sees, or sees none.
[[noreturn]] void throw_other_file(const std::string& name);
[[noreturn]] void throw_not_here(const std::string& name);

// A file opened by MPI-IO (mpi_file.cpp), on each rank by itself: the ranks write to different
// places, and `together` makes them agree on errors. read_at and write_at may be called from any
// thread.
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
  // Collective. Throws the same Error on all ranks when one of them cannot open the file, or opens
  // another; pipes are refused. A file that does not say its length (under /proc and /sys) is read
  // by rank 0 and must be small.
  SharedInput(Communicator& communicator, const std::string& path, FileAccess access);

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  // As this rank sees it.
  [[nodiscard]] const stream::Input& here() const noexcept { return *here_; }
  [[nodiscard]] stream::Input& here() noexcept { return *here_; }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  // Throws when the file has changed since it was opened, as far as this rank sees that.
  void check_unchanged() const override;

 private:
  void check_same_file(Communicator& communicator);
  void read_whole(Communicator& communicator);

  std::string name_;
  std::uint64_t bytes_ = 0;
  std::optional<SecretBytes> whole_;   // of a file whose length only its end tells, on all ranks
  std::optional<stream::Input> here_;  // with MPI-IO on rank 0 alone
  std::unique_ptr<MpiFile> by_mpi_;
};

class SharedOutput : public stream::Sink {
 public:
  // Collective. Rank 0 makes the file under a temporary name, and the others open it by that name.
  // Only rank 0 uses `options`. Throws the same Error on all ranks, also when one of them sees
  // another file there.
  SharedOutput(Communicator& communicator, const std::string& path, stream::OutputOptions options,
               FileAccess access);
  ~SharedOutput() override { communicator_.at_signal(nullptr); }
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  // Collective. Like stream::Output::expect; rank 0 checks the free space.
  void expect(const stream::Need& need);
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  // Collective. Syncs what each rank wrote. The file is then complete, `bytes` long, and gets its
  // name.
  void commit(std::uint64_t bytes);
  // The file as rank 0 has it; null on the others.
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
