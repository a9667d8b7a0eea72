// SPDX-License-Identifier: Apache-2.0
// Reads random ranges of an encrypted file on several threads, and compares the time with that of
// its parts, a pread and an AES-GCM for each chunk, in turns.
//
//   ranges FOLDER [MEBIBYTES [THREADS [READS]]]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <paes/file.hpp>
#include <paes/gcm.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t range_bytes = 4096;
constexpr std::size_t chunk_bytes = paes::file_chunk_bytes;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t sealed_bytes = chunk_bytes + tag_bytes;

// Every eight bytes of the text are their own offset, so that any range can be checked.
void fill(std::uint64_t offset, std::span<std::uint8_t> text) {
  for (std::size_t i = 0; i < text.size(); i += 8, offset += 8) {
    std::memcpy(text.data() + i, &offset, 8);
  }
}

bool is_right(std::uint64_t offset, std::span<const std::uint8_t> text) {
  std::uint64_t found = 0;
  std::memcpy(&found, text.data() + text.size() - 8, 8);
  return found == offset + text.size() - 8;
}

std::array<std::uint8_t, 12> nonce_of(std::uint64_t chunk) {
  std::array<std::uint8_t, 12> nonce = {};
  std::memcpy(nonce.data(), &chunk, sizeof chunk);
  return nonce;
}

class Parts {
 public:
  Parts(const std::string& path, std::uint64_t text_bytes)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
        gcm_(std::vector<std::uint8_t>(32, 7)) {
    std::vector<std::uint8_t> chunk(sealed_bytes);
    const std::span text = std::span(chunk).first(chunk_bytes);
    for (std::uint64_t i = 0; i < text_bytes / chunk_bytes; ++i) {
      fill(i * chunk_bytes, text);
      gcm_.seal(nonce_of(i), {}, text, text, std::span(chunk).last(tag_bytes));
      if (pwrite(file_, chunk.data(), chunk.size(), static_cast<off_t>(i * sealed_bytes)) < 0) {
        std::perror(path.c_str());
        std::exit(1);
      }
    }
  }
  ~Parts() { close(file_); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  bool read(std::uint64_t offset, std::span<std::uint8_t> memory) const {
    const std::uint64_t first = offset / chunk_bytes;
    const std::uint64_t last = (offset + range_bytes - 1) / chunk_bytes;
    const std::size_t bytes = (last - first + 1) * sealed_bytes;
    if (pread(file_, memory.data(), bytes, static_cast<off_t>(first * sealed_bytes)) !=
        static_cast<ssize_t>(bytes)) {
      return false;
    }
    for (std::uint64_t i = first; i <= last; ++i, memory = memory.subspan(sealed_bytes)) {
      const std::span text = memory.first(chunk_bytes);
      if (!gcm_.open(nonce_of(i), {}, text, text, memory.subspan(chunk_bytes, tag_bytes))) {
        return false;
      }
    }
    return true;
  }

 private:
  int file_;
  paes::Gcm gcm_;
};

// Nanoseconds per read, with this many threads at a time.
double measure(unsigned threads, unsigned reads, std::uint64_t text_bytes,
               const std::function<bool(std::uint64_t offset, std::span<std::uint8_t>)>& read) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::vector<std::uint8_t> memory(2 * sealed_bytes);
      std::uint64_t random = 88172645463325252U + t;
      for (unsigned i = t; i < reads; i += threads) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (!read(random % (text_bytes - range_bytes), memory)) {
          std::puts("wrong text");
          std::exit(1);
        }
      }
    });
  }
  for (std::thread& one : running) {
    one.join();
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / reads;
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const auto number = [&](int index, unsigned otherwise) {
    return argc > index ? static_cast<unsigned>(std::atoi(argv[index])) : otherwise;
  };
  const std::uint64_t text_bytes = std::uint64_t{number(2, 64)} << 20;
  const unsigned threads = number(3, 1);
  const unsigned reads = number(4, 20000);

  const paes::Identity identity = paes::Identity::generate();
  const std::string path = folder + "/ranges.paes";
  {
    // On one thread, like the parts: where its pages lie in memory changes the time of a read.
    paes::Writer writer(path, {.recipients = {identity.recipient()}},
                        {.threads = 1, .overwrite = true});
    std::vector<std::uint8_t> part(std::size_t{1} << 20);
    for (std::uint64_t offset = 0; offset < text_bytes; offset += part.size()) {
      fill(offset, part);
      writer.write(part);
    }
    writer.commit();
  }
  const paes::Reader reader(path, {.identities = {identity}});
  const Parts parts(folder + "/ranges.parts", text_bytes);

  std::vector<double> of_reader;
  std::vector<double> of_parts;
  std::vector<double> ratios;
  for (int round = 0; round < 11; ++round) {
    of_reader.push_back(measure(threads, reads, text_bytes, [&](std::uint64_t offset, auto memory) {
      offset -= offset % 8;
      const auto range = memory.first(range_bytes);
      return reader.read_at(offset, range) == range_bytes && is_right(offset, range);
    }));
    of_parts.push_back(measure(threads, reads, text_bytes, [&](std::uint64_t offset, auto memory) {
      return parts.read(offset - offset % 8, memory);
    }));
    ratios.push_back(of_reader.back() / of_parts.back());
  }
  std::printf("%u threads, %zu bytes of %llu MiB: Reader %.0f ns, its parts %.0f ns, ratio %.3f\n",
              threads, range_bytes, static_cast<unsigned long long>(text_bytes >> 20),
              median(of_reader), median(of_parts), median(ratios));
  unlink(path.c_str());
  unlink((folder + "/ranges.parts").c_str());
  return 0;
}
