// SPDX-License-Identifier: Apache-2.0
// The nonce allocator: the deterministic construction of SP 800-38D, section 8.2.1, a fixed field
// and a count. In a process the start is random; in a file the count is advanced, and synced,
// before what it covers is handed out.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "core/forks.hpp"
#include "core/new_name.hpp"
#include "core/secret.hpp"
#include "message/raw_key.hpp"
#include "paes/nonces.hpp"
#include "stream/transfer/wait.hpp"

namespace paes {

namespace {

// How many numbers are written ahead at a time. A crash loses at most that many, and each time
// costs two syncs.
constexpr std::uint64_t numbers_ahead = 4096;

constexpr std::uint64_t aes_limit_bytes = std::uint64_t{16} << 32;
constexpr std::uint64_t des_limit_bytes = max_des_blocks * 8;
constexpr std::uint64_t most_messages = std::uint64_t{1} << 48;

constexpr std::size_t fixed_bytes = 4;

// A record: magic, cipher (1 byte), fixed field (4), zero (4), the first number
// that is not yet written ahead (8, big-endian), the CRC-64 of all that (8, big-endian).
constexpr std::uint8_t magic[7] = {'p', 'a', 'e', 's', 'n', 'c', '2'};
constexpr std::size_t cipher_at = 7;
constexpr std::size_t fixed_at = 8;
constexpr std::size_t zero_at = 12;
constexpr std::size_t number_at = 16;
constexpr std::size_t checksum_at = 24;
constexpr std::size_t record_bytes = 32;

// The file `paesnc2` is the same record twice, each at the beginning of a page that is zero
// otherwise. Both are written, one after the other and each synced, before a number that they cover
// is handed out. So a write that a crash tears damages one of them at most, and each alone says
// which numbers cannot have been handed out. Hence one damaged record is passed over and mended by
// the next write, and two are an error.
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t pages = 2;
constexpr std::size_t twice_bytes = pages * page_bytes;

using Record = std::array<std::uint8_t, record_bytes>;

// ECMA-182, reflected, as in xz.
std::uint64_t crc64(Bytes bytes) noexcept {
  std::uint64_t value = ~std::uint64_t{0};
  for (const std::uint8_t byte : bytes) {
    value ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xc96c5795d7870f42 : 0);
    }
  }
  return ~value;
}

bool is_whole(Bytes record) noexcept {
  return std::equal(std::begin(magic), std::end(magic), record.begin()) &&
         std::all_of(record.begin() + zero_at, record.begin() + number_at,
                     [](std::uint8_t byte) { return byte == 0; }) &&
         load_be64(record.data() + checksum_at) == crc64(record.first(checksum_at));
}

void write_synced(int file, const std::string& path, Bytes bytes, std::size_t at) {
  const iovec all = {const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  if (!stream::write_file_at(file, at, {&all, 1})) {
    throw_errno(path + ": cannot write");
  }
  if (fdatasync(file) != 0) {
    throw_errno(path + ": cannot sync");
  }
}

// Whoever else could write the file could have numbers handed out twice.
void check_own(int file, const std::string& path) {
  struct stat status = {};
  if (fstat(file, &status) != 0) {
    throw_errno(path + ": cannot read");
  }
  if (const char* const why = why_not_own(status); why != nullptr) {
    throw Error(ErrorCode::failure, path + ": " + why);
  }
}

// With the slash at its end; empty: the current one.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// Syncs the folder, so that a new file keeps its name.
void make_name_last(const std::string& path, int file) {
  const std::string folder = folder_of(path);
  const Descriptor opened = open_folder(folder.empty() ? "." : folder);
  errno = opened.is_open() ? sync_folder(opened.number(), file) : errno;
  if (errno != 0) {
    throw_errno(path + ": cannot sync its folder");
  }
}

}  // namespace

struct PAES_HIDDEN NonceAllocator::State {
  explicit State(NonceCipher of_cipher) : cipher(of_cipher) {}

