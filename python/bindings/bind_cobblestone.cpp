// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "bind_bytes.hpp"
#include "interruptible.hpp"
#include "paes/cobblestone.hpp"
#include "paes/file.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

CobblestoneKey key_of(ReadArgument key, ReadArgument context, std::size_t key_bytes) {
  const Buffer bytes(key, "key");
  if (bytes.size() != key_bytes) {
    throw Error(ErrorCode::usage, "key must be " + std::to_string(key_bytes) + " bytes, not " +
                                      std::to_string(bytes.size()));
  }
  return CobblestoneKey(bytes.bytes(), Buffer(context, "context").bytes());
}

// A stream in one direction, with the calls of cryptography's classes. They allow input and output
// to share memory, and their errors name the call that came after the end.
template <typename Coder, std::size_t key_bytes>
class Stream {
 public:
  Stream(ReadArgument key, ReadArgument context, const std::string& kernel, unsigned threads)
      : key_(key_of(key, context, key_bytes)),
        kernel_(kernel),
        threads_(threads),
        coder_(key_, {.kernel = kernel_, .threads = threads}) {}

  nb::bytes update(ReadArgument data) {
    const Turn turn(in_use_);
    const Buffer in(data, "data");
    check_not_ended();
    NewBytes out(coder_.update_bytes(in.size()));
    const std::size_t bytes = run(in.bytes(), out.span());
    return std::move(out).take(bytes);
  }

  std::size_t update_into(ReadArgument data, WriteArgument buffer) {
    const Turn turn(in_use_);
    const Buffer in(data, "data");
    const WritableBuffer out(buffer, "buf");
    check_not_ended();
    const std::size_t bytes = coder_.update_bytes(in.size());
    check_room(out.size(), bytes);
    const MutableBytes to = out.span().first(bytes);
    if (!overlap(in.bytes(), to)) {
      return run(in.bytes(), to);
    }
    const Bytes from = in.bytes();
    std::vector<std::uint8_t> copy(from.begin(), from.end());
    try {
      const std::size_t written = run(copy, to);
      explicit_bzero(copy.data(), copy.size());
      return written;
    } catch (...) {
      explicit_bzero(copy.data(), copy.size());
      throw;
    }
  }

  nb::bytes finalize() {
    const Turn turn(in_use_);
    check_not_ended();
    NewBytes out(coder_.finalize_bytes());
    is_ended_ = true;
    const std::size_t bytes = coder_.finalize(out.span());
    return std::move(out).take(bytes);
  }

  [[nodiscard]] nb::bytes decrypt_range(ReadArgument ciphertext, std::uint64_t offset,
                                        std::size_t size) const {
    const Buffer sealed(ciphertext, "ciphertext");
    const Bytes all = sealed.bytes();
    const ReadAt read = [all](std::uint64_t from, MutableBytes to) {
      const Bytes part = all.subspan(static_cast<std::size_t>(from), to.size());
      std::copy(part.begin(), part.end(), to.begin());
      return part.size();
    };
    std::optional<Reader> reader;
    {
      const GilReleased released;
      reader.emplace(FileSource::callback(read, all.size(), "ciphertext"), OpenWith{.key = key_},
                     FileOptions{.threads = threads_, .kernel = kernel_});
    }
    const std::uint64_t left = reader->size() - std::min(reader->size(), offset);
    NewBytes text(static_cast<std::size_t>(std::min<std::uint64_t>(size, left)));
    const MutableBytes to = text.span();
    const std::size_t got = read_interruptibly(*reader, offset, to);
    return std::move(text).take(got);
  }

 private:
  void check_not_ended() const {
    if (is_ended_) {
      raise("AlreadyFinalized", "the stream has ended");
    }
  }

