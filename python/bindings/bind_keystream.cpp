// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "bind_bytes.hpp"
#include "interruptible.hpp"
#include "paes/keystream.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

using Seconds = std::chrono::duration<double>;
using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

// A context that may be closed while another thread is in a call. The library requires close to
// come after all other calls.
template <typename Context>
class Closable {
 public:
  explicit Closable(Context context) : context_(std::move(context)) {}

  // Calls `work` with the context, without the GIL if that pays.
  template <typename Work>
  auto with(std::size_t bytes, const Work& work) {
    return without_gil(bytes, [&] {
      const std::shared_lock in_use = lock<std::shared_lock<std::shared_mutex>>();
      return work(context_);
    });
  }
  void close() {
    const GilReleased released;
    const std::unique_lock alone = lock<std::unique_lock<std::shared_mutex>>();
    context_.close();
  }

 private:
  // Does not lock in a child, where a thread of the parent's may hold the lock for ever. There the
  // library refuses all calls and closes nothing.
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

// A context's method that encrypts or decrypts into a buffer or into new bytes.
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
  check_overlap(in.bytes(), out.span().first(in.size()));
  self.with(in.size(), [&](KeystreamContext& context) {
    (context.*method)(offset, in.bytes(), out.span().first(in.size()));
  });
  return in.size();
}

constexpr std::size_t tag_bytes = 16;

// A message of a SealedContext, with its tag after the ciphertext.
class Message {
 public:
  Message(std::uint64_t number, ReadArgument data, ReadArgument associated_data)
      : number_(number),
        data_(data, "data"),
        associated_data_(associated_data, "associated_data") {}

  void seal(Messages& messages, const Room& room) const {
    const Bytes text = data_.bytes();
    const MutableBytes out = room(text.size() + tag_bytes);
    check_overlap(text, out);
    messages.with(text.size() + associated_data_.size(), [&](SealedContext& context) {
      context.seal(number_, associated_data_.bytes(), text, out.first(text.size()),
                   out.last(tag_bytes));
    });
  }

  void open(Messages& messages, const Room& room) const {
    const Bytes sealed = data_.bytes();
    if (sealed.size() < tag_bytes) {
      throw Error(ErrorCode::corrupt, "sealed context: the message is shorter than its tag");
    }
    const MutableBytes out = room(sealed.size() - tag_bytes);
    check_overlap(sealed, out);
    const std::size_t bytes = sealed.size() + associated_data_.size();
    const bool is_authentic = messages.with(bytes, [&](SealedContext& context) {
      return context.open(number_, associated_data_.bytes(), sealed.first(out.size()), out,
                          sealed.last(tag_bytes));
    });
    if (!is_authentic) {
      throw Error(ErrorCode::corrupt, "sealed context: the message is forged or damaged");
    }
  }

 private:
  const std::uint64_t number_;
  const Buffer data_;
  const Buffer associated_data_;
};

template <auto work>
nb::bytes message_to_bytes(Messages& self, std::uint64_t number, ReadArgument data,
                           ReadArgument associated_data) {
  const Message message(number, data, associated_data);
  return to_new_bytes([&](const Room& room) { (message.*work)(self, room); });
}
template <auto work>
std::size_t message_into(Messages& self, std::uint64_t number, ReadArgument data,
                         ReadArgument associated_data, WriteArgument buffer) {
  const Message message(number, data, associated_data);
  return to_buffer(buffer, "buffer", [&](const Room& room) { (message.*work)(self, room); });
}

WorkerPriority priority_of(std::string_view name) {
  if (name == "idle") {
    return WorkerPriority::idle;
  }
  if (name == "ordinary") {
    return WorkerPriority::ordinary;
  }
  throw Error(ErrorCode::usage, "worker_priority must be 'idle' or 'ordinary'");
}

// When a call must end that may take this long. Clocks do not count centuries.
std::chrono::steady_clock::time_point deadline_in(double seconds) {
  if (!(seconds >= 0)) {
    throw Error(ErrorCode::usage, "seconds must be 0 or more");
  }
  const Seconds most(std::min(seconds, 1e9));
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(most);
}

