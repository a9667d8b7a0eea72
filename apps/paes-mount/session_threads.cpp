// SPDX-License-Identifier: Apache-2.0
// The threads of a session: how they receive requests, and agree with the system on the way.
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/residue.hpp"
#include "core/secret.hpp"
#include "paes-mount/channels.hpp"
#include "paes-mount/init_flags.hpp"
#include "paes-mount/privileges.hpp"
#include "paes-mount/ring_queues.hpp"
#include "paes-mount/session.hpp"

namespace paes::mount {

// All that may fail is done before the first request is answered: after that the system waits for
// the rings.
void Session::make_rings() {
  std::string& why = options_.why_no_rings;
  why = why.empty() ? mount::why_no_rings() : why;
  if (!why.empty()) {
    return;
  }
  for (const auto& queues : queues_of_rings(count_queues(), options_.threads)) {
    Result<std::unique_ptr<RequestRing>> ring =
        RequestRing::make(fuse_session_fd(session_), queues);
    if (!ring) {
      rings_.clear();
      why = "io_uring_setup: " + ring.error().message();
      return;
    }
    rings_.push_back(std::move(*ring));
  }
}

void Session::launch(unsigned thread) {
  {
    const std::lock_guard lock(mutex_);
    ++working_;
  }
  try {
    threads_.emplace_back([this, thread] { work(thread); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --working_;
    throw;
  }
}

void Session::work(unsigned thread) noexcept {
  const WipeResidueOnExit wiped;
  const int channel = channels_[thread].number();
  take_channel(channel);
  if (thread == 0 || agreed_way() != Way::rings) {
    work_on_channel(channel);
  } else if (RequestRing& ring = *rings_[thread - 1]; start_ring(ring)) {
    work_on_ring(ring);
  }
  ended();
}

// Waits for it, or for the end.
Session::Way Session::agreed_way() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return way_ != Way::unknown || is_unmounted_ || fuse_session_exited(session_) != 0;
  });
  return way_;
}

bool Session::start_ring(RequestRing& ring) noexcept {
  const Result<void> started = ring.start();
  const bool is_refused = !started && is_connected(own_channel());  // else it is unmounted already
  const std::lock_guard lock(mutex_);
  ++started_rings_;
  rings_started_ = is_refused && rings_started_ ? started : rings_started_;
  changed_.notify_all();
  return bool(started);
}

void Session::work_on_ring(RequestRing& ring) noexcept {
  while (fuse_session_exited(session_) == 0) {
    const Result<MutableBytes> request = ring.receive();
    if (request) {
      note_request(request->data(), request->size());
      fuse_buf buffer{};
      buffer.mem = request->data();
      buffer.size = request->size();
      fuse_session_process_buf(session_, &buffer);
    } else if (!request.failed_with(EINTR, EAGAIN) && !has_failed(request.error(), own_channel())) {
      break;  // unmounted
    }
  }
}

void Session::work_on_channel(int channel) noexcept {
  fuse_buf request{};
  while (fuse_session_exited(session_) == 0) {
    const int bytes = fuse_session_receive_buf(session_, &request);
    if (bytes > 0) {
      const auto size = static_cast<std::size_t>(bytes);
      note_request(request.mem, size);
      const std::uint64_t offered = offered_flags(request.mem, size);
      if (offered == 0) {
        fuse_session_process_buf(session_, &request);
      } else {
        answer_first(request, (offered & RequestRing::init_flag) != 0);
      }
    } else if (bytes == 0 ||
               (bytes != -EINTR && bytes != -EAGAIN && !has_failed(Errno(-bytes), channel))) {
      break;  // unmounted
    }
  }
  if (request.mem != nullptr) {
    wipe(request.mem, malloc_usable_size(request.mem));  // what was written last, perhaps
  }
  std::free(request.mem);  // libfuse allocates it
}

// If the system offers rings and each has its thread, the answer names them.
void Session::answer_first(const fuse_buf& request, bool offers_rings) noexcept {
  {
    const std::lock_guard lock(mutex_);
    name_rings(offers_rings && !rings_.empty() && way_ == Way::unknown);
  }
  fuse_session_process_buf(session_, &request);
  const std::lock_guard lock(mutex_);
  way_ = has_named_rings() ? Way::rings : Way::channels;
  changed_.notify_all();
}

// Whether a request cannot be received although the mount is there. Something is wrong with this
// process then, so the mount ends in order. Until then the thread goes on, because what the system
// holds has to be written, and there may be no other one.
bool Session::has_failed(Errno error, int channel) noexcept {
  if (!is_connected(channel)) {
    return false;
  }
  to_end(error);
  constexpr std::chrono::milliseconds pause(10);
  std::this_thread::sleep_for(pause);
  return true;
}

}  // namespace paes::mount
