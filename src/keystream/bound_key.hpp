// SPDX-License-Identifier: Apache-2.0
// A key of the engine: bound once to a cipher, a mode and a kernel, and shared by contexts. CtrKey
// (ctr.hpp) and SealKey (seal.hpp) use it for their modes.
#pragma once

#include <memory>
#include <utility>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "keystream/budget.hpp"
#include "keystream/costs.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

class BoundKey {
 public:
  // Throws Error(failure) if the budget has no room for a key.
  BoundKey(const Kernel& kernel, std::shared_ptr<Costs> costs, std::shared_ptr<Budget> budget)
      : kernel_(kernel),
        costs_(std::move(costs)),
        budget_(std::move(budget)),
        memory_(budget_, memory_bytes) {
    if (!memory_.is_granted()) {
      throw Error(ErrorCode::failure, "keystream: the budget has no room for another key");
    }
  }
  virtual ~BoundKey() = default;
  BoundKey(const BoundKey&) = delete;
  BoundKey& operator=(const BoundKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] Costs& costs() const noexcept { return *costs_; }
  // Whether the engine with this budget has bound the key.
  [[nodiscard]] bool draws_from(const Budget& budget) const noexcept {
    return budget_.get() == &budget;
  }
  [[nodiscard]] std::size_t block_size() const noexcept { return block_bytes_of(kernel_.cipher); }

  // Does what a request without keystream does, in place, for a first guess of its cost.
  virtual void compute_directly(MutableBytes chunk) const noexcept = 0;

 private:
  // The memory of a kernel's keys and what belongs to them. They have pages of their own.
  static constexpr std::size_t memory_bytes = 2 * sizeof(KernelKeys) + 256;

  const Kernel& kernel_;
  const std::shared_ptr<Costs> costs_;
  const std::shared_ptr<Budget> budget_;
  const Reservation memory_;
};

}  // namespace paes::keystream
