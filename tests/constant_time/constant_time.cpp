// Shows under valgrind memcheck that no branch and no address depends on key or data: both are
// marked undefined, and memcheck reports every decision on an undefined value (A. Langley's
// "ctgrind" idea). What comes out is marked defined again before the program looks at it.
//
//   constant_time KERNEL         key expansion, seal, open, verify, pieces of that kernel
//   constant_time des_KERNEL     key schedule and every mode of that kernel of 3DES; `compute` and
//                                `tables` must be reported
//   constant_time planted-branch, planted-lookup
//                                a dependence on the key that valgrind must report, or the others'
//                                silence would prove nothing
//
// Without valgrind the marks do nothing. Run it as constant_time.sh does.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "mode/gcm.hpp"
#include "paes/error.hpp"
#include "varied_bytes.hpp"

namespace {

using paes::Block;
using paes::Bytes;
using paes::GcmOperation;
using paes::ModeState;
using paes::MutableBytes;
using paes::Piece;
using paes::test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

void hide(MutableBytes secret) { VALGRIND_MAKE_MEM_UNDEFINED(secret.data(), secret.size()); }
void reveal(Bytes result) { VALGRIND_MAKE_MEM_DEFINED(result.data(), result.size()); }

Buffer hidden_bytes(std::size_t size, std::uint64_t seed) {
  Buffer bytes = varied_bytes(size, seed);
  hide(bytes);
  return bytes;
}

bool is_same(Bytes a, Bytes b) {
  reveal(a);
  reveal(b);
  return paes::equal_constant_time(a, b);
}

// What opens a message, up to the tag: whether it matches is public, and the branch that tells the
// caller so would be reported. Hence the kernel's operations here in place of GcmKey's functions.
class Opener {
 public:
  Opener(const paes::Kernel& kernel, Bytes key) : kernel_(kernel) { kernel.prepare(key, *keys_); }
  template <typename AnyOperation>
  void run(AnyOperation operation, const ModeState& state, const Piece& piece) const {
    kernel_.run(operation)(*keys_, state, piece);
  }

 private:
  const paes::Kernel& kernel_;
  paes::Secret<paes::KernelKeys> keys_;
};

bool opens_again(const Opener& opener, Bytes iv, Bytes text, Bytes ciphertext, Bytes tag) {
  Block j0 = {};
  std::memcpy(j0.bytes, iv.data(), iv.size());
  j0.bytes[15] = 1;
  ModeState whole{j0, iv.data(), iv.size(), nullptr, 0};
  whole.is_counter_public = true;
  Buffer opened(text.size());
  Block open_tag = {};
  opener.run(GcmOperation::open, whole,
             Piece{0, ciphertext.data(), opened.data(), text.size(), &open_tag});
  Block verify_tag = {};
  opener.run(GcmOperation::verify, whole,
             Piece{0, ciphertext.data(), nullptr, text.size(), &verify_tag});

  // The single operations that pieces of a long message use.
  ModeState part = {};
  part.counter = paes::gcm::add_counter(j0, 1);
  part.is_counter_public = true;
  const std::size_t blocks_bytes = text.size() / paes::block_bytes * paes::block_bytes;
  Buffer piece(blocks_bytes);
  Block encrypt_hash = {};
  opener.run(GcmOperation::encrypt, part,
             Piece{0, text.data(), piece.data(), blocks_bytes, &encrypt_hash});
  Block decrypt_hash = {};
  opener.run(GcmOperation::decrypt, part,
             Piece{0, piece.data(), piece.data(), blocks_bytes, &decrypt_hash});
  constexpr std::size_t size = paes::block_bytes;
  return is_same(opened, text) && is_same({open_tag.bytes, size}, tag) &&
         is_same({verify_tag.bytes, size}, tag) &&
         is_same({encrypt_hash.bytes, size}, {decrypt_hash.bytes, size}) &&
         is_same(piece, text.first(blocks_bytes));
}

// Lengths and IVs are public; key, text and AAD are hidden.
bool run_kernel(const paes::Kernel& kernel) {
  bool good = true;
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key_data = hidden_bytes(key_bytes, 1);
    const paes::GcmKey key(key_data, kernel);
    const Opener opener(kernel, key_data);
    const Buffer iv = varied_bytes(12, 2);
    const Buffer long_iv = varied_bytes(61, 3);
    const Buffer aad = hidden_bytes(37, 4);
    const std::size_t flight = std::size_t{kernel.lanes} * paes::block_bytes;
    for (const std::size_t text_bytes : {std::size_t{0}, std::size_t{5}, 3 * flight + 100}) {
      const Buffer text = hidden_bytes(text_bytes, 5);
      Buffer ciphertext(text_bytes);
      Buffer tag(16);
      key.seal(long_iv, aad, text, ciphertext, tag);  // its counters depend on H
      key.seal(iv, {}, text, ciphertext, tag);
      good = opens_again(opener, iv, text, ciphertext, tag) && good;
      // The joining of parts.
      key.seal(iv, aad, text, ciphertext, tag, *paes::make_executor(paes::Schedule::serial, 1), 64);
    }
  }
  return good;
}

