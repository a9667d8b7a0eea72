// SPDX-License-Identifier: Apache-2.0
// What the pipeline's tests share: a folder of their own, files and pipes in it, a fixed key, and
// encrypting and decrypting with every choice open.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "encrypt_with_salt.hpp"
#include "exec/schedule/schedule.hpp"
#include "kernel/registry.hpp"
#include "paes/error.hpp"
#include "stream/container/container_file.hpp"
#include "stream/file/create_output.hpp"

namespace paes::stream {

// As every program that uses the pipeline does: a closed pipe is then an error, not the end.
inline const auto ignored_sigpipe = std::signal(SIGPIPE, SIG_IGN);
inline const auto ignored_sigxfsz = std::signal(SIGXFSZ, SIG_IGN);

using Contents = std::vector<std::uint8_t>;

inline Contents random_buffer(std::size_t bytes, std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  Contents buffer(bytes);
  for (auto& byte : buffer) {
    byte = static_cast<std::uint8_t>(generator());
  }
  return buffer;
}

// In memory where there is a tmpfs, because the tests write a lot.
class Folder {
 public:
  Folder() {
    const char* parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    std::string pattern = std::string(parent) + "/paes-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) {
      ++count;
    }
    return count;
  }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, Bytes contents) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(contents.data()),
             static_cast<std::streamsize>(contents.size()));
  ASSERT_TRUE(file.good());
}

inline Contents read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return Contents(std::istreambuf_iterator<char>(file), {});
}

inline bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Writes `contents` into a FIFO in pieces of `step` bytes, as slow writers do.
inline std::thread feed(const std::string& fifo, const Contents& contents, std::size_t step) {
  return std::thread([fifo, &contents, step] {
    const int to = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
    for (std::size_t at = 0; at < contents.size();) {
      const ssize_t put = ::write(to, contents.data() + at, std::min(step, contents.size() - at));
      if (put <= 0) {
        break;
      }
      at += static_cast<std::size_t>(put);
    }
    close(to);
  });
}

inline std::thread drain(const std::string& fifo, Contents& contents, std::size_t step) {
  return std::thread([fifo, &contents, step] {
    const int from = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
    Contents piece(step);
    for (ssize_t got = 0; (got = ::read(from, piece.data(), piece.size())) > 0;) {
      contents.insert(contents.end(), piece.begin(), piece.begin() + got);
    }
    close(from);
  });
}

// The pipeline does not look into the envelope, so any bytes will do for one.
inline const Contents sample_envelope = random_buffer(200, 7);
inline const Contents sample_salt = random_buffer(cobblestone::salt_bytes, 8);
inline Contents sample_key(container::Suite suite) {
  return random_buffer(container::key_bytes(suite), 9);
}

struct Setting {
  container::Suite suite = container::Suite::cobblestone_256;
  Schedule schedule = Schedule::thread_pool;
  unsigned threads = 2;
  std::size_t piece_bytes = default_piece_bytes;
  const Cancel* cancel = nullptr;
  std::atomic<std::uint64_t>* progress = nullptr;
  DeviceUse device_use = {};
};

inline Totals encrypt_path(const std::string& from, const std::string& to,
                           const Setting& setting = {}) {
  const auto executor = make_executor(setting.schedule, setting.threads);
  Input input = Input::open(from, setting.cancel);
  const auto output = create_output(
      to,
      {.source = &input, .cancel = setting.cancel, .file = {.permissions = encrypted_mode(input)}});
  return encrypt_with_salt(input, *output, setting.suite, sample_envelope,
                           sample_key(setting.suite), sample_salt,
                           {.executor = *executor,
                            .kernel = best_kernel(Cipher::aes),
                            .piece_bytes = setting.piece_bytes,
                            .cancel = setting.cancel,
                            .progress = setting.progress,
                            .device_use = setting.device_use});
}

// With a salt of its own each time.
inline NewPayload sample_payload() {
  constexpr auto suite = container::Suite::cobblestone_256;
  return new_container({suite}, sample_envelope, sample_key(suite),
                       {.kernel = best_kernel(Cipher::aes)});
}

// The name of ends in memory, for errors.
inline const std::string memory_name = "memory";

inline OpenedPayload opened(const Source& source, const Preamble& preamble, Bytes input_key,
                            const Work& work) {
  return open_container(source, preamble.header, input_key, work);
}

inline Totals decrypt_path(const std::string& from, const std::string& to,
                           const Setting& setting = {},
                           const std::optional<ByteRange>& range = {}) {
  const auto executor = make_executor(setting.schedule, setting.threads);
  Input input = Input::open(from, setting.cancel);
  const Preamble preamble = read_preamble(input);
  const auto output = create_output(
      to,
      {.source = &input, .cancel = setting.cancel, .file = {.permissions = decrypted_mode(input)}});
  const Work work = {.executor = *executor,
                     .kernel = best_kernel(Cipher::aes),
                     .piece_bytes = setting.piece_bytes,
                     .cancel = setting.cancel,
                     .progress = setting.progress,
                     .device_use = setting.device_use};
  return decrypt_file(input, *output, opened(input, preamble, sample_key(setting.suite), work),
                      range, work);
}

inline Verification verification_of(const std::string& from, const Setting& setting = {}) {
  const auto executor = make_executor(setting.schedule, setting.threads);
  Input input = Input::open(from, setting.cancel);
  const Preamble preamble = read_preamble(input);
  const Work work = {.executor = *executor,
                     .kernel = best_kernel(Cipher::aes),
                     .piece_bytes = setting.piece_bytes,
                     .cancel = setting.cancel,
                     .progress = setting.progress,
                     .device_use = setting.device_use};
  return verify_file(input, opened(input, preamble, sample_key(setting.suite), work), work);
}

// For what must be authentic.
inline Totals verify_path(const std::string& from, const Setting& setting = {}) {
  const Verification found = verification_of(from, setting);
  EXPECT_TRUE(found.is_authentic());
  return {found.extent.text_bytes};
}

// The error that `action` throws; a failure of the test when it throws none.
inline Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::failure, "none"};
}

}  // namespace paes::stream
