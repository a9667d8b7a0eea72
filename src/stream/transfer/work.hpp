// SPDX-License-Identifier: Apache-2.0
// How the work on one input is done: by which kernel, on which threads, in what pieces, with which
// device, and who may stop it or watch it. Nothing here changes a byte of the output. The programs
// and the library each make a Work from their options; everything below takes it as it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "exec/executor.hpp"
#include "kernel/kernel.hpp"
#include "message/device.hpp"
#include "stream/transfer/buffer.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes::stream {

inline constexpr std::size_t default_piece_bytes = std::size_t{256} << 10;
inline constexpr std::size_t max_piece_bytes = std::size_t{4} << 20;  // bounds memory per thread
inline constexpr std::size_t max_device_piece_bytes = std::size_t{16} << 20;  // with a device

struct Work {
  std::reference_wrapper<const Executor> executor = serial_executor();
  const Kernel& kernel;
  // The text that a thread takes at a time. A device never gets more than its piece_bytes().
  std::size_t piece_bytes = default_piece_bytes;
  const Cancel* cancel = nullptr;
  std::atomic<std::uint64_t>* progress = nullptr;  // counts up the finished bytes of text
  // Buffers that outlive the transfer, for callers with many short ones. Without them, or if they
  // do not fit its layout, the transfer makes its own.
  BufferPool* buffers = nullptr;
  // Buffers go to the device. The kernel computes what it declines, and everything in chained
  // modes.
  DeviceUse device_use = {};
};

// The piece, rounded up to a multiple of 16 KiB, and at most the device's piece_bytes(). Throws
// Error(usage) above max_piece_bytes, or with a device above max_device_piece_bytes.
[[nodiscard]] std::size_t buffer_bytes(const Work& work);

}  // namespace paes::stream
