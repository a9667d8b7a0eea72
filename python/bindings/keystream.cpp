#include "paes/keystream.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "bytes.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

using Seconds = std::chrono::duration<double>;

// A context that may be closed while another thread is in a call: the library wants close to come
// after all others.
template <typename Context>
class Closable {
 public:
  explicit Closable(Context context) : context_(std::move(context)) {}

  // Calls `work` with the context, without the GIL where that pays.
  template <typename Work>
  auto with(std::size_t bytes, const Work& work) {
    return without_gil(bytes, [&] {
      const std::shared_lock in_use = lock<std::shared_lock<std::shared_mutex>>();
      return work(context_);
    });
  }
  void close() {
    const Released released;
    const std::unique_lock alone = lock<std::unique_lock<std::shared_mutex>>();
    context_.close();
  }

 private:
  // Not in a child, where a thread of the parent's may hold it for ever. There the library refuses
  // all calls and closes nothing.
  template <typename Lock>
  Lock lock() {
    return getpid() == process_ ? Lock(closing_) : Lock();
  }

  const pid_t process_ = getpid();
  std::shared_mutex closing_;
  Context context_;
};
using Counters = Closable<KeystreamContext>;
using Messages = Closable<SealedContext>;

// The method of a context that encrypts, or decrypts, into a buffer or into new bytes.
template <auto method>
nb::bytes to_bytes(Counters& self, std::uint64_t offset, ReadArgument data) {
  const Buffer in(data, "data");
  NewBytes out(in.size());
  self.with(in.size(),
            [&](KeystreamContext& context) { (context.*method)(offset, in.bytes(), out.span()); });
  return std::move(out).take(in.size());
}
template <auto method>
std::size_t into(Counters& self, std::uint64_t offset, ReadArgument data, WriteArgument buffer) {
  const Buffer in(data, "data");
  const WritableBuffer out(buffer, "buffer");
  check_room(out.size(), in.size());
  self.with(in.size(), [&](KeystreamContext& context) {
    (context.*method)(offset, in.bytes(), out.span().first(in.size()));
  });
  return in.size();
}

constexpr std::size_t tag_bytes = 16;

nb::bytes seal(Messages& self, std::uint64_t message, ReadArgument data, ReadArgument aad) {
  const Buffer text(data, "data");
  const Buffer additional(aad, "associated_data");
  NewBytes sealed(text.size() + tag_bytes);
  const std::span<std::uint8_t> out = sealed.span();
  self.with(text.size(), [&](SealedContext& context) {
    context.seal(message, additional.bytes(), text.bytes(), out.first(text.size()),
                 out.last(tag_bytes));
  });
  return std::move(sealed).take(text.size() + tag_bytes);
}

nb::bytes open(Messages& self, std::uint64_t message, ReadArgument data, ReadArgument aad) {
  const Buffer sealed(data, "data");
  const Buffer additional(aad, "associated_data");
  if (sealed.size() < tag_bytes) {
    throw Error(ErrorCode::corrupt, "sealed context: the message is shorter than its tag");
  }
  NewBytes text(sealed.size() - tag_bytes);
  const std::span<std::uint8_t> out = text.span();
  const bool is_authentic = self.with(sealed.size(), [&](SealedContext& context) {
    return context.open(message, additional.bytes(), sealed.bytes().first(out.size()), out,
                        sealed.bytes().last(tag_bytes));
  });
  if (!is_authentic) {
    throw Error(ErrorCode::corrupt, "sealed context: the message is forged or damaged");
  }
  return std::move(text).take(out.size());
}

}  // namespace

