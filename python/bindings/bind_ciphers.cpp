// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "bind_bytes.hpp"
#include "interruptible.hpp"
#include "paes/cipher.hpp"
#include "paes/gcm.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

// What follows a call in a chain: the IV with which the next whole blocks continue a message.
enum class Chain { none, ciphertext, keystream, counter, units };

Chain chain_of(std::string_view name) {
  struct Row {
    std::string_view suffix;
    Chain chain;
  };
  constexpr std::array<Row, 6> chains = {{{"-ecb", Chain::none},
                                          {"-cbc", Chain::ciphertext},
                                          {"-cfb", Chain::ciphertext},
                                          {"-ofb", Chain::keystream},
                                          {"-ctr", Chain::counter},
                                          {"-xts", Chain::units}}};
  for (const auto& [suffix, chain] : chains) {
    if (name.ends_with(suffix)) {
      return chain;
    }
  }
  // RawCipher has refused names that it does not know.
  throw Error(ErrorCode::usage, "cipher: " + std::string(name) + " is not available in parts");
}

void add_big_endian(MutableBytes number, std::uint64_t more) {
  for (std::size_t i = number.size(); i-- > 0 && more != 0;) {
    more += number[i];
    number[i] = static_cast<std::uint8_t>(more);
    more >>= 8;
  }
}

void add_little_endian(MutableBytes number, std::uint64_t more) {
  for (std::size_t i = 0; i < number.size() && more != 0; ++i) {
    more += number[i];
    number[i] = static_cast<std::uint8_t>(more);
    more >>= 8;
  }
}

// One message in one direction, in any number of calls.
class Cipher {
 public:
  Cipher(const std::string& name, Bytes key, Bytes iv, bool decrypt,
         const RawCipherOptions& options)
      : cipher_(name, key, options),
        chain_(chain_of(name)),
        decrypts_(decrypt),
        unit_bytes_(options.unit_bytes) {
    if (iv.size() != cipher_.iv_bytes()) {
      throw Error(ErrorCode::usage, "IV: " + std::to_string(iv.size()) + " bytes, where " + name +
                                        " takes " + std::to_string(cipher_.iv_bytes()));
    }
    std::copy(iv.begin(), iv.end(), iv_.begin());
  }

  std::size_t update(Bytes in, MutableBytes out) {
    check_room(out.size(), in.size());
    check_overlap(in, out.first(in.size()));
    const Turn turn(in_use_);
    std::size_t done = 0;
    try {
      do {
        if (done != 0) {
          check_signals();
        }
        const Bytes part = in.subspan(done, std::min(in.size() - done, part_bytes()));
        run_part(part, out.subspan(done));
        done += part.size();
      } while (done < in.size());
    } catch (...) {
      // A message has ended once it stopped after a part, because of a signal handler or because
      // its last part has an impossible length. A caller who tried again would process the first
      // parts twice.
      is_ended_ = is_ended_ || done != 0;
      throw;
    }
    return done;
  }

  [[nodiscard]] std::size_t block_bytes() const noexcept { return cipher_.block_bytes(); }
  [[nodiscard]] std::string_view kernel() const noexcept { return cipher_.kernel(); }

 private:
  void run_part(Bytes in, MutableBytes out) {
    without_gil(in.size(), [&] { run(in, out.first(in.size())); });
  }

  void run(Bytes in, MutableBytes out) {
    if (in.empty()) {
      return;
    }
    if (is_ended_) {
      throw Error(ErrorCode::usage, "cipher: the message has ended",
                  "every call but the last takes whole blocks, of XTS whole data units");
    }
    const Bytes iv = Bytes(iv_).first(cipher_.iv_bytes());
    // The end of the ciphertext is the next IV. It is kept, because `out` may be `in`.
    std::array<std::uint8_t, 16> last_in{};
    const std::size_t block = cipher_.block_bytes();
    const bool is_whole = in.size() % step() == 0;
    if (is_whole && in.size() >= block) {
      std::memcpy(last_in.data(), in.last(block).data(), block);
    }
    if (decrypts_) {
      cipher_.decrypt(iv, in, out);
    } else {
      cipher_.encrypt(iv, in, out);
    }
    is_ended_ = !is_whole;
    if (is_whole) {
      advance(in.size(), Bytes(last_in).first(block), out.last(block));
    }
  }

