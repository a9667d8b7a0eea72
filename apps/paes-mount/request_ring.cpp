// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/request_ring.hpp"

#include <linux/fuse.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/secret.hpp"

namespace paes::mount {

namespace {

// From linux/fuse.h, which has it since Linux 6.14.
constexpr unsigned command_register = 1;
constexpr unsigned command_answer_and_receive = 2;

struct PlaceState {
  std::uint64_t flags;
  std::uint64_t id;
  std::uint32_t payload_bytes;
  std::uint32_t padding;
  std::uint64_t reserved;
};

struct Headers {
  std::uint8_t general[128];    // fuse_in_header of a request, fuse_out_header of an answer
  std::uint8_t operation[128];  // what follows in a request of this kind
  PlaceState state;
};
static_assert(sizeof(Headers) == 288);

struct Command {
  std::uint64_t flags;
  std::uint64_t id;
  std::uint16_t queue;
  std::uint8_t padding[6];
};
static_assert(sizeof(Command) == 24);

constexpr std::size_t head_bytes = sizeof(fuse_in_header) + sizeof Headers::operation;

thread_local RequestRing* ring_of_thread = nullptr;

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(std::size_t bytes, int flags, int file, off_t offset) noexcept
      : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, offset)) {}
  ~Mapping() {
    if (is_there()) {
      (void)munmap(memory_, bytes_);
    }
  }
  Mapping(Mapping&& other) noexcept
      : bytes_(other.bytes_), memory_(std::exchange(other.memory_, MAP_FAILED)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    return *this;
  }

  [[nodiscard]] bool is_there() const noexcept { return memory_ != MAP_FAILED; }
  [[nodiscard]] std::uint8_t* at(std::size_t offset) const noexcept {
    return static_cast<std::uint8_t*>(memory_) + offset;
  }

 private:
  std::size_t bytes_ = 0;
  void* memory_ = MAP_FAILED;
};

}  // namespace

// The headers, behind them the room in which head and payload of a request become one message, and
// the payload. Only pages that a request or an answer needs take memory.
struct RequestRing::Place {
  Mapping memory;
  std::uint16_t queue = 0;
  std::uint64_t id = 0;    // of the request
  std::size_t needed = 0;  // so much of the payload was ever used
  bool is_registered = false;
  bool has_payload = false;  // the request
  bool is_answered = false;
  iovec parts[2] = {};

  [[nodiscard]] std::uint8_t* headers() const noexcept { return memory.at(0); }
  [[nodiscard]] std::uint8_t* payload() const noexcept {
    return static_cast<std::uint8_t*>(parts[1].iov_base);
  }
  [[nodiscard]] PlaceState state() const noexcept {
    PlaceState state;
    std::memcpy(&state, headers() + offsetof(Headers, state), sizeof state);
    return state;
  }
};

#ifdef IORING_SETUP_DEFER_TASKRUN

namespace {

constexpr std::size_t entry_bytes = 128;  // IORING_SETUP_SQE128
constexpr std::size_t command_at = 48;    // io_uring_sqe::cmd
static_assert(sizeof(io_uring_sqe) == 64);

}  // namespace

struct RequestRing::Queue {
  io_uring_params parameters{};
  Mapping rings;
  Mapping entries;
  unsigned unsubmitted = 0;

  [[nodiscard]] std::uint32_t& word(std::uint32_t offset) const noexcept {
    return *reinterpret_cast<std::uint32_t*>(rings.at(offset));
  }

  // Gives the system what was put, and waits for so many results.
  Result<void> enter(const Descriptor& ring, unsigned results) noexcept {
    const long taken = syscall(SYS_io_uring_enter, ring.number(), unsubmitted, results,
                               IORING_ENTER_GETEVENTS, nullptr, 0);
    if (taken < 0) {
      return Errno(errno);
    }
    unsubmitted -= static_cast<unsigned>(taken);
    return {};
  }

  // Results are numbered. This thread has taken those before next(), which it alone moves.
  [[nodiscard]] bool has_result(std::uint32_t number) const noexcept {
    return number != std::atomic_ref(word(parameters.cq_off.tail)).load(std::memory_order_acquire);
  }
  [[nodiscard]] io_uring_cqe result_at(std::uint32_t number) const noexcept {
    io_uring_cqe result;
    const std::size_t at = number & word(parameters.cq_off.ring_mask);
    std::memcpy(&result, rings.at(parameters.cq_off.cqes + at * sizeof result), sizeof result);
    return result;
  }
  [[nodiscard]] std::uint32_t next() const noexcept { return word(parameters.cq_off.head); }

