// SPDX-License-Identifier: Apache-2.0
// MPI-IO: independent reads and writes at offsets. A datatype that lists addresses combines several
// separate buffers into one call.
#include <vector>

#include "mpi/mpi_handles.hpp"
#include "mpi/shared_file.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::mpi {

struct MpiFile::Handle {
  MPI_File file = MPI_FILE_NULL;
};

namespace {

void check(int code, const std::string& name) {
  if (code != MPI_SUCCESS) {
    throw Error(ErrorCode::failure, name + ": " + text_of(code));
  }
}

// Buffers at absolute addresses, as one element of a datatype.
class ScatteredBuffers {
 public:
  explicit ScatteredBuffers(std::span<const iovec> parts) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> addresses;
    lengths.reserve(parts.size());
    addresses.reserve(parts.size());
    for (const iovec& part : parts) {
      lengths.push_back(static_cast<int>(part.iov_len));
      bytes_ += static_cast<int>(part.iov_len);
      MPI_Aint address = 0;
      check(MPI_Get_address(part.iov_base, &address), "memory");
      addresses.push_back(address);
    }
    check(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                   addresses.data(), MPI_BYTE, &type_),
          "memory");
    check(MPI_Type_commit(&type_), "memory");
  }
  ~ScatteredBuffers() { (void)MPI_Type_free(&type_); }
  ScatteredBuffers(const ScatteredBuffers&) = delete;
  ScatteredBuffers& operator=(const ScatteredBuffers&) = delete;

  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }
  [[nodiscard]] int bytes() const noexcept { return bytes_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int bytes_ = 0;
};

// Whether `call`, which reads or writes one element of the type, moved all buffers completely.
template <class Call>
bool moves_all(std::span<const iovec> buffers, const std::string& name, const Call& call) {
  const ScatteredBuffers parts(buffers);
  MPI_Status status;
  check(call(parts.type(), &status), name);
  int moved = 0;
  check(MPI_Get_elements(&status, parts.type(), &moved), name);
  return moved == parts.bytes();
}

}  // namespace

MpiFile::MpiFile(Communicator& communicator, const std::string& path, Mode mode, std::string name)
    : communicator_(communicator), name_(std::move(name)), handle_(std::make_unique<Handle>()) {
  const std::lock_guard lock(communicator_.handles_->calls);
  const int amode = mode == Mode::read ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
  // Each rank opens the file by itself. In a collective open, one failure would block the others
  // for ever.
  check(MPI_File_open(MPI_COMM_SELF, path.c_str(), amode, MPI_INFO_NULL, &handle_->file), name_);
}

MpiFile::~MpiFile() {
  const std::lock_guard lock(communicator_.handles_->calls);
  (void)MPI_File_close(&handle_->file);
}

std::size_t MpiFile::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  const std::lock_guard lock(communicator_.handles_->calls);
  if (!moves_all(to, name_, [&](MPI_Datatype type, MPI_Status* status) {
        return MPI_File_read_at(handle_->file, static_cast<MPI_Offset>(offset), MPI_BOTTOM, 1, type,
                                status);
      })) {
    throw Error(ErrorCode::failure, name_ + ": became shorter while it was read");
  }
  return stream::bytes_of(to);
}

void MpiFile::write_at(std::uint64_t offset, std::span<const iovec> from) const {
  const std::lock_guard lock(communicator_.handles_->calls);
  if (!moves_all(from, name_, [&](MPI_Datatype type, MPI_Status* status) {
        return MPI_File_write_at(handle_->file, static_cast<MPI_Offset>(offset), MPI_BOTTOM, 1,
                                 type, status);
      })) {
    throw Error(ErrorCode::failure, name_ + ": was not written in full; is there no room left?");
  }
}

void MpiFile::sync() {
  const std::lock_guard lock(communicator_.handles_->calls);
  check(MPI_File_sync(handle_->file), name_);
}

}  // namespace paes::mpi
