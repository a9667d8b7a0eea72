// SPDX-License-Identifier: Apache-2.0
// A tiny encrypted block store on a file, which uses the keystream engine as a file system would.
// Blocks are appended to a log, each as its own message under AES-GCM. So a rewrite never meets
// keystream that has been used, the engine always knows what comes next, and it computes while the
// disk is busy. A block's number is authenticated with it, and so is its place in the log, which is
// its nonce. The program writes with and without keystream in advance, and reads back.
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

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t block_bytes = 4096;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t sealed_bytes = block_bytes + tag_bytes;
constexpr std::size_t header_bytes = 4096;
constexpr std::size_t most_rows = 200;
constexpr std::uint64_t most_entries = std::uint64_t{1} << 32;

// The file is a header, then the log: ciphertext and tag of one block after the other. For each
// time that the store was opened, the header has a row of nonces and the entry with which it
// begins. After a crash, what the last run wrote may be missing or incomplete; a new row never
// meets its nonces again.
class BlockStore {
 public:
  BlockStore(const std::string& path, const Bytes& key, unsigned window)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        key_(engine_.bind("aes-256-gcm", key)) {
    read_header();
    Row row;
    const paes::NonceRow nonces =
        paes::NonceAllocator::in_file(paes::NonceCipher::aes, path + ".nonces")
            .allocate_messages(most_entries);
    std::copy_n(nonces.first, sizeof row.first_nonce, row.first_nonce);
    row.first_entry = static_cast<std::uint32_t>(log_end_);
    open_row(row, window);
    write_header();
  }
  ~BlockStore() { (void)close(file_); }
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  void put(std::uint64_t number, const Bytes& block) {
    const std::uint64_t entry = log_end_++;  // from now on this entry counts as used
    const std::span<std::uint8_t> all(sealed_);
    const auto start = Clock::now();
    contexts_.back().seal(entry - rows_.back().first_entry, name_of(number), block,
                          all.first(block_bytes), all.last(tag_bytes));
    waits_ns_.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    check(pwrite(file_, sealed_.data(), sealed_bytes, place_of(entry)), sealed_bytes);
    entry_[number] = entry;
  }

