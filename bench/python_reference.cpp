// SPDX-License-Identifier: Apache-2.0
// The C++ calls with which `bench/python` compares the Python package, as a library for ctypes.
// Each returns seconds, or a negative number after it has said what went wrong.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <vector>

#include "paes/cipher.hpp"
#include "paes/file.hpp"

namespace {

constexpr std::size_t key_bytes = 32;

template <typename Work>
double seconds_of(const Work& work) {
  try {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench/python: %s\n", error.what());
    return -1;
  }
}

paes::Reader open_file(const char* path, const std::uint8_t* key, unsigned threads) {
  return {path, {.key = paes::CobblestoneKey(std::span(key, key_bytes))}, {.threads = threads}};
}

}  // namespace

extern "C" {

// Times `calls` calls of AES-256 in counter mode.
double encrypt_messages(const std::uint8_t* key, std::size_t bytes, std::uint64_t calls) {
  const paes::RawCipher cipher("aes-256-ctr", std::span(key, key_bytes));
  const std::vector<std::uint8_t> iv(cipher.iv_bytes());
  const std::vector<std::uint8_t> text(bytes);
  std::vector<std::uint8_t> ciphertext(bytes);
  return seconds_of([&] {
    for (std::uint64_t i = 0; i < calls; ++i) {
      cipher.encrypt(iv, text, ciphertext);
    }
  });
}

// Reads a file from beginning to end. If `expected` is not null, each buffer must contain its
// bytes.
double read_whole(const char* path, const std::uint8_t* key, unsigned threads,
                  std::size_t buffer_bytes, const std::uint8_t* expected) {
  std::vector<std::uint8_t> buffer(buffer_bytes);
  return seconds_of([&] {
    const paes::Reader reader = open_file(path, key, threads);
    for (std::uint64_t offset = 0; offset < reader.size();) {
      const std::size_t got = reader.read_at(offset, buffer);
      if (expected != nullptr && !std::equal(expected, expected + got, buffer.begin())) {
        throw std::runtime_error("the text is another");
      }
      offset += got;
    }
  });
}

double read_ranges(const char* path, const std::uint8_t* key, unsigned threads, std::size_t bytes,
                   const std::uint64_t* offsets, std::size_t count) {
  std::vector<std::uint8_t> buffer(bytes);
  return seconds_of([&] {
    const paes::Reader reader = open_file(path, key, threads);
    for (const std::uint64_t offset : std::span(offsets, count)) {
      if (reader.read_at(offset, buffer) != bytes) {
        throw std::runtime_error("a range is short");
      }
    }
  });
}
}
