// SPDX-License-Identifier: Apache-2.0
// The ranks of a job: MPI's functions without MPI's types, so that only two files (this one's .cpp
// and mpi_file.cpp) are compiled for each MPI library.
//
// All ranks make the calls marked collective, in the same order, from one thread. A rank that waits
// for others sleeps, so that ranks that work get the processor; only scatter and gather of blocks
// spin. A wait is in vain only if another rank has died. mpirun or srun then sends a signal, and
// the wait throws LostRanksError.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "mpi/placement.hpp"
#include "paes/error.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes::mpi {

// The other ranks cannot be reached any more, so nothing can be agreed upon. The process must undo
// what it can undo alone, and die.
class LostRanksError : public Error {
 public:
  explicit LostRanksError(const std::string& why)
      : Error(ErrorCode::failure, "other ranks: " + why) {}
};

struct MpiHandles;  // MPI's own

class Communicator {
 public:
  // Starts MPI, once per process, in the thread that makes all collective calls. The signals that
  // ask the process to end set `signals`, which must outlive this.
  explicit Communicator(const Cancel& signals);
  // Ends MPI. If ranks were lost, it ends the job instead.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] unsigned rank() const noexcept { return rank_; }
  [[nodiscard]] unsigned ranks() const noexcept { return ranks_; }
  [[nodiscard]] bool is_first() const noexcept { return rank_ == 0; }
  // This rank's number on its host.
  [[nodiscard]] unsigned local_rank() const noexcept { return local_rank_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] const Cancel& signals() const noexcept { return signals_; }
  // "Open MPI v4.1.4", "MPICH 4.0.2".
  [[nodiscard]] static std::string library();

  // Call it if this rank cannot go on and others do not know: the destructor then ends the job.
  void abandon() noexcept;

  // Sets a function that removes what this rank has made; null sets none. It is called once, as
  // soon as a signal asks the process to end, because mpirun may leave no time for more. It is
  // called in the thread that makes collective calls.
  void at_signal(std::function<void()> take_back) { take_back_ = std::move(take_back); }
  // Calls that function if there was a signal. Waits do this themselves.
  void heed_signal() {
    if (take_back_ && signals_.requested()) {
      std::exchange(take_back_, nullptr)();
    }
  }

  // All calls below are collective.
  void barrier();
  // Sends the bytes of rank `from` to all ranks. If they lie in Secrets, paes makes no other copy.
  void broadcast(MutableBytes bytes, unsigned from = 0);
  // The sums, or the least value, over all ranks.
  void sum(std::span<std::int64_t> values);
  [[nodiscard]] std::int64_t sum(std::int64_t value) {
    sum(std::span(&value, 1));
    return value;
  }
  [[nodiscard]] std::int64_t least(std::int64_t value);
  // Sends each rank's bytes, equally many, to rank 0 in the order of the ranks. Others ignore
  // `all`.
  void gather(Bytes mine, MutableBytes all);
  // Sends ranges of `all`, which only rank 0 has, to the ranks that own them, and back. Ranges
  // count blocks of 16 bytes, of which `all` has fewer than 2^31.
  void scatter(const std::uint8_t* all, std::span<const Range> ranges, MutableBytes mine);
  void gather(Bytes mine, std::span<const Range> ranges, std::uint8_t* all);

 private:
  friend class MpiFile;

  const Cancel& signals_;
  std::unique_ptr<MpiHandles> handles_;
  std::function<void()> take_back_;
  unsigned rank_ = 0;
  unsigned ranks_ = 1;
  unsigned local_rank_ = 0;
  std::string host_;
};

}  // namespace paes::mpi
