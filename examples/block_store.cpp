// A tiny encrypted block store on a file, which uses the keystream engine as a file system would.
// Blocks go to the end of a log, so that a rewrite never meets keystream that has been used, and
// the engine always knows what comes next; while the disk is busy it computes. Written twice, with
// speculation and without, and read back. (Counter mode alone: a real store would authenticate its
// blocks as well.)
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "paes/keystream.hpp"
#include "paes/nonces.hpp"
#include "random.hpp"

namespace {

using Block = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t block_bytes = 4096;

// The file: the nonce in its first block, then the log.
class BlockStore {
 public:
  BlockStore(const std::string& path, const Block& key, unsigned window_chunks)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        key_(engine_.bind("aes-256-ctr", key)),
        context_(open_context(path, window_chunks)) {}
  ~BlockStore() { (void)close(file_); }
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  void put(std::uint64_t number, const Block& block) {
    Block sealed(block_bytes);
    const auto start = Clock::now();
    context_.encrypt(log_end_, block, sealed);
    waits_ns_.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    check(pwrite(file_, sealed.data(), block_bytes, place_of(log_end_)));
    place_[number] = log_end_;
    log_end_ += block_bytes;
  }

  Block get(std::uint64_t number) {
    Block block(block_bytes);
    check(pread(file_, block.data(), block_bytes, place_of(place_.at(number))));
    context_.decrypt(place_.at(number), block, block);
    return block;
  }

  // Where a file system waits for its disk.
  void wait_for_disk() {
    const auto end = Clock::now() + std::chrono::microseconds(20);
    engine_.idle(end);
    while (Clock::now() < end) {
    }
  }

  double median_wait_ns() {
    std::sort(waits_ns_.begin(), waits_ns_.end());
    return waits_ns_[waits_ns_.size() / 2];
  }

 private:
  // A new file gets a nonce of its own. One that exists goes on behind its log.
  paes::KeystreamContext open_context(const std::string& path, unsigned window_chunks) {
    Block header(block_bytes);
    paes::Nonce nonce;
    const off_t bytes = lseek(file_, 0, SEEK_END);
    if (bytes <= 0) {
      nonce = paes::NonceAllocator::in_file(paes::NonceCipher::aes, path + ".nonces").allocate();
      std::copy_n(nonce.counter, sizeof nonce.counter, header.begin());
      check(pwrite(file_, header.data(), block_bytes, 0));
    } else {
      check(pread(file_, header.data(), block_bytes, 0));
      std::copy_n(header.begin(), sizeof nonce.counter, nonce.counter);
      nonce.limit_bytes = std::uint64_t{16} << 32;
      log_end_ = static_cast<std::uint64_t>(bytes) - block_bytes;
    }
    paes::KeystreamContext context = engine_.open(key_, nonce.first_counter(),
                                                  {.window_chunks = window_chunks,
                                                   .first_chunk = log_end_ / block_bytes,
                                                   .limit_bytes = nonce.limit_bytes});
    context.mark_used(0, log_end_);
    return context;
  }

  static off_t place_of(std::uint64_t log) { return static_cast<off_t>(log + block_bytes); }
  static void check(ssize_t bytes) {
    if (bytes != static_cast<ssize_t>(block_bytes)) {
      throw std::runtime_error("the store's file cannot be read or written");
    }
  }

  int file_;
  std::uint64_t log_end_ = 0;
  paes::KeystreamEngine engine_;
  paes::KeystreamKey key_;
  paes::KeystreamContext context_;
  std::map<std::uint64_t, std::uint64_t> place_;  // of each block in the log
  std::vector<double> waits_ns_;
};

// Every other block once more, as files are.
double fill(const std::string& path, const Block& key, unsigned window_chunks, bool& is_right) {
  constexpr std::uint64_t blocks = 1000;
  BlockStore store(path, key, window_chunks);
  std::map<std::uint64_t, Block> kept;
  for (std::uint64_t i = 0; i < blocks * 3 / 2; ++i) {
    const std::uint64_t number = i < blocks ? i : (i - blocks) * 2;
    kept[number] = Block(block_bytes, static_cast<std::uint8_t>(i * 7));
    store.put(number, kept[number]);
    store.wait_for_disk();
  }
  for (const auto& [number, block] : kept) {
    is_right = is_right && store.get(number) == block;
  }
  return store.median_wait_ns();
}

}  // namespace

int main() {
  std::string folder = "/tmp/block_storeXXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return 1;
  }
  const Block key = random_bytes(32);
  bool is_right = true;
  const double direct_ns = fill(folder + "/direct", key, 0, is_right);
  const double ahead_ns = fill(folder + "/ahead", random_bytes(32), 16, is_right);
  // Opened again, a store goes on behind what it has.
  (void)fill(folder + "/direct", key, 16, is_right);
  std::printf(
      "encrypting a block of 4 KiB: %.0f ns, with keystream computed ahead %.0f ns (%.1f x)\n",
      direct_ns, ahead_ns, direct_ns / ahead_ns);
  for (const char* const name : {"/direct", "/ahead", "/direct.nonces", "/ahead.nonces"}) {
    (void)unlink((folder + name).c_str());
  }
  (void)rmdir(folder.c_str());
  return is_right ? 0 : 1;
}
