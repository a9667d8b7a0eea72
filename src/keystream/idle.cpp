// idle(): computes ahead in its caller's thread, within the time that this has nothing else to do.
// Where that is too short for a whole chunk, a chunk is computed in several calls.
#include <algorithm>
#include <cmath>

#include "keystream/engine.hpp"

namespace paes::keystream {

namespace {

using Clock = std::chrono::steady_clock;

// Nothing is begun that would end too late, but for a tenth.
constexpr double reserve = 1.1;
// To look for a chunk and to take its place costs some ten nanoseconds.
constexpr double least_share_ns = 1000;

class IdleTime {
 public:
  explicit IdleTime(Clock::time_point deadline) noexcept
      : deadline_(deadline), whole_ns_(left_ns()) {}

  // What may be computed of the context's next chunk; no bytes: nothing.
  [[nodiscard]] Context::Share share_for(const Context& context, double left) const noexcept {
    const double whole = reserve * context.fill_ns();
    if (left >= whole) {
      return {};
    }
    if (left < reserve * least_share_ns) {
      return {.bytes = 0};
    }
    const auto bytes =
        static_cast<std::size_t>(left / whole * static_cast<double>(context.chunk_bytes()));
    const std::size_t pass = context.pass_bytes();
    return {.bytes = bytes / pass * pass, .first_step = first_step(whole, left)};
  }

  [[nodiscard]] double left_ns() const noexcept {
    return std::chrono::duration<double, std::nano>(deadline_ - Clock::now()).count();
  }

 private:
  // With the next request, which comes when this call's time is over, a chunk that is begun now
  // would be there in part. Where calls as long as this one complete more than half of the chunks,
  // those are begun that will be complete in time: most requests find all of their keystream, and
  // a few none. Else each has its part.
  [[nodiscard]] std::int64_t first_step(double chunk_ns, double left) const noexcept {
    return chunk_ns > 2 * whole_ns_
               ? 0
               : static_cast<std::int64_t>(std::ceil((chunk_ns - left) / whole_ns_));
  }

  const Clock::time_point deadline_;
  const double whole_ns_;
};

// False: the time was too short for all that could be done. What requests take does not tell how
// long computing ahead takes now: most of them may have no need to compute. So it is measured here.
bool fill(const IdleTime& time, Context& context) noexcept {
  const double all = time.left_ns();
  for (double left = all;;) {
    const Context::Share share = time.share_for(context, left);
    if (share.bytes == 0) {
      if (left == all && left > 0 && context.fill_ns() > context.direct_ns()) {
        // Or what took too long once would never be tried again.
        context.costs().in_idle.add(context.direct_ns());
      }
      return false;
    }
    const std::size_t bytes = context.fill_again(share);
    if (bytes == 0) {
      return true;
    }
    const double before = left;
    left = time.left_ns();
    context.costs().in_idle.add((before - left) * static_cast<double>(context.chunk_bytes()) /
                                static_cast<double>(bytes));
  }
}

}  // namespace

bool SpeculativeEngine::idle(Clock::time_point deadline) noexcept {
  const IdleTime time(deadline);
  if (!shared_.mark.is_intact()) {
    return false;
  }
  const void* const client = is_client_thread ? this_thread() : nullptr;
  // The context that this thread used last comes first, for which no mutex is needed: a worker may
  // hold it and have been set aside by the system, and the caller's time is short.
  const std::shared_ptr<Context> last = last_context.lock();
  const bool is_here = last != nullptr && &last->engine_ == this && client != nullptr;
  if (has_requests()) {
    if (const Lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
      collect_requests();
    }
  }
  if (is_here && last->is_used_by(client) &&
      last->priority_ >= highest_waiting_.load(std::memory_order_relaxed)) {
    const bool is_pinned = last->pin();
    bool is_in_time = true;
    if (is_pinned) {
      is_in_time = fill(time, *last);
      last->fetch_next();
      last->unpin();
    }
    if (last->is_closing()) {
      const Lock lock(mutex_);
      finish_closed();
    }
    if (!is_in_time) {
      return true;
    }
  }
  Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return true;
  }
  while (Context* const context = pick(client, is_here ? last.get() : nullptr)) {
    const Context::Share share = time.share_for(*context, time.left_ns());
    if (share.bytes == 0) {
      return true;
    }
    fill_one(lock, *context, share);
    finish_closed();
  }
  return false;
}

}  // namespace paes::keystream