void add_keystream(nb::module_& module) {
  nb::class_<KeystreamKey>(module, "KeystreamKey", "A key, bound to a cipher by Keystream.bind.")
      .def_prop_ro("kernel", &KeystreamKey::kernel, "The kernel chosen, as in `paes devices`.")
      .def_prop_ro("block_bytes", &KeystreamKey::block_bytes, "16 for AES, 8 for 3DES.");

  nb::class_<Counters>(module, "KeystreamContext",
                       "One stream of counters: a file, a log, a disk (SP 800-38A, section "
                       "6.5). Any number of threads "
                       "may call. It authenticates nothing: prefer SealedContext.")
      .def("encrypt", &to_bytes<&KeystreamContext::encrypt>, nb::arg("offset"), nb::arg("data"),
           "Raises UsageError where a byte has been encrypted in this context before, or marked as "
           "used.")
      .def("encrypt_into", &into<&KeystreamContext::encrypt>, nb::arg("offset"), nb::arg("data"),
           nb::arg("buffer"))
      .def("decrypt", &to_bytes<&KeystreamContext::decrypt>, nb::arg("offset"), nb::arg("data"))
      .def("decrypt_into", &into<&KeystreamContext::decrypt>, nb::arg("offset"), nb::arg("data"),
           nb::arg("buffer"))
      .def(
          "prefetch",
          [](Counters& self, std::uint64_t offset) {
            self.with(0, [&](KeystreamContext& context) { context.prefetch(offset); });
          },
          nb::arg("offset"),
          "Moves the window so that it begins at the chunk of `offset`. Returns at once.")
      .def(
          "mark_used",
          [](Counters& self, std::uint64_t offset, std::uint64_t size) {
            self.with(0, [&](KeystreamContext& context) { context.mark_used(offset, size); });
          },
          nb::arg("offset"), nb::arg("size"),
          "Records bytes as encrypted elsewhere. Call this first on existing data.")
      .def("close", &Counters::close,
           "Wipes what the context holds. Later calls raise UsageError.");

  nb::class_<Messages>(module, "SealedContext",
                       "A row of messages under AES-GCM (SP 800-38D), each with a number and "
                       "at most chunk_bytes long. "
                       "Any number of threads may call.")
      .def("seal", &seal, nb::arg("message"), nb::arg("data"),
           nb::arg("associated_data") = nb::bytes("", 0),
           "The ciphertext with the tag of 16 bytes at its end. Raises UsageError where a message "
           "of "
           "this number has been sealed before, or marked as used.")
      .def("open", &open, nb::arg("message"), nb::arg("data"),
           nb::arg("associated_data") = nb::bytes("", 0),
           "The text. Raises CorruptError if the tag does not match.")
      .def(
          "prefetch",
          [](Messages& self, std::uint64_t message) {
            self.with(0, [&](SealedContext& context) { context.prefetch(message); });
          },
          nb::arg("message"), "Moves the window so that it begins at this message.")
      .def(
          "mark_used",
          [](Messages& self, std::uint64_t first, std::uint64_t messages) {
            self.with(0, [&](SealedContext& context) { context.mark_used(first, messages); });
          },
          nb::arg("first"), nb::arg("messages"), "Records messages as sealed elsewhere.")
      .def("close", &Messages::close,
           "Wipes what the context holds. Later calls raise UsageError.");

  nb::class_<KeystreamEngine>(
      module, "Keystream",
      "Computes keystream before the data is there, so that encrypting a small block costs little "
      "more "
      "than an XOR.\n\n"
      "workers: threads of its own, which run when nothing else needs the processor; 0: all is "
      "computed in idle().\n"
      "budget_bytes: for all that it keeps.\n"
      "chunk_bytes: the unit in which keystream is kept, a power of two from 512 to 65536.")
      .def(
          "__init__",
          [](KeystreamEngine* self, unsigned workers, std::size_t budget_bytes,
             std::size_t chunk_bytes) {
            new (self) KeystreamEngine(
                {.workers = workers, .budget_bytes = budget_bytes, .chunk_bytes = chunk_bytes});
          },
          nb::kw_only(), nb::arg("workers") = 0, nb::arg("budget_bytes") = std::size_t{64} << 20,
          nb::arg("chunk_bytes") = 4096)
      .def(
          "bind",
          [](KeystreamEngine& self, std::string_view cipher, ReadArgument key,
             std::string_view kernel) {
            const Buffer key_bytes(key, "key");
            return self.bind(cipher, key_bytes.bytes(), {.kernel = kernel});
          },
          nb::arg("cipher"), nb::arg("key"), nb::kw_only(), nb::arg("kernel") = "auto",
          "cipher: aes-128-ctr, aes-192-ctr, aes-256-ctr or des-ede3-ctr for open(); aes-128-gcm, "
          "aes-192-gcm or aes-256-gcm for open_sealed().")
      .def(
          "open",
          [](KeystreamEngine& self, const KeystreamKey& key, ReadArgument first_counter,
             unsigned window_chunks, std::uint64_t limit_bytes) {
            const Buffer counter(first_counter, "first_counter");
            return std::make_unique<Counters>(
                self.open(key, counter.bytes(),
                          {.window_chunks = window_chunks, .limit_bytes = limit_bytes}));
          },
          nb::arg("key"), nb::arg("first_counter"), nb::kw_only(), nb::arg("window_chunks") = 16,
          nb::arg("limit_bytes") = 0,
          "first_counter: the counter block of byte 0. No two contexts of a key may share "
          "counters.")
      .def(
          "open_sealed",
          [](KeystreamEngine& self, const KeystreamKey& key, ReadArgument first_nonce,
             unsigned window_messages, std::uint64_t limit_messages) {
            const Buffer nonce(first_nonce, "first_nonce");
            return std::make_unique<Messages>(self.open_sealed(
                key, nonce.bytes(),
                {.window_messages = window_messages, .limit_messages = limit_messages}));
          },
          nb::arg("key"), nb::arg("first_nonce"), nb::kw_only(), nb::arg("window_messages") = 16,
          nb::arg("limit_messages") = 0,
          "first_nonce: 12 bytes, the nonce of message 0. No two contexts of a key may share "
          "nonces.")
      .def(
          "idle",
          [](KeystreamEngine& self, double seconds) {
            const auto deadline =
                std::chrono::steady_clock::now() +
                std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
            const Released released;
            return self.idle(deadline);
          },
          nb::arg("seconds"),
          "Computes ahead in this thread for at most so long. Returns whether something is left.");
}

}  // namespace paes::python
