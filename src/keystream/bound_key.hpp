// A key of the engine: bound once to a cipher, a mode and a kernel, and shared by contexts. CtrKey
// (ctr.hpp) and SealKey (seal.hpp) say what their modes do with it.
#pragma once

#include <memory>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "keystream/budget.hpp"
#include "keystream/costs.hpp"

namespace paes::keystream {

class BoundKey {
 public:
  // Throws Error(failure) when the budget has no room for a key.
  BoundKey(const Kernel& kernel, std::shared_ptr<Costs> costs, std::shared_ptr<Budget> budget);
  virtual ~BoundKey() = default;
  BoundKey(const BoundKey&) = delete;
  BoundKey& operator=(const BoundKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] Costs& costs() const noexcept { return *costs_; }
  // Whether the engine with this budget has bound the key.
  [[nodiscard]] bool draws_from(const Budget& budget) const noexcept {
    return budget_.get() == &budget;
  }
  [[nodiscard]] virtual std::size_t block_size() const noexcept = 0;

  // What a request without keystream does, in place. The first guess of its cost comes from this.
  virtual void compute_directly(MutableBytes chunk) const noexcept = 0;

 private:
  const Kernel& kernel_;
  const std::shared_ptr<Costs> costs_;
  const std::shared_ptr<Budget> budget_;
  const Reservation memory_;
};

// Adds the median of a few chunks to the key's costs.
void measure_direct(const BoundKey& key, std::size_t chunk_bytes);

}  // namespace paes::keystream
