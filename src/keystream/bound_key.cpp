#include "keystream/bound_key.hpp"

#include <algorithm>
#include <array>

#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// What a kernel's keys take, with what belongs to them. They have pages of their own.
constexpr std::size_t key_memory_bytes = 2 * sizeof(KernelKeys) + 256;

}  // namespace

BoundKey::BoundKey(const Kernel& kernel, std::shared_ptr<Costs> costs,
                   std::shared_ptr<Budget> budget)
    : kernel_(kernel),
      costs_(std::move(costs)),
      budget_(std::move(budget)),
      memory_(budget_, key_memory_bytes) {
  if (!memory_.is_granted()) {
    throw Error(ErrorCode::failure, "keystream: the budget has no room for another key");
  }
}

void measure_direct(const BoundKey& key, std::size_t chunk_bytes) {
  SecretBytes chunk(chunk_bytes);
  std::array<double, 7> samples = {};
  key.compute_directly(chunk);  // warms up the caches and the processor's clock
  for (double& sample : samples) {
    const Stopwatch watch;
    key.compute_directly(chunk);
    sample = watch.elapsed_ns();
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  key.costs().add(Way::direct, samples[samples.size() / 2]);
}

}  // namespace paes::keystream