  // A stream has ended once it failed, unless nothing was done, or once a signal handler stopped
  // it.
  std::size_t run(Bytes in, MutableBytes out) {
    std::size_t written = 0;
    for (;;) {
      const Bytes part = in.first(std::min(in.size(), interruptible_bytes));
      try {
        written +=
            without_gil(part.size(), [&] { return coder_.update(part, out.subspan(written)); });
      } catch (const Error& error) {
        is_ended_ = error.code == ErrorCode::corrupt || error.code == ErrorCode::wrong_key;
        throw;
      }
      in = in.subspan(part.size());
      if (in.empty()) {
        return written;
      }
      is_ended_ = true;
      check_signals();
      is_ended_ = false;
    }
  }

  const CobblestoneKey key_;
  const std::string kernel_;
  const unsigned threads_;
  Coder coder_;
  bool is_ended_ = false;
  std::atomic_flag in_use_;
};

template <typename Coder, std::size_t key_bytes>
nb::class_<Stream<Coder, key_bytes>> add_stream(nb::module_& module, const char* name,
                                                const char* doc) {
  using Class = Stream<Coder, key_bytes>;
  return nb::class_<Class>(module, name, doc)
      .def(
          nb::init<ReadArgument, ReadArgument, const std::string&, unsigned>(), nb::arg("key"),
          nb::arg("context"), nb::kw_only(), nb::arg("kernel") = "auto", nb::arg("threads") = 1,
          "key: 16 bytes for Cobblestone-128, 32 for Cobblestone-256.\n"
          "context: any bytes, the same for both directions; what the stream is for.\n"
          "kernel: a name that `paes devices` lists as available, or auto.\n"
          "threads: for calls with much data; 0 means every processor.\n\n"
          "Raises UsageError for other lengths of keys, and for a kernel that does not run here. A "
          "call raises FailureError if its threads cannot start.")
      .def("update", &Class::update, nb::arg("data"),
           "The next bytes of the stream. Returns what is complete, in chunks of 16384 bytes of "
           "text, and keeps the rest. Raises AlreadyFinalized once the stream has ended.")
      .def("update_into", &Class::update_into, nb::arg("data"), nb::arg("buf"),
           "Writes what update would return into `buf`, which may share memory with `data`. "
           "Returns how many bytes were written. Raises UsageError, and does nothing, if there is "
           "too little room.")
      .def("finalize", &Class::finalize,
           "Ends the stream and returns the rest. Raises AlreadyFinalized if it has ended.");
}

template <std::size_t key_bytes>
void add_pair(nb::module_& module, const char* encryptor, const char* decryptor) {
  add_stream<CobblestoneEncryptor, key_bytes>(module, encryptor,
                                              "Encrypts one stream (C2SP chunked-encryption v1) "
                                              "with the interface of cryptography's class of "
                                              "this name. The salt is random. A forked child "
                                              "cannot use its parent's, which would seal other "
                                              "text under the same nonces: FailureError.")
      .def_static(
          "generate_key", [] { return random_key(key_bytes); }, "A new random key.");
  add_stream<CobblestoneDecryptor, key_bytes>(
      module, decryptor,
      "Decrypts one stream (C2SP chunked-encryption v1) with the interface of cryptography's class "
      "of this name. Only authentic text comes out; not before finalize is it certain that the "
      "stream was not cut. Until a call returns, nobody may change what it was given (AESGCM says "
      "why). All calls raise WrongKeyError or CorruptError, which both are "
      "cryptography's InvalidTag, for what is not authentic.")
      .def("decrypt_range", &Stream<CobblestoneDecryptor, key_bytes>::decrypt_range,
           nb::arg("ciphertext"), nb::arg("offset"), nb::arg("size"),
           "The text from byte `offset` on, at most `size` bytes, of a whole ciphertext in memory. "
           "Authenticates the chunks that it touches and the last, so that a cut is found. It does "
           "not change the stream.");
}

}  // namespace

void add_cobblestone(nb::module_& module) {
  add_pair<16>(module, "Cobblestone128Encryptor", "Cobblestone128Decryptor");
  add_pair<32>(module, "Cobblestone256Encryptor", "Cobblestone256Decryptor");
}

}  // namespace paes::python
