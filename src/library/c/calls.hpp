// SPDX-License-Identifier: Apache-2.0
// What the functions of the C interface share: exceptions become codes, and their texts stay with
// the thread.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "paes/cancel.hpp"
#include "paes/device.h"
#include "paes/device.hpp"
#include "paes/error.h"
#include "paes/error.hpp"

struct paes_device {
  std::shared_ptr<paes::Device> device;
};

namespace paes::c {

// For paes_error_message and paes_error_hint of this thread.
void keep_reason(const char* message, const char* hint) noexcept;

template <typename Call>
int code_of(const Call& call) noexcept {
  try {
    call();
    return PAES_OK;
  } catch (const Error& error) {
    keep_reason(error.what(), error.hint.c_str());
    return static_cast<int>(error.code);
  } catch (const std::bad_alloc&) {
    keep_reason("memory: the system has no more", "");
  } catch (const std::exception& error) {
    keep_reason(error.what(), "");
  } catch (...) {
    keep_reason("an unknown failure", "");
  }
  return PAES_FAILURE;
}

// An argument that a call needs. C lets callers pass null.
template <typename Pointer>
Pointer given(Pointer pointer, const char* what) {
  if (pointer == nullptr) {
    throw Error(ErrorCode::usage, std::string(what) + ": is null");
  }
  return pointer;
}

template <typename Byte>
std::span<Byte> bytes_at(Byte* at, std::size_t bytes, const char* what) {
  return bytes == 0 ? std::span<Byte>() : std::span<Byte>(given(at, what), bytes);
}

// Puts what make() returns into an object of the C interface, and its address into `made`, which is
// null after a failure.
template <typename Handle, typename Make>
int make_handle(Handle** made, const char* what, const Make& make) {
  return code_of([&] {
    Handle*& place = *given(made, what);
    place = nullptr;
    place = new Handle{make()};
  });
}

// The member `threads` of options, where 0 means the caller's own.
inline unsigned threads_of(unsigned threads) noexcept {
  return threads == PAES_EVERY_PROCESSOR ? 0 : threads == 0 ? 1 : threads;
}

inline std::string_view kernel_of(const char* name) noexcept {
  return name != nullptr ? name : "auto";
}

inline std::shared_ptr<Device> device_of(const paes_device* device) noexcept {
  return device != nullptr ? device->device : nullptr;
}

}  // namespace paes::c
