#include "paes-mount/callers_processor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "core/descriptor.hpp"
#include "paes-mount/raw_request.hpp"

namespace paes::mount {

namespace {

// So many requests make a caller worth following, and after so many more it may be elsewhere. To
// find out takes about as long as two requests.
constexpr unsigned first_requests = 32;
constexpr unsigned further_requests = 64;

// Text above this takes longer to encrypt than a thread to wake.
constexpr std::uint32_t short_bytes = 16U << 10;

enum class Length { unawaited, brief, lengthy };

Length length_of(const fuse_in_header& header, const void* request, std::size_t bytes) noexcept {
  switch (header.opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_INTERRUPT:
      return Length::unawaited;
    case FUSE_READ: {
      fuse_read_in read{};
      return read_body(request, bytes, sizeof read, read) && read.size <= short_bytes
                 ? Length::brief
                 : Length::lengthy;
    }
    case FUSE_WRITE:
      return bytes <= sizeof header + sizeof(fuse_write_in) + short_bytes ? Length::brief
                                                                          : Length::lengthy;
    case FUSE_FSYNC:
    case FUSE_FSYNCDIR:
    case FUSE_FALLOCATE:
    case FUSE_COPY_FILE_RANGE:
      return Length::lengthy;
    default:
      return Length::brief;
  }
}

}  // namespace

int processor_of(pid_t thread) noexcept {
  std::array<char, 64> path{};
  constexpr std::string_view before = "/proc/";
  constexpr std::string_view after = "/stat";
  char* const number = std::copy(before.begin(), before.end(), path.begin());
  char* const end = std::to_chars(number, path.data() + path.size(), thread).ptr;
  std::copy(after.begin(), after.end(), end);
  const Descriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> line{};
  const ssize_t bytes = file.is_open() ? read(file.number(), line.data(), line.size()) : 0;
  if (bytes <= 0) {
    return any_processor;
  }
  // The name, in parentheses, may hold anything. The field "processor" is the 37th after it
  // (proc_pid_stat(5)).
  std::string_view rest(line.data(), static_cast<std::size_t>(bytes));
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  constexpr int fields = 37;
  for (int field = 0; field < fields; ++field) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) {
      return any_processor;
    }
    rest.remove_prefix(space + 1);
  }
  int processor = any_processor;
  (void)std::from_chars(rest.data(), rest.data() + rest.size(), processor);
  return processor;
}

int CallersProcessor::after(const void* request, std::size_t bytes) noexcept {
  fuse_in_header header{};
  if (!read_header(request, bytes, header)) {
    return any_processor;
  }
  const auto caller = static_cast<pid_t>(header.pid);
  const Length length = length_of(header, request, bytes);
  // What the system writes on its own has no caller.
  if (length == Length::unawaited || (length == Length::brief && caller == 0)) {
    return processor_.load(std::memory_order_relaxed);
  }
  // Threads may overtake each other here, and one of them may then run where it is slower.
  if (length == Length::lengthy || caller_.exchange(caller, std::memory_order_relaxed) != caller) {
    requests_.store(0, std::memory_order_relaxed);
    processor_.store(any_processor, std::memory_order_relaxed);
    return any_processor;
  }
  const unsigned requests = requests_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (requests % further_requests == first_requests) {
    processor_.store(processor_of_(caller), std::memory_order_relaxed);
  }
  return processor_.load(std::memory_order_relaxed);
}

OwnProcessors::OwnProcessors() noexcept
    : are_known_(sched_getaffinity(0, sizeof all_, &all_) == 0) {}

void OwnProcessors::keep_to(int processor) noexcept {
  if (processor == kept_to_ || !are_known_) {
    return;
  }
  kept_to_ = processor;
  cpu_set_t one{};
  const bool is_own = processor >= 0 && processor < CPU_SETSIZE &&
                      CPU_ISSET(static_cast<std::size_t>(processor), &all_);
  if (is_own) {
    CPU_SET(static_cast<std::size_t>(processor), &one);
  }
  (void)sched_setaffinity(0, sizeof one, is_own ? &one : &all_);
}

}  // namespace paes::mount
