// The ranks of a job as the rest of paes sees them: what MPI does for us behind functions without
// MPI's types, so that one file alone is compiled for each implementation of it.
//
// Calls marked collective are made by all ranks in the same order, from one thread. A rank that
// waits in one sleeps, so that ranks which share processors with others that work leave them alone.
// It can only wait in vain when another rank has died; mpirun or srun then sends a signal, and with
// that the wait ends by an exception (Lost).
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
#include "stream/cancel.hpp"

namespace paes::mpi {

// The other ranks cannot be reached any more: nothing can be agreed upon. The process has to take
// back what it can take back alone, and to die.
class Lost : public Error {
 public:
  explicit Lost(const std::string& why) : Error(ErrorCode::failure, "other ranks: " + why) {}
};

class Communicator {
 public:
  // Starts MPI, once in a process, in the thread that makes all collective calls. `signals` is
  // requested by the signals that ask the process to end, and must outlive this.
  explicit Communicator(const stream::Cancel& signals);
  // Ends MPI, unless ranks were lost: then it ends the job.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] unsigned rank() const noexcept { return rank_; }
  [[nodiscard]] unsigned ranks() const noexcept { return ranks_; }
  [[nodiscard]] bool is_first() const noexcept { return rank_ == 0; }
  // Among the ranks of this host.
  [[nodiscard]] unsigned local_rank() const noexcept { return local_rank_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] const stream::Cancel& signals() const noexcept { return signals_; }
  // "Open MPI v4.1.4", "MPICH 4.0.2".
  [[nodiscard]] static std::string library();

  // This rank cannot go on, and the others do not know: the destructor ends the job.
  void abandon() noexcept;

  // What takes back what this rank has made, as soon as a signal asks the process to end: mpirun
  // may leave no time for more. Called once, in the thread that makes collective calls. Empty:
  // nothing.
  void at_signal(std::function<void()> take_back) { take_back_ = std::move(take_back); }
  // Does that if there was a signal; waits call it by themselves.
  void heed_signal() {
    if (take_back_ && signals_.requested()) {
      std::exchange(take_back_, nullptr)();
    }
  }

  // Collective, all of them.
  void barrier();
  // To all ranks what `from` has. Memory of a Secret on every rank stays the only memory of ours
  // that holds it.
  void broadcast(MutableBytes bytes, unsigned from = 0);
  // To all ranks the sums, and the least.
  void sum(std::span<std::int64_t> values);
  [[nodiscard]] std::int64_t sum(std::int64_t value) {
    sum(std::span(&value, 1));
    return value;
  }
  [[nodiscard]] std::int64_t least(std::int64_t value);
  // To rank 0 what each rank has, the same number of bytes, in the order of the ranks; `all` is of
  // no meaning on the others.
  void gather(Bytes mine, MutableBytes all);
  // Ranges of `all`, which only rank 0 has, to their owners and back. They count blocks of 16
  // bytes, of which there are fewer than 2^31.
  void scatter(const std::uint8_t* all, std::span<const Range> ranges, MutableBytes mine);
  void gather(Bytes mine, std::span<const Range> ranges, std::uint8_t* all);

 private:
  friend class MpiFile;
  struct Handles;  // MPI's own

  const stream::Cancel& signals_;
  std::unique_ptr<Handles> handles_;
  std::function<void()> take_back_;
  unsigned rank_ = 0;
  unsigned ranks_ = 1;
  unsigned local_rank_ = 0;
  std::string host_;
};

}  // namespace paes::mpi
