// SPDX-License-Identifier: Apache-2.0
// Under mpirun: that the ranks together write, byte for byte, what one process writes with the same
// key and salt, in the container and in every raw mode that is parallel, and read it back. Rank 0
// makes the inputs, has the single-process library write what is expected, and compares. And that
// no two new files begin alike.
//
//   same_bytes FOLDER posix|mpi all|container|CIPHER [SIZE...]
//
// Prints how many outputs were compared. A test program and nothing else: it injects key and salt.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "encrypt_with_salt.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "message/padding.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/shared_raw.hpp"
#include "mpi/together.hpp"
#include "stream/container/preamble.hpp"
#include "stream/file/create_output.hpp"
#include "stream/raw/raw.hpp"
#include "stream/raw/raw_gcm.hpp"

namespace {

using namespace paes;

constexpr std::size_t mib = std::size_t{1} << 20;
// The last one gives every one of nine ranks something, and ends beside a batch.
constexpr std::uint64_t default_sizes[] = {0,           1,           16383,        16385,
                                           4 * mib - 1, 4 * mib + 1, 36 * mib + 17};

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint8_t seed) {
  std::vector<std::uint8_t> made(bytes);
  std::uint32_t state = 0x9e3779b9U + seed;
  for (std::uint8_t& byte : made) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return made;
}

class Comparison {
 public:
  Comparison(mpi::Communicator& ranks, std::string folder, mpi::FileAccess access)
      : ranks_(ranks), folder_(std::move(folder)), access_(access) {
    executor_->start();
  }

  [[nodiscard]] unsigned compared() const noexcept { return compared_; }

  void container(std::uint64_t bytes) {
    write_text(bytes);
    const std::vector<std::uint8_t> envelope = pattern(200, 1);
    for (const auto suite :
         {container::Suite::cobblestone_128, container::Suite::cobblestone_256}) {
      const std::vector<std::uint8_t> key = pattern(container::key_bytes(suite), 2);
      const std::vector<std::uint8_t> salt = pattern(cobblestone::salt_bytes, 3);
      const stream::Work how = this->how(find_kernel(Cipher::aes, ""));
      first([&] {
        stream::Input in = stream::Input::open(path("text"));
        const auto out = stream::create_output(path("expected"), {.overwrite = true});
        (void)stream::encrypt_with_salt(in, *out, suite, envelope, key, salt, how);
      });
      over("text", "got", [&](mpi::SharedInput& in, mpi::SharedOutput& out) {
        (void)mpi::encrypt_with_salt(ranks_, in, out, {{suite}, envelope, own(key)}, salt, how);
      });
      expect_equal("got", "expected", "container", bytes);
      const auto opened = [&](mpi::SharedInput& in) {
        mpi::SharedHeader found;
        first([&] { found = {stream::read_preamble(in.here()).header, own(key)}; });
        return found;
      };
      over("expected", "back", [&](mpi::SharedInput& in, mpi::SharedOutput& out) {
        (void)mpi::decrypt(ranks_, in, out, opened(in), how);
      });
      expect_equal("back", "text", "container opened", bytes);
      mpi::SharedInput in(ranks_, path("expected"), access_);
      if (!mpi::verify(ranks_, in, opened(in), how).is_authentic()) {
        throw Error(ErrorCode::failure, "container: not authentic");
      }
    }
  }

