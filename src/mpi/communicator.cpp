// SPDX-License-Identifier: Apache-2.0
// All calls of MPI except MPI-IO. Every wait polls a non-blocking operation, because MPI's own
// waits keep a processor busy and never end when a rank has died.
#include "mpi/communicator.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "cipher/block.hpp"
#include "mpi/error_text.hpp"
#include "mpi/mpi_handles.hpp"

namespace paes::mpi {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// mpirun kills ranks a second after its first signal. Until then a rank removes its files.
constexpr milliseconds grace{500};
constexpr microseconds longest_sleep{1000};

int to_int(std::uint64_t value) {
  assert(value <= INT32_MAX);
  return static_cast<int>(value);
}

// This process's memory is closed to others (no core dumps, no debuggers), so MPI must not read
// messages directly out of another rank's memory on the same host. Variables that the user has set
// stay unchanged.
void forbid_fetching() {
  (void)setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  (void)setenv("OMPI_MCA_smsc", "^cma", 0);
}

enum class WaitKind { for_ranks, for_data };

// Starts an operation and waits for its end. MPI moves data only while it is polled, so a wait for
// much data never sleeps.
void run(MpiHandles& handles, Communicator& communicator,
         const std::function<int(MPI_Request*)>& operation, WaitKind waits = WaitKind::for_ranks) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(handles.calls);
    handles.check(operation(&request));
  }
  const Clock::time_point start = Clock::now();
  Clock::time_point signalled = Clock::time_point::max();
  for (;;) {
    int done = 0;
    {
      const std::lock_guard lock(handles.calls);
      handles.check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    if (done != 0) {
      return;
    }
    const Clock::time_point now = Clock::now();
    if (communicator.signals().requested()) {
      communicator.heed_signal();
      signalled = std::min(signalled, now);
      if (now - signalled > grace) {
        handles.lost = true;
        throw LostRanksError("do not answer, and this one was told to end");
      }
    }
    // The longer the wait, the longer the naps: a step among ranks that are all here takes
    // microseconds, one that waits for work on a file much more.
    const auto waited = std::chrono::duration_cast<microseconds>(now - start);
    if (waits == WaitKind::for_data || waited < microseconds(50)) {
      (void)sched_yield();
    } else {
      std::this_thread::sleep_for(std::min(waited / 8, longest_sleep));
    }
  }
}

}  // namespace

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
    return "MPI error " + std::to_string(code);
  }
  return one_line({text, static_cast<std::size_t>(length)});
}

void MpiHandles::check(int code) {
  if (code != MPI_SUCCESS) {
    lost = true;
    throw LostRanksError(text_of(code));
  }
}

Communicator::Communicator(const Cancel& signals)
    : signals_(signals), handles_(std::make_unique<MpiHandles>()) {
  forbid_fetching();
  int provided = 0;
  handles_->check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  if (provided < MPI_THREAD_SERIALIZED) {
    // A rank's threads read and write files, through MPI if the user asks for it.
    (void)MPI_Finalize();
    throw Error(ErrorCode::failure, "MPI: this library was built without threads");
  }
  // Our own communicator, so that our messages never mix with others'. MPI returns errors, so that
  // we report them ourselves.
  handles_->check(MPI_Comm_dup(MPI_COMM_WORLD, &handles_->world));
  handles_->check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  handles_->check(MPI_Comm_set_errhandler(handles_->world, MPI_ERRORS_RETURN));
  int number = 0;
  handles_->check(MPI_Comm_rank(handles_->world, &number));
  rank_ = static_cast<unsigned>(number);
  handles_->check(MPI_Comm_size(handles_->world, &number));
  ranks_ = static_cast<unsigned>(number);
  MPI_Comm host = MPI_COMM_NULL;
  handles_->check(
      MPI_Comm_split_type(handles_->world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  handles_->check(MPI_Comm_rank(host, &number));
  local_rank_ = static_cast<unsigned>(number);
  handles_->check(MPI_Comm_free(&host));
  char name[256] = {};
  host_ = gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

Communicator::~Communicator() {
  if (!handles_->lost) {
    (void)MPI_Comm_free(&handles_->world);
    (void)MPI_Finalize();
  } else if (!signals_.requested()) {
    // After a signal our caller ends the process. Otherwise nobody else would end the job.
    (void)MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ErrorCode::failure));
  }
}

void Communicator::abandon() noexcept { handles_->lost = true; }

std::string Communicator::library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) {
    return "unknown";
  }
  // "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n...".
  const std::string all(text, static_cast<std::size_t>(length));
  std::string shown = all.substr(0, all.find_first_of(",\n"));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  return shown;
}

void Communicator::barrier() {
  run(*handles_, *this,
      [&](MPI_Request* request) { return MPI_Ibarrier(handles_->world, request); });
}

void Communicator::broadcast(MutableBytes bytes, unsigned from) {
  run(*handles_, *this, [&](MPI_Request* request) {
    return MPI_Ibcast(bytes.data(), to_int(bytes.size()), MPI_BYTE, static_cast<int>(from),
                      handles_->world, request);
  });
}

void Communicator::sum(std::span<std::int64_t> values) {
  run(*handles_, *this, [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, values.data(), to_int(values.size()), MPI_INT64_T, MPI_SUM,
                          handles_->world, request);
  });
}

std::int64_t Communicator::least(std::int64_t value) {
  run(*handles_, *this, [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MIN, handles_->world, request);
  });
  return value;
}

void Communicator::gather(Bytes mine, MutableBytes all) {
  assert(!is_first() || all.size() == mine.size() * ranks_);
  const int bytes = to_int(mine.size());
  run(*handles_, *this, [&](MPI_Request* request) {
    return MPI_Igather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0,
                       handles_->world, request);
  });
}

namespace {

// Ranges of blocks in the form that MPI takes.
struct BlockLists {
  explicit BlockLists(std::span<const Range> ranges) {
    for (const Range& range : ranges) {
      counts.push_back(to_int(range.count()));
      starts.push_back(to_int(range.first));
    }
    (void)MPI_Type_contiguous(to_int(block_bytes), MPI_BYTE, &type);
    (void)MPI_Type_commit(&type);
  }
  ~BlockLists() { (void)MPI_Type_free(&type); }
  BlockLists(const BlockLists&) = delete;
  BlockLists& operator=(const BlockLists&) = delete;

  std::vector<int> counts;
  std::vector<int> starts;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

}  // namespace

void Communicator::scatter(const std::uint8_t* all, std::span<const Range> ranges,
                           MutableBytes mine) {
  assert(ranges.size() == ranks_ && mine.size() == ranges[rank_].count() * block_bytes);
  const BlockLists lists(ranges);
  run(
      *handles_, *this,
      [&](MPI_Request* request) {
        return MPI_Iscatterv(all, lists.counts.data(), lists.starts.data(), lists.type, mine.data(),
                             lists.counts[rank_], lists.type, 0, handles_->world, request);
      },
      WaitKind::for_data);
}

void Communicator::gather(Bytes mine, std::span<const Range> ranges, std::uint8_t* all) {
  assert(ranges.size() == ranks_ && mine.size() == ranges[rank_].count() * block_bytes);
  const BlockLists lists(ranges);
  run(
      *handles_, *this,
      [&](MPI_Request* request) {
        return MPI_Igatherv(mine.data(), lists.counts[rank_], lists.type, all, lists.counts.data(),
                            lists.starts.data(), lists.type, 0, handles_->world, request);
      },
      WaitKind::for_data);
}

}  // namespace paes::mpi
