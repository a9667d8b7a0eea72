#include "keystream/bound_key.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "message/raw_limits.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// Of a RawKey's own pages.
constexpr std::size_t key_memory_bytes = 2 * sizeof(KernelKeys) + sizeof(BoundKey);

const Executor& serial() {
  static const std::unique_ptr<Executor> executor = make_executor(Schedule::serial, 1);
  return *executor;
}

Mode counter_mode(const CipherName& name) {
  if (name.is_gcm() || *name.mode != Mode::ctr) {
    throw Error(ErrorCode::usage, "keystream: " + name.name + " is no counter mode",
                "there is: aes-128-ctr, aes-192-ctr, aes-256-ctr, des-ede3-ctr");
  }
  return *name.mode;
}

// Before anything is allocated.
std::shared_ptr<Budget> reserved(std::shared_ptr<Budget> budget) {
  if (!budget->reserve(key_memory_bytes)) {
    throw Error(ErrorCode::failure, "keystream: the budget has no room for another key");
  }
  return budget;
}

// Gives the reservation back when the key's constructor throws.
class Reserved {
 public:
  explicit Reserved(Budget& budget) noexcept : budget_(&budget) {}
  ~Reserved() {
    if (budget_ != nullptr) {
      budget_->release(key_memory_bytes);
    }
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  void keep() noexcept { budget_ = nullptr; }

 private:
  Budget* budget_;
};

RawKey bind(const CipherName& name, Bytes key, const Kernel& kernel, Budget& budget) {
  Reserved room(budget);
  if (key.size() != name.key_bytes) {
    throw Error(ErrorCode::usage,
                "key: " + name.name + " takes " + std::to_string(name.key_bytes) + " bytes");
  }
  RawKey bound(name.cipher, counter_mode(name), key, kernel);
  room.keep();
  return bound;
}

}  // namespace

BoundKey::BoundKey(const CipherName& name, Bytes key, const Kernel& kernel,
                   std::shared_ptr<Costs> costs, std::shared_ptr<Budget> budget)
    : budget_(reserved(std::move(budget))),
      costs_(std::move(costs)),
      key_(bind(name, key, kernel, *budget_)) {}

BoundKey::~BoundKey() { budget_->release(key_memory_bytes); }

void BoundKey::crypt(const Block& first_counter, std::uint64_t offset, Bytes in,
                     MutableBytes out) const noexcept {
  const std::size_t size = block_size();
  const std::size_t within = offset % size;
  RawPosition position = key_.at(Bytes(first_counter.bytes, size), offset - within, {});
  if (within != 0) {
    // A block of which others have had the beginning.
    Block block = {};
    const WipeOnExit wiped(block.bytes);
    const std::size_t bytes = std::min(in.size(), size - within);
    std::memcpy(block.bytes + within, in.data(), bytes);
    const MutableBytes whole(block.bytes, size);
    key_.crypt(Direction::encrypt, position, whole, whole, serial(), size);
    std::memcpy(out.data(), block.bytes + within, bytes);
    in = in.subspan(bytes);
    out = out.subspan(bytes);
  }
  if (!in.empty()) {
    key_.crypt(Direction::encrypt, position, in, out, serial(), in.size());
  }
}

bool BoundKey::count_encrypted(std::uint64_t first, std::uint64_t end) noexcept {
  if (kernel().cipher != Cipher::des_ede3) {
    return true;
  }
  const std::uint64_t blocks = (end - 1) / block_size() - first / block_size() + 1;
  std::uint64_t before = encrypted_blocks_.load(std::memory_order_relaxed);
  do {
    if (blocks > max_des_blocks - before) {
      return false;
    }
  } while (
      !encrypted_blocks_.compare_exchange_weak(before, before + blocks, std::memory_order_relaxed));
  return true;
}

void measure_direct(const BoundKey& key, std::size_t chunk_bytes) {
  SecretBytes chunk(chunk_bytes);
  const Block counter = {};
  std::array<double, 7> samples = {};
  key.crypt(counter, 0, chunk, chunk);  // what the caches and the processor's clock need
  for (double& sample : samples) {
    const Stopwatch watch;
    key.crypt(counter, 0, chunk, chunk);
    sample = watch.elapsed_ns();
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  key.costs().direct.add(samples[samples.size() / 2]);
}

}  // namespace paes::keystream