  Bytes get(std::uint64_t number) {
    const std::uint64_t entry = entry_.at(number);
    Bytes block(block_bytes);
    check(pread(file_, sealed_.data(), sealed_bytes, place_of(entry)), sealed_bytes);
    const std::span<const std::uint8_t> all(sealed_);
    std::size_t row = rows_.size() - 1;
    while (rows_[row].first_entry > entry) {
      --row;
    }
    if (!contexts_[row].open(entry - rows_[row].first_entry, name_of(number),
                             all.first(block_bytes), block, all.last(tag_bytes))) {
      throw std::runtime_error("a block has been changed");
    }
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
  struct Row {
    std::uint8_t first_nonce[12];
    std::uint32_t first_entry;
  };

  void open_row(const Row& row, unsigned window) {
    rows_.push_back(row);
    contexts_.push_back(engine_.open_sealed(
        key_, row.first_nonce, {.window_messages = window, .limit_messages = most_entries}));
  }

  void read_header() {
    const off_t bytes = lseek(file_, 0, SEEK_END);
    if (bytes < static_cast<off_t>(header_bytes)) {
      return;
    }
    log_end_ = (static_cast<std::uint64_t>(bytes) - header_bytes) / sealed_bytes;
    Bytes header(header_bytes);
    check(pread(file_, header.data(), header_bytes, 0), header_bytes);
    for (std::size_t i = 0; i < std::min<std::size_t>(header[0], most_rows); ++i) {
      Row row;
      std::memcpy(&row, header.data() + (i + 1) * sizeof row, sizeof row);
      open_row(row, 0);  // for reading
    }
  }

  void write_header() {
    if (rows_.size() > most_rows) {
      throw std::runtime_error("the store has been opened too often: copy it");
    }
    Bytes header(header_bytes);
    header[0] = static_cast<std::uint8_t>(rows_.size());
    std::memcpy(header.data() + sizeof(Row), rows_.data(), rows_.size() * sizeof(Row));
    check(pwrite(file_, header.data(), header_bytes, 0), header_bytes);
    if (fdatasync(file_) != 0) {
      throw std::runtime_error("the store's file cannot be synced");
    }
  }

  static Bytes name_of(std::uint64_t number) {
    Bytes name(sizeof number);
    std::memcpy(name.data(), &number, sizeof number);
    return name;
  }
  static off_t place_of(std::uint64_t entry) {
    return static_cast<off_t>(header_bytes + entry * sealed_bytes);
  }
  static void check(ssize_t bytes, std::size_t expected) {
    if (bytes != static_cast<ssize_t>(expected)) {
      throw std::runtime_error("the store's file cannot be read or written");
    }
  }

  int file_;
  Bytes sealed_ = Bytes(sealed_bytes);  // on the way to or from the file
  std::uint64_t log_end_ = 0;
  paes::KeystreamEngine engine_;
  paes::KeystreamKey key_;
  std::vector<Row> rows_;
  std::vector<paes::SealedContext> contexts_;     // one per row; the last one writes
  std::map<std::uint64_t, std::uint64_t> entry_;  // where each block is in the log
  std::vector<double> waits_ns_;
};

// Writes every other block again, like a file that changes.
double fill(const std::string& path, const Bytes& key, unsigned window_chunks, bool& is_right) {
  constexpr std::uint64_t blocks = 500;
  BlockStore store(path, key, window_chunks);
  std::map<std::uint64_t, Bytes> kept;
  for (std::uint64_t i = 0; i < blocks * 3 / 2; ++i) {
    const std::uint64_t number = i < blocks ? i : (i - blocks) * 2;
    kept[number] = Bytes(block_bytes, static_cast<std::uint8_t>(i * 7));
    store.put(number, kept[number]);
    store.wait_for_disk();
  }
  for (const auto& [number, block] : kept) {
    is_right = is_right && store.get(number) == block;
  }
  return store.median_wait_ns();
}

Bytes first_entry_of(const std::string& path) {
  Bytes sealed(sealed_bytes);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_read =
      pread(file, sealed.data(), sealed_bytes, header_bytes) == static_cast<ssize_t>(sealed_bytes);
  (void)close(file);
  return is_read ? sealed : Bytes();
}

// A crash left half of the last block. Writing the same block at the same place must not use the
// same nonce.
bool survives_a_torn_write(const std::string& path, const Bytes& key) {
  const Bytes block(block_bytes, 7);
  BlockStore(path, key, 16).put(1, block);
  const Bytes before = first_entry_of(path);
  if (before.empty() || truncate(path.c_str(), header_bytes + sealed_bytes / 2) != 0) {
    return false;
  }
  BlockStore store(path, key, 16);
  store.put(1, block);
  const Bytes after = first_entry_of(path);
  return !after.empty() && after != before && store.get(1) == block;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  std::string folder = "/tmp/block_storeXXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return 1;
  }
  bool is_right = survives_a_torn_write(folder + "/torn", random_bytes(32));
  std::vector<double> direct_ns;
  std::vector<double> ahead_ns;
  for (int round = 0; round < 5; ++round) {
    const Bytes key = random_bytes(32);
    direct_ns.push_back(fill(folder + "/direct", key, 0, is_right));
    ahead_ns.push_back(fill(folder + "/ahead", random_bytes(32), 16, is_right));
    // A store that is opened again continues after what it has.
    (void)fill(folder + "/direct", key, 16, is_right);
    for (const char* const name : {"/direct", "/ahead", "/direct.nonces", "/ahead.nonces"}) {
      (void)unlink((folder + name).c_str());
    }
  }
  (void)unlink((folder + "/torn").c_str());
  (void)unlink((folder + "/torn.nonces").c_str());
  (void)rmdir(folder.c_str());
  std::printf("sealing a block of 4 KiB: %.0f ns, with keystream computed ahead %.0f ns (%.1f x)\n",
              median(direct_ns), median(ahead_ns), median(direct_ns) / median(ahead_ns));
  return is_right ? 0 : 1;
}