  void open_file(const std::string& at);
  void make_file();
  void read_file();
  bool take_record(Bytes record, bool is_second) noexcept;
  [[nodiscard]] Record record_of(std::uint64_t number) const noexcept;
  void write_ahead(std::uint64_t numbers);
  [[nodiscard]] std::uint64_t take(std::uint64_t numbers);

  const ForkMark mark;
  const NonceCipher cipher;
  std::mutex mutex;
  std::string path;
  Descriptor file;  // with the lock on it; none: the numbers are this process's alone
  std::uint8_t fixed[fixed_bytes] = {};
  std::uint64_t start = 0;    // what is added to a number
  std::uint64_t next = 0;     // the number that is handed out next
  std::uint64_t covered = 0;  // numbers below are written ahead
};

void NonceAllocator::State::open_file(const std::string& at) {
  path = at;
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  file = Descriptor(open(path.c_str(), flags));
  if (!file.is_open() && errno == ENOENT) {
    make_file();
    file = Descriptor(open(path.c_str(), flags));
  }
  if (!file.is_open()) {
    throw_errno(path + ": cannot open");
  }
  check_own(file.number(), path);
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    throw_errno(path + ": another allocator has it, or it cannot be locked");
  }
  read_file();
  // The process that made it may have died before this sync.
  if (covered == 0) {
    make_name_last(path, file.number());
  }
}

