// The nonce allocator: the deterministic construction of SP 800-38D, section 8.2.1, a fixed field
// and a count. In a process the start is random; in a file the count is advanced, and synced,
// before what it covers is handed out.
#include "paes/nonces.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "keystream/pages.hpp"
#include "message/raw_limits.hpp"

namespace paes {

namespace {

// Numbers written ahead at a time: as many are lost by a crash, and each time costs a sync.
constexpr std::uint64_t numbers_ahead = 4096;

constexpr std::uint64_t aes_limit_bytes = std::uint64_t{16} << 32;
constexpr std::uint64_t des_limit_bytes = max_des_blocks * 8;
constexpr std::uint64_t most_messages = std::uint64_t{1} << 48;

constexpr std::size_t fixed_bytes = 4;
constexpr std::uint8_t magic[7] = {'p', 'a', 'e', 's', 'n', 'c', '1'};

// The file: magic, cipher (1 byte), fixed field (4), zero (4), the first number that is not yet
// written ahead (8, big-endian).
struct Record {
  std::uint8_t bytes[24] = {};
};
constexpr std::size_t cipher_at = sizeof magic;
constexpr std::size_t fixed_at = 8;
constexpr std::size_t number_at = 16;

// The folder's entry of a new file.
void sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() < 0 || fsync(opened.number()) != 0) {
    throw_errno(path + ": cannot sync its folder");
  }
}

}  // namespace

struct NonceAllocator::State {
  explicit State(NonceCipher of_cipher) : cipher(of_cipher) {}

  void open_file(const std::string& at);
  void write_ahead(std::uint64_t numbers);
  [[nodiscard]] std::uint64_t take(std::uint64_t numbers);

  const keystream::ForkMark mark;
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
  file =
      Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (file.number() < 0) {
    throw_errno(path + ": cannot open");
  }
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    throw_errno(path + ": another allocator has it, or it cannot be locked");
  }
  Record record;
  const ssize_t got = pread(file.number(), record.bytes, sizeof record.bytes, 0);
  if (got < 0) {
    throw_errno(path + ": cannot read");
  }
  if (got == 0) {
    random_bytes(fixed);
    write_ahead(1);
    sync_folder(path);
    return;
  }
  if (got != sizeof record.bytes || std::memcmp(record.bytes, magic, sizeof magic) != 0 ||
      record.bytes[cipher_at] != static_cast<std::uint8_t>(cipher)) {
    throw Error(ErrorCode::corrupt,
                path + ": is no counter of nonces for this cipher, or is damaged",
                "begin with a new file and a new key");
  }
  std::copy_n(record.bytes + fixed_at, fixed_bytes, fixed);
  next = covered = load_be64(record.bytes + number_at);
}

void NonceAllocator::State::write_ahead(std::uint64_t numbers) {
  const std::uint64_t ahead = std::max(numbers, numbers_ahead);
  if (next > ~std::uint64_t{0} - ahead) {
    throw Error(ErrorCode::failure, "nonces: all have been used", "take a new key");
  }
  if (file.number() >= 0) {
    Record record;
    std::copy_n(magic, sizeof magic, record.bytes);
    record.bytes[cipher_at] = static_cast<std::uint8_t>(cipher);
    std::copy_n(fixed, fixed_bytes, record.bytes + fixed_at);
    store_be64(record.bytes + number_at, next + ahead);
    if (pwrite(file.number(), record.bytes, sizeof record.bytes, 0) !=
        static_cast<ssize_t>(sizeof record.bytes)) {
      throw_errno(path + ": cannot write");
    }
    if (fdatasync(file.number()) != 0) {
      throw_errno(path + ": cannot sync");
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
  std::uint8_t start[8];
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