  // The next result, if the system has one.
  [[nodiscard]] bool take(io_uring_cqe& result) const noexcept {
    const std::uint32_t first = next();
    if (!has_result(first)) {
      return false;
    }
    result = result_at(first);
    std::atomic_ref(word(parameters.cq_off.head)).store(first + 1, std::memory_order_release);
    return true;
  }

  // Among the results that stay.
  [[nodiscard]] Result<void> first_error() const noexcept {
    for (std::uint32_t number = next(); has_result(number); ++number) {
      if (const int result = result_at(number).res; result < 0 && result != -EAGAIN) {
        return Errno(-result);
      }
    }
    return {};
  }

  void put(const io_uring_sqe& entry, const Command& command) noexcept {
    std::atomic_ref tail(word(parameters.sq_off.tail));
    const std::uint32_t last = tail.load(std::memory_order_relaxed);
    const std::uint32_t at = last & word(parameters.sq_off.ring_mask);
    std::uint8_t* const to = entries.at(at * entry_bytes);
    std::memset(to, 0, entry_bytes);
    std::memcpy(to, &entry, sizeof entry);
    std::memcpy(to + command_at, &command, sizeof command);
    word(static_cast<std::uint32_t>(parameters.sq_off.array + at * sizeof at)) = at;
    tail.store(last + 1, std::memory_order_release);
    ++unsubmitted;
  }
};

RequestRing::RequestRing() = default;

RequestRing::~RequestRing() {
  for (const Place& place : places_) {
    wipe(place.headers(), sizeof(Headers));
    wipe(place.payload() - head_bytes, head_bytes + place.needed);
  }
}

Result<std::unique_ptr<RequestRing>> RequestRing::make(int channel,
                                                       const std::vector<std::uint16_t>& queues) {
  std::unique_ptr<RequestRing> made(new RequestRing);
  made->queue_ = std::make_unique<Queue>();
  Queue& queue = *made->queue_;
  io_uring_params& parameters = queue.parameters;
  // The thread that uses it enables it. Then only this thread may, and what the system does for it
  // is done when it asks.
  parameters.flags = IORING_SETUP_SQE128 | IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
                     IORING_SETUP_DEFER_TASKRUN;
  made->ring_ =
      Descriptor(static_cast<int>(syscall(SYS_io_uring_setup, queues.size(), &parameters)));
  if (!made->ring_.is_open()) {
    return Errno(errno);
  }
  const int ring = made->ring_.number();
  const std::size_t ring_bytes =
      std::max<std::size_t>(parameters.sq_off.array + parameters.sq_entries * sizeof(std::uint32_t),
                            parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
  queue.rings = Mapping(ring_bytes, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  queue.entries = Mapping(parameters.sq_entries * entry_bytes, MAP_SHARED | MAP_POPULATE, ring,
                          IORING_OFF_SQES);
  if (!queue.rings.is_there() || !queue.entries.is_there()) {
    return Errno(errno);
  }
  if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &channel, 1) != 0) {
    return Errno(errno);
  }
  made->places_.resize(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    Place& place = made->places_[i];
    const std::size_t page = page_bytes();
    place.memory =
        Mapping(page + max_request_bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!place.memory.is_there()) {
      const int error = errno;
      made->places_.resize(i);
      return Errno(error);
    }
    place.queue = queues[i];
    place.parts[0] = {place.memory.at(0), sizeof(Headers)};
    place.parts[1] = {place.memory.at(page), max_request_bytes};
  }
  return made;
}

void RequestRing::submit(std::size_t number) noexcept {
  const Place& place = places_[number];
  io_uring_sqe entry{};
  entry.opcode = IORING_OP_URING_CMD;
  entry.flags = IOSQE_FIXED_FILE;  // the first, and only one
  entry.user_data = number;
  Command command{};
  command.queue = place.queue;
  if (place.is_registered) {  // it has had a request
    entry.cmd_op = command_answer_and_receive;
    command.id = place.state().id;
  } else {
    entry.cmd_op = command_register;
    entry.addr = reinterpret_cast<std::uintptr_t>(place.parts);
    entry.len = 2;  // parts
  }
  queue_->put(entry, command);
}

Result<void> RequestRing::start() noexcept {
  ring_of_thread = this;
  if (places_.size() == 1) {
    home_.settle(places_[0].queue);
  }
  if (syscall(SYS_io_uring_register, ring_.number(), IORING_REGISTER_ENABLE_RINGS, nullptr, 0) !=
      0) {
    return Errno(errno);
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    submit(i);
  }
  while (queue_->unsubmitted != 0) {
    if (const Result<void> entered = queue_->enter(ring_, 0); !entered) {
      return entered;
    }
  }
  return queue_->first_error();  // a refusal comes at once
}