  // By what a new file begins with, a rank knows another one that has its name there.
  void beginnings() {
    std::set<std::vector<char>> seen;
    for (int i = 0; i < 2; ++i) {
      const mpi::SharedOutput out(ranks_, path("got"), {.overwrite = true}, access_);
      first([&] {
        std::vector<char> beginning(16);
        std::ifstream file(out.made()->temporary_path(), std::ios::binary);
        if (!file.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) ||
            !seen.insert(beginning).second) {
          throw Error(ErrorCode::failure, "output: begins as the one before");
        }
      });
    }
  }

  // One that exists in the mode; GCM's IV has its 12 bytes.
  void raw(const CipherName& name, std::size_t unit_bytes, bool pads, std::uint64_t bytes) {
    const std::vector<std::uint8_t> key = pattern(name.key_bytes, 4);
    std::vector<std::uint8_t> iv = pattern(name.iv_bytes(), 5);
    const Kernel& kernel = find_kernel(name, "");
    const stream::Work how = this->how(kernel);
    write_text(bytes);
    if (name.is_gcm()) {
      gcm(GcmKey(key, kernel), name, iv, bytes, how);
      return;
    }
    if (*name.mode == Mode::ctr) {
      std::fill(iv.begin() + 4, iv.end(), std::uint8_t{0xff});  // carries beyond 32 and 64 bits
    }
    const RawKey bound(name.cipher, *name.mode, key, kernel, unit_bytes);
    if (!pads && !bound.takes(bytes)) {
      return;
    }
    const stream::RawTask encryption{bound, Direction::encrypt, iv, pads, 0, {}};
    const stream::RawTask decryption{bound, Direction::decrypt, iv, pads, 0, {}};
    first([&] {
      stream::Input in = stream::Input::open(path("text"));
      const auto out = stream::create_output(path("expected"), {.overwrite = true});
      (void)stream::crypt_raw(in, *out, encryption, how);
    });
    if (bound.is_parallel(Direction::encrypt)) {
      over("text", "got", [&](mpi::SharedInput& in, mpi::SharedOutput& out) {
        (void)mpi::crypt_raw(ranks_, in, out, encryption, how);
      });
      expect_equal("got", "expected", name.name, bytes);
    }
    if (bound.is_parallel(Direction::decrypt)) {
      over("expected", "back", [&](mpi::SharedInput& in, mpi::SharedOutput& out) {
        (void)mpi::crypt_raw(ranks_, in, out, decryption, how);
      });
      expect_equal("back", "text", name.name + " decrypted", bytes);
    }
  }

 private:
  void gcm(const GcmKey& key, const CipherName& name, Bytes iv, std::uint64_t bytes,
           const stream::Work& how) {
    const std::vector<std::uint8_t> aad = pattern(37, 6);
    first([&] {
      stream::Input in = stream::Input::open(path("text"));
      const auto out = stream::create_output(path("expected"), {.overwrite = true});
      (void)stream::seal_gcm(in, *out, key, iv, aad, how);
    });
    over("text", "got", [&](mpi::SharedInput& in, mpi::SharedOutput& out) {
      (void)mpi::seal_gcm(ranks_, in, out, key, iv, aad, how);
    });
    expect_equal("got", "expected", name.name, bytes);
    over("expected", "back", [&](mpi::SharedInput& in, mpi::SharedOutput& out) {
      (void)mpi::open_gcm(ranks_, in, out, key, iv, aad, how);
    });
    expect_equal("back", "text", name.name + " decrypted", bytes);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] stream::Work how(const Kernel& kernel) const {
    return {*executor_, kernel, piece_bytes_};
  }
  // Only rank 0 has it; the others are told.
  [[nodiscard]] SecretBytes own(Bytes key) const {
    return ranks_.is_first() ? SecretBytes(key) : SecretBytes();
  }

  void first(const std::function<void()>& step) {
    mpi::together(ranks_, [&] {
      if (ranks_.is_first()) {
        step();
      }
    });
  }

  template <typename Task>
  void over(const std::string& from, const std::string& to, Task&& work) {
    mpi::SharedInput in(ranks_, path(from), access_);
    mpi::SharedOutput out(ranks_, path(to), {.overwrite = true}, access_);
    work(in, out);
  }

  void write_text(std::uint64_t bytes) {
    if (bytes == written_) {
      return;
    }
    written_ = bytes;
    first([&] {
      std::ofstream file(path("text"), std::ios::binary | std::ios::trunc);
      // An odd length, so that no two blocks or chunks are alike.
      const std::vector<std::uint8_t> part = pattern(mib + 7, 7);
      for (std::uint64_t left = bytes; left != 0;) {
        const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(left, part.size()));
        file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(now));
        left -= now;
      }
      if (!file.flush()) {
        throw Error(ErrorCode::failure, "text: cannot be written");
      }
    });
  }

  void expect_equal(const std::string& one, const std::string& other, const std::string& what,
                    std::uint64_t bytes) {
    ++compared_;
    first([&] {
      std::ifstream a(path(one), std::ios::binary);
      std::ifstream b(path(other), std::ios::binary);
      std::vector<char> left(mib);
      std::vector<char> right(mib);
      for (std::uint64_t at = 0;; at += mib) {
        a.read(left.data(), mib);
        b.read(right.data(), mib);
        if (a.gcount() != b.gcount() ||
            !std::equal(left.begin(), left.begin() + a.gcount(), right.begin())) {
          throw Error(ErrorCode::failure, what + " of " + std::to_string(bytes) +
                                              " bytes: differs in the mebibyte at " +
                                              std::to_string(at));
        }
        if (a.gcount() < static_cast<std::streamsize>(mib)) {
          return;
        }
      }
    });
  }

  mpi::Communicator& ranks_;
  std::string folder_;
  mpi::FileAccess access_;
  std::unique_ptr<Executor> executor_ = make_thread_pool(2);
  // Another on each rank, and none that divides 4 MiB.
  std::size_t piece_bytes_ = (std::size_t{320} + std::size_t{64} * ranks_.rank()) << 10;
  std::uint64_t written_ = UINT64_MAX;
  unsigned compared_ = 0;
};

