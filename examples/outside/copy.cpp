// SPDX-License-Identifier: Apache-2.0
// Encrypts a file through a Writer and decrypts it through a Reader. Each thread takes one piece
// after the other, at its own place.
//
//   copy seal FROM TO RECIPIENT
//   copy open FROM TO IDENTITY_FILE
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <paes/file.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

// A multiple of a chunk that fits into a core's cache.
constexpr std::size_t piece_bytes = 16 * paes::file_chunk_bytes;

class File {
 public:
  File(const std::string& path, int flags) : number_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    check(number_ >= 0);
  }
  ~File() { close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(lseek(number_, 0, SEEK_END));
  }
  void read_at(std::uint64_t offset, std::span<std::uint8_t> to) const {
    check(pread(number_, to.data(), to.size(), static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(to.size()));
  }
  void write_at(std::uint64_t offset, std::span<const std::uint8_t> from) const {
    check(pwrite(number_, from.data(), from.size(), static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(from.size()));
  }
  void sync() const { check(fsync(number_) == 0); }

 private:
  static void check(bool is_good) {
    if (!is_good) {
      throw std::system_error(errno, std::generic_category());
    }
  }
  int number_;
};

// Calls `move` for each piece, on every core. The first failure stops the rest.
void for_each_piece(std::uint64_t bytes,
                    const std::function<void(std::uint64_t, std::span<std::uint8_t>)>& move) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    std::vector<std::uint8_t> memory(piece_bytes);
    try {
      for (;;) {
        const std::uint64_t offset = next.fetch_add(piece_bytes);
        if (offset >= bytes) {
          return;
        }
        move(offset, std::span(memory).first(std::min<std::uint64_t>(bytes - offset, piece_bytes)));
      }
    } catch (...) {
      next = bytes;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void seal(const std::string& from, const std::string& to, const std::string& recipient) {
  const File text(from, O_RDONLY);
  paes::Writer writer(to, {.recipients = {paes::Recipient(recipient)}}, {.threads = 1});
  for_each_piece(text.bytes(), [&](std::uint64_t offset, std::span<std::uint8_t> piece) {
    text.read_at(offset, piece);
    writer.write_at(offset, piece);
  });
  writer.commit();
}

void unseal(const std::string& from, const std::string& to, const std::string& identities) {
  const paes::Reader reader(from, {.identities = paes::Identity::load(identities)}, {.threads = 1});
  const File text(to, O_WRONLY | O_CREAT | O_EXCL);
  for_each_piece(reader.size(), [&](std::uint64_t offset, std::span<std::uint8_t> piece) {
    reader.read_at(offset, piece);
    text.write_at(offset, piece);
  });
  text.sync();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: copy seal FROM TO RECIPIENT, copy open FROM TO IDENTITY_FILE\n", stderr);
    return 2;
  }
  try {
    (std::strcmp(argv[1], "seal") == 0 ? seal : unseal)(argv[2], argv[3], argv[4]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "copy: %s\n", error.what());
    return 1;
  }
}
