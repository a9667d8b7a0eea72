// SPDX-License-Identifier: Apache-2.0
// Python's bytes, memoryviews and arrays as spans of bytes, for as long as the object lives.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "gil.hpp"

namespace paes::python {

namespace nb = nanobind;

// An argument that must have a buffer. The stubs name its type. An unsuitable object is reported
// where the buffer is taken, so that a caller reads one line instead of a list of overloads.
struct ReadArgument {
  nb::handle object;
};
struct WriteArgument {
  nb::handle object;
};
struct PathArgument {
  nb::handle object;

  // Raises what Python's own open raises if this cannot be a file name.
  [[nodiscard]] std::string path() const;
};

// Contiguous bytes of a Python object. Made and destroyed with the GIL held; in between, the object
// keeps its memory in place.
class Buffer {
 public:
  // Throws TypeError for an object without a buffer, and what the object raises if its buffer is
  // gone. `name` is the argument's, for our messages.
  Buffer(ReadArgument from, const char* name) : Buffer(from.object, PyBUF_SIMPLE, name) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept {
    return {static_cast<const std::uint8_t*>(view_.buf), size()};
  }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }

 protected:
  Buffer(nb::handle object, int flags, const char* name);

  Py_buffer view_;
};

class WritableBuffer : public Buffer {
 public:
  // Throws TypeError for an object without a buffer, or with one that is not writable.
  WritableBuffer(WriteArgument from, const char* name)
      : Buffer(from.object, PyBUF_WRITABLE, name) {}

  [[nodiscard]] std::span<std::uint8_t> span() const noexcept {
    return {static_cast<std::uint8_t*>(view_.buf), size()};
  }
};

// New `bytes`, which nobody else sees before it is filled.
class NewBytes {
 public:
  explicit NewBytes(std::size_t size);

  [[nodiscard]] std::span<std::uint8_t> span() const noexcept;
  // Its first `size` bytes.
  [[nodiscard]] nb::bytes take(std::size_t size) &&;

 private:
  nb::object object_;
};

// New bytes from the system's generator.
[[nodiscard]] nb::bytes random_key(std::size_t size);

// Calls `work`, without the GIL if the work takes longer than giving up the GIL does.
inline constexpr std::size_t short_call_bytes = 4096;
template <typename Work>
auto without_gil(std::size_t bytes, Work&& work) {
  if (bytes <= short_call_bytes) {
    return work();
  }
  const GilReleased released;
  return work();
}

// Allows one call at a time. An object that keeps state raises an error instead of waiting, because
// a thread that waits with the GIL stops all others.
class Turn {
 public:
  // Throws Error(usage) while another call has the turn.
  explicit Turn(std::atomic_flag& taken);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { taken_.clear(); }

 private:
  std::atomic_flag& taken_;
};

// Throws Error(usage) for a buffer of fewer than `needed` bytes.
void check_room(std::size_t room, std::size_t needed);
// Throws Error(usage) unless the buffer has exactly `bytes` bytes.
[[nodiscard]] std::span<std::uint8_t> exact_room(const WritableBuffer& buffer, std::size_t bytes);

// Provides the memory for a result of this length: a call's result may be new bytes, or go into the
// caller's buffer.
using Room = std::function<std::span<std::uint8_t>(std::size_t bytes)>;
template <typename Work>
nb::bytes to_new_bytes(const Work& work) {
  std::optional<NewBytes> result;
  work([&](std::size_t bytes) { return result.emplace(bytes).span(); });
  return std::move(*result).take(result->span().size());
}
template <typename Work>
std::size_t to_buffer(WriteArgument buffer, const char* name, const Work& work) {
  const WritableBuffer result(buffer, name);
  work([&](std::size_t bytes) { return exact_room(result, bytes); });
  return result.size();
}

// Whether the two share memory.
[[nodiscard]] bool overlap(std::span<const std::uint8_t> in, std::span<const std::uint8_t> out);
// Throws Error(usage) if they share memory and do not begin at the same place: what is written
// would be read again.
void check_overlap(std::span<const std::uint8_t> in, std::span<const std::uint8_t> out);

}  // namespace paes::python

namespace nanobind::detail {

template <>
struct type_caster<paes::python::ReadArgument> {
  NB_TYPE_CASTER(paes::python::ReadArgument, const_name("typing_extensions.Buffer"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return true;
  }
};
template <>
struct type_caster<paes::python::WriteArgument> {
  NB_TYPE_CASTER(paes::python::WriteArgument, const_name("typing_extensions.Buffer"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return true;
  }
};

template <>
struct type_caster<paes::python::PathArgument> {
  NB_TYPE_CASTER(paes::python::PathArgument, const_name("str | os.PathLike[str]"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return true;
  }
};

}  // namespace nanobind::detail
