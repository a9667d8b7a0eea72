// A key of the engine: bound once to a cipher, a mode and a kernel, and shared by contexts. What
// the modes do with it is theirs (ctr.hpp, seal.hpp).
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
  virtual ~BoundKey();
  BoundKey(const BoundKey&) = delete;
  BoundKey& operator=(const BoundKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] Costs& costs() const noexcept { return *costs_; }
  // Whether it is of the engine that has this budget.
  [[nodiscard]] bool draws_from(const Budget& budget) const noexcept {
    return budget_.get() == &budget;
  }
  [[nodiscard]] virtual std::size_t block_size() const noexcept = 0;

  // What a request without keystream takes, in place, for a key's first guess of its cost.
  virtual void compute_directly(MutableBytes chunk) const noexcept = 0;

 private:
  const Kernel& kernel_;
  const std::shared_ptr<Costs> costs_;
  const std::shared_ptr<Budget> budget_;
};

// The median of a few chunks.
void measure_direct(const BoundKey& key, std::size_t chunk_bytes);

}  // namespace paes::keystream
