// SPDX-License-Identifier: Apache-2.0
// Copies between a device and memory of the host that nobody pinned, as programs make them that
// know nothing of pinned memory: the driver carries the data through memory of its own. paes never
// does this. Its runtime takes pinned memory alone, and its devices have their own way for the
// rest.
#pragma once

#include <memory>

#include "cuda/runtime.hpp"

namespace paes::cuda {

class PageableCopies {
 public:
  PageableCopies() = default;
  virtual ~PageableCopies() = default;
  PageableCopies(const PageableCopies&) = delete;
  PageableCopies& operator=(const PageableCopies&) = delete;

  // These enter a copy into the stream. It may be done already when they return.
  virtual void in(Stream stream, void* device_memory, const void* host, std::size_t bytes) = 0;
  virtual void out(Stream stream, void* host, const void* device_memory, std::size_t bytes) = 0;
};

// The driver's own copies, of streams of this device. Like Runtime, they throw Error with the name
// of the call that failed; builds without CUDA always throw.
[[nodiscard]] std::unique_ptr<PageableCopies> make_pageable_copies(int ordinal);

}  // namespace paes::cuda
