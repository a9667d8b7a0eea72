// SPDX-License-Identifier: Apache-2.0
// Requests of the system that come through io_uring, which Linux has since 6.14. The system puts a
// request into memory of this process and reads the answer there, and one call answers a request
// and waits for the next. It has a queue for each processor: what asks on a processor waits in that
// queue, so each queue needs a thread.
//
// libfuse 3.18 can do so itself. But one thread of it answers all that comes from a processor, so
// that a sync holds up all else; it does not say which writes take privileges away; and later
// versions do not allow it beside channels of our own. This works with every libfuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "core/result.hpp"
#include "paes-mount/thread_home.hpp"

struct iovec;

namespace paes::mount {

// The most bytes that a request or its answer has beside its headers. The system keeps to it,
// because the answer to its first request names it.
constexpr std::size_t max_request_bytes = std::size_t{1} << 20;

// One thread's ring. The thread that starts and uses it need not have made it.
class RequestRing {
 public:
  // The flag by which the two agree on it in the first request. From the answer on, the system
  // holds all requests back until each queue has a ring.
  static constexpr std::uint64_t init_flag = std::uint64_t{1} << 41;

  // `channel` is one of the mount's. The ring takes requests from all of these queues.
  static Result<std::unique_ptr<RequestRing>> make(int channel,
                                                   const std::vector<std::uint16_t>& queues);
  ~RequestRing();
  RequestRing(const RequestRing&) = delete;
  RequestRing& operator=(const RequestRing&) = delete;

  // Once the first request is answered: makes the ring take part. Fails if the system refuses it.
  Result<void> start() noexcept;
  // Gives the answer to the last request to the system, and waits for the next one, which stays
  // until the next call. Fails with EINTR for a signal.
  Result<MutableBytes> receive() noexcept;

  // Takes an answer as libfuse makes it. False: it belongs to no request of this ring.
  [[nodiscard]] bool answer(const iovec* parts, std::size_t count) noexcept;
  // Where an answer needs not be copied to the system's place, because it is that. Empty if there
  // is no room for so much, or the request itself lies there.
  [[nodiscard]] MutableBytes answer_room(std::size_t bytes) noexcept;

 private:
  struct Queue;  // what is shared with the system
  struct Place;  // for one request

  RequestRing();
  void submit(std::size_t place) noexcept;
  Result<MutableBytes> assemble(Place& place) noexcept;
  void refuse() noexcept;

  std::vector<Place> places_;
  std::unique_ptr<Queue> queue_;
  Descriptor ring_;  // goes first
  Place* current_ = nullptr;
  ThreadHome home_;
};

// The ring whose request this thread answers. Null: none.
[[nodiscard]] RequestRing* own_ring() noexcept;

}  // namespace paes::mount