// There and back in every mode that the kernel has of the raw ones, three flights and a bit; the
// chained directions, which take a flight for each block, on a few blocks.
bool run_modes(const paes::Kernel& kernel, Bytes key) {
  paes::Secret<paes::KernelKeys> keys;
  kernel.prepare(key, *keys);
  const std::size_t block = paes::block_bytes_of(kernel.cipher);
  const Buffer text = hidden_bytes((3 * std::size_t{kernel.lanes} + 5) * block, 10);
  const Block iv = {};
  ModeState state = {};
  state.is_counter_public = true;
  const auto piece = [&](paes::Operation which, const Buffer& in) {
    Buffer out(in.size());
    kernel.run(which)(*keys, state, Piece{0, in.data(), out.data(), in.size(), nullptr, &iv});
    return out;
  };
  const auto chain = [&](paes::Operation which, const Buffer& in) {
    Buffer out(in.size());
    paes::Chain message{in.data(), out.data(), in.size(), iv};
    kernel.run_chains(which)(*keys, {&message, 1});
    return out;
  };
  const Buffer few(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(5 * block));
  using enum paes::Operation;
  bool good = is_same(piece(ecb_decrypt, piece(ecb_encrypt, text)), text);
  good = is_same(piece(ctr, piece(ctr, text)), text) && good;
  good = is_same(piece(cbc_decrypt, chain(cbc_encrypt, few)), few) && good;
  good = is_same(piece(cfb_decrypt, chain(cfb_encrypt, few)), few) && good;
  good = is_same(chain(ofb, chain(ofb, few)), few) && good;
  return good;
}

bool run_subject(std::string_view what) {
  constexpr std::string_view des = "des_";
  if (what.substr(0, des.size()) == des) {
    return run_modes(paes::find_kernel(paes::Cipher::des_ede3, what.substr(des.size())),
                     hidden_bytes(24, 9));
  }
  return run_kernel(paes::find_kernel(paes::Cipher::aes, what));
}

volatile std::uint8_t sink = 0;

void plant_branch() {
  const Buffer key = hidden_bytes(16, 6);
  if ((key[3] & 1) != 0) {
    sink = 1;
  }
}

void plant_lookup() {
  static const Buffer table = varied_bytes(256, 7);
  const Buffer key = hidden_bytes(16, 8);
  sink = table[key[5]];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "planted-branch") {
    plant_branch();
    return 0;
  }
  if (what == "planted-lookup") {
    plant_lookup();
    return 0;
  }
  try {
    if (!run_subject(what)) {
      std::puts("wrong bytes");
      return 1;
    }
  } catch (const paes::Error& error) {
    std::puts(error.what());
    return 77;  // the kernel does not run under valgrind's processor
  }
  std::printf("%s ran\n", argv[1]);
  return 0;
}