  // Every call but the last takes a multiple of this. XTS without data units takes whole messages.
  [[nodiscard]] std::size_t step() const noexcept {
    if (chain_ == Chain::units) {
      return unit_bytes_ != 0 ? unit_bytes_ : SIZE_MAX;
    }
    return cipher_.block_bytes();
  }

  // How much is done before signals are handled: about a second's work for 3DES, the slowest.
  [[nodiscard]] std::size_t part_bytes() const noexcept {
    constexpr std::size_t most = std::size_t{16} << 20;
    return step() < most ? most / step() * step() : step();
  }

  void advance(std::size_t bytes, Bytes last_in, Bytes last_out) {
    const MutableBytes iv = MutableBytes(iv_).first(cipher_.iv_bytes());
    switch (chain_) {
      case Chain::none:
        break;
      case Chain::ciphertext: {
        const Bytes last = decrypts_ ? last_in : last_out;
        std::copy(last.begin(), last.end(), iv.begin());
        break;
      }
      case Chain::keystream:
        for (std::size_t i = 0; i < iv.size(); ++i) {
          iv[i] = last_in[i] ^ last_out[i];
        }
        break;
      case Chain::counter:
        add_big_endian(iv, bytes / cipher_.block_bytes());
        break;
      case Chain::units:
        add_little_endian(iv, bytes / unit_bytes_);
        break;
    }
  }

  RawCipher cipher_;
  const Chain chain_;
  const bool decrypts_;
  const std::size_t unit_bytes_;
  std::atomic_flag in_use_;
  std::array<std::uint8_t, 16> iv_{};
  bool is_ended_ = false;
};

constexpr std::size_t tag_bytes = 16;

// cryptography's AESGCM has the same limits. Shorter nonces are too easily used twice.
void check_nonce(Bytes nonce) {
  if (nonce.size() < 8 || nonce.size() > 128) {
    throw Error(ErrorCode::usage, "nonce: " + std::to_string(nonce.size()) + " bytes",
                "it must have 8 to 128, best 12");
  }
}

nb::bytes generate_key(unsigned bit_length) {
  if (bit_length != 128 && bit_length != 192 && bit_length != 256) {
    throw Error(ErrorCode::usage, "bit_length must be 128, 192 or 256");
  }
  return random_key(bit_length / 8);
}

// The arguments of both directions. Text and tag share one buffer, as in cryptography's AESGCM.
class Message {
 public:
  Message(ReadArgument nonce, ReadArgument data, std::optional<ReadArgument> associated_data)
      : nonce_(nonce, "nonce"), data_(data, "data") {
    if (associated_data) {
      associated_data_.emplace(*associated_data, "associated_data");
    }
    check_nonce(nonce_.bytes());
  }

  [[nodiscard]] Bytes nonce() const { return nonce_.bytes(); }
  [[nodiscard]] Bytes data() const { return data_.bytes(); }
  [[nodiscard]] Bytes associated_data() const {
    return associated_data_ ? associated_data_->bytes() : Bytes();
  }
  // How much work it is, including associated data, which are hashed.
  [[nodiscard]] std::size_t bytes_to_read() const {
    return data().size() + associated_data().size();
  }
  // Memory for the result. It may be the data's own.
  [[nodiscard]] MutableBytes take(const Room& room, std::size_t bytes) const {
    const MutableBytes out = room(bytes);
    check_overlap(data(), out);
    return out;
  }

 private:
  const Buffer nonce_;
  const Buffer data_;
  std::optional<Buffer> associated_data_;
};