// What lies between ranks knows nothing of keys: every mode of AES with the longest one, and a
// sample of the others. Long texts take one mode of each kind.
bool is_worth(const CipherName& name, std::uint64_t bytes) {
  const bool is_longest = name.name.starts_with("aes-256");
  if (bytes > 4 * mib + 1) {
    return is_longest && (name.is_gcm() || *name.mode == Mode::ctr || *name.mode == Mode::cbc ||
                          *name.mode == Mode::xts);
  }
  return is_longest || bytes == 16385 || (name.cipher == Cipher::des_ede3 && bytes <= 16385);
}

void compare(Comparison& comparison, const std::string& what, std::vector<std::uint64_t> sizes) {
  if (sizes.empty()) {
    sizes.assign(std::begin(default_sizes), std::end(default_sizes));
  }
  std::set<std::string> seen;
  for (const std::uint64_t bytes : sizes) {
    if (what == "all" || what == "container") {
      comparison.container(bytes);
    }
    for (const CipherName& name : all_cipher_names()) {
      if (what != "all" && what != name.name) {
        continue;
      }
      if (what == "all" && !is_worth(name, bytes)) {
        continue;
      }
      const ModeRow* const row = name.is_gcm() ? nullptr : &row_of(*name.mode);
      if (row != nullptr && row->has_units) {
        // Units longer than 4 MiB, one that divides nothing, and a message that is one unit.
        for (const std::size_t unit :
             {std::size_t{512}, std::size_t{528}, 5 * mib, std::size_t{0}}) {
          if (unit != 0 || bytes <= 16 * mib) {
            comparison.raw(name, unit, false, bytes);
          }
        }
        continue;
      }
      const bool can_pad = row != nullptr && row->tail == Tail::padded;
      comparison.raw(name, 0, can_pad, bytes);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) {
    std::fputs("usage: same_bytes FOLDER posix|mpi all|container|CIPHER [SIZE...]\n", stderr);
    return 2;
  }
  const Cancel signals;
  mpi::Communicator ranks(signals);
  try {
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 3; i < words.size(); ++i) {
      sizes.push_back(std::stoull(words[i]));
    }
    Comparison comparison(ranks, words[0],
                          words[1] == "mpi" ? mpi::FileAccess::mpi : mpi::FileAccess::posix);
    comparison.beginnings();
    compare(comparison, words[2], sizes);
    if (ranks.is_first()) {
      std::printf("%u outputs of %u ranks are the same\n", comparison.compared(), ranks.ranks());
    }
  } catch (const Error& error) {
    if (ranks.is_first()) {
      std::fprintf(stderr, "same_bytes: %s\n", error.what());
    }
    return 1;
  }
  return 0;
}