Result<MutableBytes> RequestRing::receive() noexcept {
  if (current_ != nullptr && !current_->is_answered) {
    refuse();
  }
  if (const Place* const last = std::exchange(current_, nullptr)) {
    submit(static_cast<std::size_t>(last - places_.data()));
  }
  for (;;) {
    io_uring_cqe result{};
    if (!queue_->take(result)) {
      if (const Result<void> entered = queue_->enter(ring_, 1); !entered) {
        return entered.error();
      }
    } else if (result.res == -EAGAIN || result.res == -EINTR) {
      submit(result.user_data);
    } else if (result.res < 0) {
      return Errno(-result.res);
    } else {
      return assemble(places_[result.user_data]);
    }
  }
}

namespace {

// Whether a request carries, or asks for, so much that whoever asks has time for something else.
bool is_large(Bytes request, std::uint32_t opcode) noexcept {
  constexpr std::size_t large = std::size_t{128} << 10;
  fuse_read_in read{};
  if (opcode != FUSE_READ || request.size() < sizeof(fuse_in_header) + sizeof read) {
    return request.size() >= large;
  }
  std::memcpy(&read, request.data() + sizeof(fuse_in_header), sizeof read);
  return read.size >= large;
}

}  // namespace

// libfuse wants a request in one piece: the headers go before the payload, which stays.
Result<MutableBytes> RequestRing::assemble(Place& place) noexcept {
  current_ = &place;
  place.is_registered = true;
  fuse_in_header header{};
  std::memcpy(&header, place.headers() + offsetof(Headers, general), sizeof header);
  const std::size_t payload = place.state().payload_bytes;
  place.id = header.unique;
  place.is_answered = false;
  place.has_payload = payload != 0;
  place.needed = std::max(place.needed, payload);
  const std::size_t rest = sizeof header + payload;  // besides what follows the general header
  if (payload > max_request_bytes || header.len < rest ||
      header.len - rest > sizeof Headers::operation) {
    refuse();
    return Errno(EPROTO);
  }
  const std::size_t head = header.len - payload;
  std::uint8_t* const begin = place.payload() - head;
  std::memcpy(begin, &header, sizeof header);
  std::memcpy(begin + sizeof header, place.headers() + offsetof(Headers, operation),
              head - sizeof header);
  const MutableBytes request(begin, header.len);
  home_.note_request(is_large(request, header.opcode));
  return request;
}

#else

struct RequestRing::Queue {};

RequestRing::RequestRing() = default;
RequestRing::~RequestRing() = default;

// The system's headers are older than 6.1.
Result<std::unique_ptr<RequestRing>> RequestRing::make(int, const std::vector<std::uint16_t>&) {
  return Errno(ENOSYS);
}
Result<void> RequestRing::start() noexcept { return Errno(ENOSYS); }
Result<MutableBytes> RequestRing::receive() noexcept { return Errno(ENOSYS); }

#endif

// Nobody waits for ever, whatever is wrong with the request.
void RequestRing::refuse() noexcept {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = -EIO;
  header.unique = current_->id;
  const iovec part = {&header, sizeof header};
  (void)answer(&part, 1);
}

bool RequestRing::answer(const iovec* parts, std::size_t count) noexcept {
  fuse_out_header header{};
  if (current_ == nullptr || current_->is_answered || parts[0].iov_len != sizeof header) {
    return false;
  }
  std::memcpy(&header, parts[0].iov_base, sizeof header);
  if (header.unique != current_->id) {
    return false;
  }
  std::size_t payload = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t bytes = parts[i].iov_len;
    if (bytes > max_request_bytes - payload) {
      header.error = -EIO;
      payload = 0;
      break;
    }
    std::uint8_t* const to = current_->payload() + payload;
    if (bytes != 0 && to != parts[i].iov_base) {
      std::memmove(to, parts[i].iov_base, bytes);
    }
    payload += bytes;
  }
  current_->needed = std::max(current_->needed, payload);
  PlaceState state = current_->state();
  state.payload_bytes = static_cast<std::uint32_t>(payload);
  std::memcpy(current_->headers() + offsetof(Headers, general), &header, sizeof header);
  std::memcpy(current_->headers() + offsetof(Headers, state), &state, sizeof state);
  current_->is_answered = true;
  return true;
}

MutableBytes RequestRing::answer_room(std::size_t bytes) noexcept {
  if (current_ == nullptr || current_->is_answered || current_->has_payload ||
      bytes > max_request_bytes) {
    return {};
  }
  current_->needed = std::max(current_->needed, bytes);
  return {current_->payload(), bytes};
}

RequestRing* own_ring() noexcept { return ring_of_thread; }

}  // namespace paes::mount