void encrypt(const Gcm& gcm, const Message& message, const Room& room) {
  const Bytes text = message.data();
  const MutableBytes sealed = message.take(room, text.size() + tag_bytes);
  without_gil(message.bytes_to_read(), [&] {
    gcm.seal(message.nonce(), message.associated_data(), text, sealed.first(text.size()),
             sealed.last(tag_bytes));
  });
}

void decrypt(const Gcm& gcm, const Message& message, const Room& room) {
  const Bytes sealed = message.data();
  if (sealed.size() < tag_bytes) {
    throw Error(ErrorCode::corrupt, "AES-GCM: the message is shorter than its tag");
  }
  const MutableBytes text = message.take(room, sealed.size() - tag_bytes);
  const bool is_authentic = without_gil(message.bytes_to_read(), [&] {
    return gcm.open(message.nonce(), message.associated_data(), sealed.first(text.size()), text,
                    sealed.last(tag_bytes));
  });
  if (!is_authentic) {
    throw Error(ErrorCode::corrupt, "AES-GCM: the message is forged or damaged");
  }
}

// encrypt and decrypt as methods that return new bytes or fill a buffer.
template <auto work>
nb::bytes to_bytes(const Gcm& self, ReadArgument nonce, ReadArgument data,
                   std::optional<ReadArgument> associated_data) {
  const Message message(nonce, data, associated_data);
  return to_new_bytes([&](const Room& room) { work(self, message, room); });
}
template <auto work>
std::size_t into(const Gcm& self, ReadArgument nonce, ReadArgument data,
                 std::optional<ReadArgument> associated_data, WriteArgument buf) {
  const Message message(nonce, data, associated_data);
  return to_buffer(buf, "buf", [&](const Room& room) { work(self, message, room); });
}

}  // namespace