// In parts, so that signals are handled in between.
bool idle_interruptibly(KeystreamEngine& keystream,
                        std::chrono::steady_clock::time_point deadline) {
  constexpr std::chrono::milliseconds part{50};
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_last = deadline - now <= part;
    bool is_left = false;
    {
      const GilReleased released;
      is_left = keystream.idle(is_last ? deadline : now + part);
    }
    if (is_last || !is_left) {
      return is_left;
    }
    check_signals();
  }
}

}  // namespace

void add_keystream(nb::module_& module) {
  nb::class_<KeystreamKey>(module, "KeystreamKey", "A key, bound to a cipher by Keystream.bind.")
      .def_prop_ro("kernel", &KeystreamKey::kernel, "The kernel chosen, as in `paes devices`.")
      .def_prop_ro("block_bytes", &KeystreamKey::block_bytes, "16 for AES, 8 for 3DES.");

  nb::class_<Counters>(module, "KeystreamContext",
                       "One stream of counters: a file, a log, a disk (SP 800-38A, section "
                       "6.5). Any number of threads may call. It authenticates nothing: prefer "
                       "SealedContext.")
      .def("encrypt", &to_bytes<&KeystreamContext::encrypt>, nb::arg("offset"), nb::arg("data"),
           "`data` encrypted with the keystream from byte `offset` on: as many bytes. Raises "
           "UsageError where one of them has been encrypted in this context before, or marked as "
           "used, or lies beyond limit_bytes; FailureError if the budget has no room to record "
           "them, and in a forked child.")
      .def("encrypt_into", &into<&KeystreamContext::encrypt>, nb::arg("offset"), nb::arg("data"),
           nb::arg("buffer"),
           "Encrypts into a buffer of at least as many bytes, which may be `data` itself. Returns "
           "how many bytes were written.")
      .def("decrypt", &to_bytes<&KeystreamContext::decrypt>, nb::arg("offset"), nb::arg("data"),
           "`data`, which lies at byte `offset`, decrypted. Records nothing. Raises UsageError "
           "beyond limit_bytes.")
      .def("decrypt_into", &into<&KeystreamContext::decrypt>, nb::arg("offset"), nb::arg("data"),
           nb::arg("buffer"),
           "Decrypts into a buffer of at least as many bytes, which may be `data` itself. Returns "
           "how many bytes were written.")
      .def(
          "prefetch",
          [](Counters& self, std::uint64_t offset) {
            self.with(0, [&](KeystreamContext& context) { context.prefetch(offset); });
          },
          nb::arg("offset"),
          "Moves the window so that it begins at the chunk of byte `offset`. Returns at once.")
      .def(
          "mark_used",
          [](Counters& self, std::uint64_t offset, std::uint64_t size) {
            self.with(0, [&](KeystreamContext& context) { context.mark_used(offset, size); });
          },
          nb::arg("offset"), nb::arg("size"),
          "Records `size` bytes from `offset` on as encrypted elsewhere. Call this first on "
          "existing data. Raises as encrypt does.")
      .def("close", &Counters::close,
           "Wipes what the context holds. Later calls raise UsageError.");

  nb::class_<Messages>(module, "SealedContext",
                       "A row of messages under AES-GCM (SP 800-38D), each with a number and "
                       "at most chunk_bytes long. Any number of threads may call.")
      .def("seal", &message_to_bytes<&Message::seal>, nb::arg("message"), nb::arg("data"),
           nb::arg("associated_data") = nb::bytes("", 0),
           "The ciphertext with the tag of 16 bytes at its end. Raises UsageError where a message "
           "of this number has been sealed before, or marked as used, and for one of more than "
           "chunk_bytes; FailureError if the budget has no room to record it, and in a forked "
           "child.")
      .def("seal_into", &message_into<&Message::seal>, nb::arg("message"), nb::arg("data"),
           nb::arg("associated_data"), nb::arg("buffer"),
           "Seals into a buffer of exactly as many bytes as seal returns, which may begin where "
           "`data` does. Returns their number.")
      .def("open", &message_to_bytes<&Message::open>, nb::arg("message"), nb::arg("data"),
           nb::arg("associated_data") = nb::bytes("", 0),
           "The text. Raises CorruptError if the tag does not match. Until it returns, nobody may "
           "change what it was given (AESGCM says why).")
      .def("open_into", &message_into<&Message::open>, nb::arg("message"), nb::arg("data"),
           nb::arg("associated_data"), nb::arg("buffer"),
           "Opens into a buffer of exactly as many bytes as open returns, which may begin where "
           "`data` does and is all zeros if the tag does not match. Returns their number.")
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
          nb::arg("first"), nb::arg("messages"),
          "Records so many messages from number `first` on as sealed elsewhere. Raises as seal "
          "does.")
      .def("close", &Messages::close,
           "Wipes what the context holds. Later calls raise UsageError.");

  nb::class_<KeystreamEngine>(
      module, "Keystream",
      "Computes keystream before the data is there, so that encrypting a small block costs little "
      "more than an XOR.\n\n"
      "workers: threads of its own; 0: all is computed in idle().\n"
      "budget_bytes: for all that it keeps.\n"
      "chunk_bytes: the unit in which keystream is kept, a power of two from 512 to 65536.\n"
      "worker_priority: idle, if workers run only when nothing else needs the processor; or "
      "ordinary, if they compete for it and prefetch wakes one.\n"
      "always_ahead: computes ahead even where computing directly is measured to be faster.\n\n"
      "Raises UsageError for options that make no sense, FailureError if the system gives no "
      "memory or threads. In a forked child all calls but idle raise FailureError.")
      .def(
          "__init__",
          [](KeystreamEngine* self, unsigned workers, std::size_t budget_bytes,
             std::size_t chunk_bytes, std::string_view worker_priority, bool always_ahead) {
            new (self) KeystreamEngine({.workers = workers,
                                        .budget_bytes = budget_bytes,
                                        .chunk_bytes = chunk_bytes,
                                        .worker_priority = priority_of(worker_priority),
                                        .always_ahead = always_ahead});
          },
          nb::kw_only(), nb::arg("workers") = 0, nb::arg("budget_bytes") = std::size_t{64} << 20,
          nb::arg("chunk_bytes") = 4096, nb::arg("worker_priority") = "idle",
          nb::arg("always_ahead") = false)
      .def(
          "bind",
          [](KeystreamEngine& self, std::string_view cipher, ReadArgument key,
             std::string_view kernel) {
            const Buffer key_bytes(key, "key");
            return self.bind(cipher, key_bytes.bytes(), {.kernel = kernel});
          },
          nb::arg("cipher"), nb::arg("key"), nb::kw_only(), nb::arg("kernel") = "auto",
          "Prepares a key, which must not serve both sorts of contexts.\n\n"
          "cipher: aes-128-ctr, aes-192-ctr, aes-256-ctr or des-ede3-ctr for open(); aes-128-gcm, "
          "aes-192-gcm or aes-256-gcm for open_sealed().\n"
          "key: 16, 24 or 32 bytes, as the name says; 24 for 3DES.\n"
          "kernel: a name that `paes devices` lists as available, or auto.\n\n"
          "Raises UsageError for impossible names, lengths and kernels.")
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
          "Opens a stream of counters.\n\n"
          "first_counter: the counter block of byte 0, of 16 bytes, of 3DES 8. No two contexts of "
          "a key may share counters.\n"
          "window_chunks: how many chunks are kept ready, 0 to 65536.\n"
          "limit_bytes: bytes from there on are refused; 0: none are.\n\n"
          "Raises UsageError for a key or a length of the other sort, FailureError if the budget "
          "has no room.")
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
          "Opens a row of messages.\n\n"
          "first_nonce: 12 bytes, the nonce of message 0. Its last 8 are a number, big-endian, to "
          "which a message's own is added (SP 800-38D, section 8.2.1). No two contexts of a key "
          "may share nonces.\n"
          "window_messages: how many are kept ready, 0 to 65536.\n"
          "limit_messages: messages from there on are refused; 0: from 2**61 - 1 on.\n\n"
          "Raises as open does.")
      .def(
          "idle",
          [](KeystreamEngine& self, double seconds) {
            return idle_interruptibly(self, deadline_in(seconds));
          },
          nb::arg("seconds"),
          "Computes ahead in this thread for at most so long. Returns whether something is left. "
          "Raises UsageError for less than 0.");
}

}  // namespace paes::python
