// SPDX-License-Identifier: Apache-2.0
// Finds what makes a plainly written AES slow: runs the variants of variants.hpp and the kernel
// `compute` in turns, on the same random data. The lab's experiment E13 uses it, because the
// studies' sequential program is two hundred times slower than such code has to be.
//
//   bench_aes_ci [--rounds N]        JSON: seconds for each row and round, bytes
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>

#include "aes_ci/aes_ci_rows.hpp"
#include "cipher/aes_compute.hpp"

namespace paes::bench {
namespace {

constexpr std::size_t key_bytes = 16;
constexpr double least_turn_seconds = 0.02;

void encrypt_compute(const std::uint8_t* key, const std::uint8_t* in, std::uint8_t* out,
                     std::size_t blocks) {
  RoundKeys keys;
  expand_key({key, key_bytes}, keys);
  for (std::size_t at = 0; at < blocks * block_bytes; at += block_bytes) {
    Block state;
    std::memcpy(state.bytes, in + at, block_bytes);
    aes_compute::encrypt_block(keys, state);
    std::memcpy(out + at, state.bytes, block_bytes);
  }
}

// FIPS 197, appendix B.
bool is_aes(const AesCiRow& row) {
  const std::uint8_t key[] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                              0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
  const std::uint8_t text[] = {0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d,
                               0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34};
  const std::uint8_t wanted[] = {0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb,
                                 0xdc, 0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b, 0x32};
  std::uint8_t out[16 + 1] = {};
  row.encrypt(key, text, out, 1);
  return std::memcmp(out, wanted, sizeof wanted) == 0;
}

struct Contestant {
  AesCiRow row;
  std::size_t blocks = 16;  // of a turn
  std::vector<double> seconds;
};

class Contest {
 public:
  Contest() {
    std::random_device device;
    for (std::uint8_t& byte : key_) {
      byte = static_cast<std::uint8_t>(device());
    }
    std::mt19937_64 random(device());
    for (std::uint8_t& byte : in_) {
      byte = static_cast<std::uint8_t>(random());
    }
    encrypt_compute(key_, in_.data(), wanted_.data(), in_.size() / block_bytes);
  }

  // Negative if the output was wrong.
  double turn(const Contestant& contestant) {
    std::fill(out_.begin(), out_.end(), std::uint8_t{0});
    const auto start = std::chrono::steady_clock::now();
    contestant.row.encrypt(key_, in_.data(), out_.data(), contestant.blocks);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const bool is_right =
        std::memcmp(out_.data(), wanted_.data(), contestant.blocks * block_bytes) == 0;
    return is_right ? taken.count() : -1;
  }

  // How many blocks take a turn's time, at most all there are.
  [[nodiscard]] std::size_t blocks_of_a_turn(std::size_t blocks, double seconds) const {
    const double wanted =
        static_cast<double>(blocks) * least_turn_seconds / std::max(seconds, 1e-6);
    return std::min(static_cast<std::size_t>(wanted) + 1, in_.size() / block_bytes);
  }

 private:
  std::uint8_t key_[key_bytes] = {};
  std::vector<std::uint8_t> in_ = std::vector<std::uint8_t>(std::size_t{4} << 20);
  std::vector<std::uint8_t> wanted_ = in_;
  std::vector<std::uint8_t> out_ = std::vector<std::uint8_t>(in_.size() + 1);
};

void print(const std::vector<Contestant>& contestants) {
  std::printf("{\"command\": \"bench aes_ci\", \"results\": [");
  const char* separator = "";
  for (const Contestant& contestant : contestants) {
    std::printf("%s\n  {\"variant\": \"%s\", \"compiled\": \"%s\", \"bytes\": %zu, \"seconds\": [",
                separator, contestant.row.name, contestant.row.compiled,
                contestant.blocks * block_bytes);
    for (std::size_t i = 0; i < contestant.seconds.size(); ++i) {
      std::printf("%s%.9g", i == 0 ? "" : ", ", contestant.seconds[i]);
    }
    std::printf("]}");
    separator = ",";
  }
  std::printf("\n]}\n");
}

int run(unsigned rounds) {
  std::vector<AesCiRow> rows = {{"compute", "O3", encrypt_compute}};
  for (const auto& some : {optimized_rows(), unoptimized_rows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  Contest contest;
  std::vector<Contestant> contestants;
  const auto wrong = [](const AesCiRow& row) {
    std::fprintf(stderr, "bench_aes_ci: %s at -%s: wrong output\n", row.name, row.compiled);
    return 1;
  };
  for (const AesCiRow& row : rows) {
    contestants.push_back({row, 16, {}});
    Contestant& contestant = contestants.back();
    for (int again = 0; again < 3; ++again) {  // the first are short, to find its speed
      const double seconds = is_aes(row) ? contest.turn(contestant) : -1;
      if (seconds < 0) {
        return wrong(row);
      }
      contestant.blocks = contest.blocks_of_a_turn(contestant.blocks, seconds);
    }
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (Contestant& contestant : contestants) {
      contestant.seconds.push_back(contest.turn(contestant));
      if (contestant.seconds.back() < 0) {
        return wrong(contestant.row);
      }
    }
  }
  print(contestants);
  return 0;
}

}  // namespace
}  // namespace paes::bench

int main(int argc, char** argv) {
  unsigned rounds = 7;
  if (argc == 3 && std::string_view(argv[1]) == "--rounds") {
    rounds = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  }
  if ((argc != 1 && argc != 3) || rounds == 0 || rounds > 1000) {
    std::fprintf(stderr, "usage: bench_aes_ci [--rounds N]\n");
    return 2;
  }
  return paes::bench::run(rounds);
}