void add_ciphers(nb::module_& module) {
  nb::class_<Cipher>(
      module, "Cipher",
      "One message in a raw mode of AES or 3DES (FIPS 197, SP 800-67, SP 800-38A, SP 800-38E). "
      "Nothing here is authenticated: anyone who can change a ciphertext changes the text, and "
      "nobody notices. Use AESGCM unless a format asks for this.\n\n"
      "name: aes-128, aes-192 or aes-256 with -ecb, -cbc, -cfb (CFB128), -ofb or -ctr; "
      "aes-128-xts, aes-256-xts; des-ede3 with -ecb, -cbc, -cfb (CFB64), -ofb or -ctr.\n"
      "key: 16, 24 or 32 bytes, as the name says; 24 for 3DES; for XTS two keys, together 32 or "
      "64.\n"
      "iv: a block (16 bytes, of 3DES 8); b'' for ECB. Of CTR the first counter block, of XTS the "
      "number of the first data unit, little-endian.\n"
      "decrypt: the direction.\n"
      "kernel: a name that `paes devices` lists as available, or auto.\n"
      "threads: for a long call; 0 means every processor.\n"
      "unit_bytes: XTS's data unit, of 16 bytes to 16 MiB; 0 makes the message one.\n\n"
      "3DES must not encrypt more than 2**20 blocks under one key (SP 800-67); only the caller "
      "can count them.\n\n"
      "Raises UsageError for impossible names, lengths and kernels. A call raises FailureError if "
      "its threads cannot start.")
      .def(
          "__init__",
          [](Cipher* self, const std::string& name, ReadArgument key, ReadArgument iv, bool decrypt,
             const std::string& kernel, unsigned threads, std::size_t unit_bytes) {
            const Buffer key_bytes(key, "key");
            const Buffer iv_bytes(iv, "iv");
            new (self) Cipher(name, key_bytes.bytes(), iv_bytes.bytes(), decrypt,
                              {.kernel = kernel, .threads = threads, .unit_bytes = unit_bytes});
          },
          nb::arg("name"), nb::arg("key"), nb::arg("iv"), nb::kw_only(), nb::arg("decrypt") = false,
          nb::arg("kernel") = "auto", nb::arg("threads") = 1, nb::arg("unit_bytes") = 0)
      .def_prop_ro("block_bytes", &Cipher::block_bytes, "16 for AES, 8 for 3DES.")
      .def_prop_ro("kernel", &Cipher::kernel, "The kernel chosen, as in `paes devices`.")
      .def(
          "update",
          [](Cipher& self, ReadArgument data) {
            const Buffer in(data, "data");
            NewBytes out(in.size());
            const std::size_t bytes = self.update(in.bytes(), out.span());
            return std::move(out).take(bytes);
          },
          nb::arg("data"),
          "The next bytes of the message, encrypted or decrypted: as many as `data` has. Every "
          "call but the last takes whole blocks, of XTS whole data units. Raises UsageError for "
          "other lengths, and once the message has ended. A call that fails after its first 16 MiB "
          "has ended it.")
      .def(
          "update_into",
          [](Cipher& self, ReadArgument data, WriteArgument buffer) {
            const Buffer in(data, "data");
            const WritableBuffer out(buffer, "buffer");
            return self.update(in.bytes(), out.span());
          },
          nb::arg("data"), nb::arg("buffer"),
          "Encrypts or decrypts the next bytes into a buffer of at least as many bytes, which may "
          "begin where `data` does and must otherwise share nothing with it. Returns how many "
          "bytes were written.");

  nb::class_<Gcm>(
      module, "AESGCM",
      "AES-GCM (SP 800-38D) with the interface of cryptography's AESGCM. "
      "`key` has 16, 24 or 32 bytes. Never use a nonce twice under one key. Until a "
      "call returns, nobody may change what it was given: ciphertext may be read twice, "
      "and text that was never sealed may come out if another thread or process writes "
      "there meanwhile. Copy it out of shared memory first.\n\n"
      "kernel: a name that `paes devices` lists as available, or auto.\n"
      "threads: for a long message; 0 means every processor.\n\n"
      "Raises UsageError for other lengths of keys, and for a kernel that does not run "
      "here. A call raises FailureError if its threads cannot start.")
      .def(
          "__init__",
          [](Gcm* self, ReadArgument key, const std::string& kernel, unsigned threads) {
            const Buffer key_bytes(key, "key");
            new (self) Gcm(key_bytes.bytes(), {.kernel = kernel, .threads = threads});
          },
          nb::arg("key"), nb::kw_only(), nb::arg("kernel") = "auto", nb::arg("threads") = 1)
      .def_static("generate_key", &generate_key, nb::arg("bit_length"),
                  "A new random key of 128, 192 or 256 bits.")
      .def_prop_ro("kernel", &Gcm::kernel, "The kernel chosen, as in `paes devices`.")
      .def("encrypt", &to_bytes<encrypt>, nb::arg("nonce"), nb::arg("data"),
           nb::arg("associated_data").none(),
           "The ciphertext with the tag of 16 bytes at its end. `nonce` has 8 to 128 bytes, best "
           "12. Raises UsageError for another length.")
      .def("encrypt_into", &into<encrypt>, nb::arg("nonce"), nb::arg("data"),
           nb::arg("associated_data").none(), nb::arg("buf"),
           "Encrypts into `buf`, which has exactly as many bytes as encrypt returns and may begin "
           "where `data` does. Returns their number.")
      .def("decrypt", &to_bytes<decrypt>, nb::arg("nonce"), nb::arg("data"),
           nb::arg("associated_data").none(),
           "The text. Raises CorruptError, which is cryptography's InvalidTag, if the tag does not "
           "match.")
      .def("decrypt_into", &into<decrypt>, nb::arg("nonce"), nb::arg("data"),
           nb::arg("associated_data").none(), nb::arg("buf"),
           "Decrypts into `buf`, which has exactly as many bytes as decrypt returns and may begin "
           "where `data` does. It is all zeros if the tag does not match. Returns their number.");
}

}  // namespace paes::python