// Makes a file in which nothing is written ahead yet, or leaves one that somebody else has made
// meanwhile. It is complete and on the disk before it has its name.
void NonceAllocator::State::make_file() {
  random_bytes(fixed);
  const Record record = record_of(0);
  std::vector<std::uint8_t> content(twice_bytes);
  for (std::size_t page = 0; page < pages; ++page) {
    std::copy(record.begin(), record.end(),
              content.begin() + static_cast<std::ptrdiff_t>(page * page_bytes));
  }
  const std::string temporary = folder_of(path) + new_temporary_name();
  const Descriptor made(open(
      temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!made.is_open()) {
    throw_errno(path + ": cannot make it");
  }
  try {
    check_own(made.number(), path);  // a file system without permission bits may let others in
    write_synced(made.number(), path, content, 0);
    // Two names of one file do no harm, because the lock is on the file, not on the name.
    errno = rename_to_new_name(AT_FDCWD, temporary, path).error;
    if (errno != 0 && errno != EEXIST) {
      throw_errno(path + ": cannot make it");
    }
  } catch (...) {
    (void)unlink(temporary.c_str());
    throw;
  }
  (void)unlink(temporary.c_str());  // where somebody else was faster
}

void NonceAllocator::State::read_file() {
  // One byte more than there may be.
  std::vector<std::uint8_t> content(twice_bytes + 1);
  const ssize_t got = pread(file.number(), content.data(), content.size(), 0);
  if (got < 0) {
    throw_errno(path + ": cannot read");
  }
  const Bytes all = Bytes(content).first(static_cast<std::size_t>(got));
  bool is_found = false;
  for (std::size_t page = 0; all.size() == twice_bytes && page < pages; ++page) {
    const Bytes record = all.subspan(page * page_bytes, page_bytes);
    if (is_whole(record)) {
      is_found = take_record(record, is_found);
    }
  }
  if (!is_found) {
    throw Error(
        ErrorCode::corrupt,
        path + (all.empty() ? ": is empty, and a counter of nonces never is"
                            : ": is not a counter of nonces for this cipher, or is damaged"),
        "begin with a new file and a new key");
  }
}

bool NonceAllocator::State::take_record(Bytes record, bool is_second) noexcept {
  const Bytes found = record.subspan(fixed_at, fixed_bytes);
  if (record[cipher_at] != static_cast<std::uint8_t>(cipher) ||
      (is_second && !std::equal(found.begin(), found.end(), fixed))) {
    return false;
  }
  std::copy(found.begin(), found.end(), fixed);
  next = covered = std::max(covered, load_be64(record.data() + number_at));
  return true;
}

Record NonceAllocator::State::record_of(std::uint64_t number) const noexcept {
  Record record = {};
  std::copy(std::begin(magic), std::end(magic), record.begin());
  record[cipher_at] = static_cast<std::uint8_t>(cipher);
  std::copy_n(fixed, fixed_bytes, record.begin() + fixed_at);
  store_be64(record.data() + number_at, number);
  store_be64(record.data() + checksum_at, crc64(Bytes(record).first(checksum_at)));
  return record;
}

void NonceAllocator::State::write_ahead(std::uint64_t numbers) {
  const std::uint64_t ahead = std::max(numbers, numbers_ahead);
  if (next > ~std::uint64_t{0} - ahead) {
    throw Error(ErrorCode::failure, "nonces: all have been used", "take a new key");
  }
  if (file.is_open()) {
    const Record record = record_of(next + ahead);
    for (std::size_t page = 0; page < pages; ++page) {
      write_synced(file.number(), path, record, page * page_bytes);
    }
  }
  covered = next + ahead;
}

std::uint64_t NonceAllocator::State::take(std::uint64_t numbers) {
  if (!mark.is_intact()) {
    throw Error(
        ErrorCode::failure,
        "nonces: a forked child cannot use its parent's, which the parent hands out as well",
        "make an allocator in the child");
  }
  const std::lock_guard lock(mutex);
  if (numbers > covered - next) {
    write_ahead(numbers);
  }
  return start + std::exchange(next, next + numbers);
}

NonceAllocator::NonceAllocator(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
NonceAllocator::~NonceAllocator() = default;
NonceAllocator::NonceAllocator(NonceAllocator&&) noexcept = default;
NonceAllocator& NonceAllocator::operator=(NonceAllocator&&) noexcept = default;

NonceAllocator NonceAllocator::in_process() {
  auto state = std::make_unique<State>(NonceCipher::aes);
  std::uint8_t start[8] = {};
  random_bytes(start);
  random_bytes(state->fixed);
  state->start = load_be64(start);
  return NonceAllocator(std::move(state));
}

NonceAllocator NonceAllocator::in_file(NonceCipher cipher, const std::string& path) {
  auto state = std::make_unique<State>(cipher);
  state->open_file(path);
  return NonceAllocator(std::move(state));
}

Nonce NonceAllocator::allocate(std::uint64_t bytes) {
  const bool is_aes = state_->cipher == NonceCipher::aes;
  if (bytes == 0 || bytes > (is_aes ? aes_limit_bytes : des_limit_bytes)) {
    throw Error(ErrorCode::usage, "nonce: for 1 byte to 64 GiB with AES, to 8 MiB with 3DES");
  }
  Nonce nonce;
  if (is_aes) {
    std::copy_n(state_->fixed, fixed_bytes, nonce.counter);
    store_be64(nonce.counter + fixed_bytes, state_->take(1));
    nonce.limit_bytes = aes_limit_bytes;
  } else {
    const std::uint64_t blocks = (bytes + 7) / 8;
    store_be64(nonce.counter, state_->take(blocks));
    nonce.counter_bytes = 8;
    nonce.limit_bytes = blocks * 8;
  }
  return nonce;
}

NonceRow NonceAllocator::allocate_messages(std::uint64_t messages) {
  if (state_->cipher != NonceCipher::aes) {
    throw Error(ErrorCode::usage, "nonces: 3DES has no GCM");
  }
  if (messages == 0 || messages > most_messages) {
    throw Error(ErrorCode::usage, "nonces: a row is for 1 to 2^48 messages");
  }
  NonceRow row;
  row.messages = messages;
  std::copy_n(state_->fixed, fixed_bytes, row.first);
  store_be64(row.first + fixed_bytes, state_->take(messages));
  return row;
}

}  // namespace paes
