// SPDX-License-Identifier: Apache-2.0
// The public header's Cobblestone streams: what comes is cut into chunks, and whole chunks go from
// the caller's memory to the caller's memory.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/forks.hpp"
#include "core/secret.hpp"
#include "exec/executor.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "library/key_parts.hpp"
#include "paes/cobblestone.hpp"
#include "stream/container/chunk_cipher.hpp"

namespace paes {

using cobblestone::chunk_bytes;
using cobblestone::chunk_text_bytes;
using cobblestone::prefix_bytes;
using cobblestone::tag_bytes;

namespace {

constexpr const char* stream_name = "Cobblestone stream";  // for errors

[[noreturn]] void fail(ErrorCode code, const std::string& why) {
  throw Error(code, std::string(stream_name) + ": " + why);
}

// What a thread takes at a time, 256 KiB.
constexpr std::size_t chunks_a_turn = 16;

// Chunks in memory do not depend on one another: threads share those of one call.
class ChunkThreads {
 public:
  explicit ChunkThreads(unsigned threads) : executor_(make_thread_pool(threads)) {}

  // Starts the threads if that many chunks are work for several. Throws Error(failure) if they
  // cannot start.
  void start_for(std::size_t chunks) const {
    if (are_worth_it(chunks)) {
      executor_->start();
    }
  }

  // Calls fn(index) once for each index below `chunks`. Throws what fn throws.
  void for_each(std::size_t chunks, const std::function<void(std::size_t)>& fn) const {
    const Executor& executor = are_worth_it(chunks) ? *executor_ : serial_executor();
    const std::size_t turns = (chunks + chunks_a_turn - 1) / chunks_a_turn;
    executor.for_each(turns, [&](std::size_t turn) {
      const std::size_t first = turn * chunks_a_turn;
      const std::size_t end = std::min(chunks, first + chunks_a_turn);
      for (std::size_t index = first; index < end; ++index) {
        fn(index);
      }
    });
  }

 private:
  // Below two turns, threads cost more than they gain.
  [[nodiscard]] bool are_worth_it(std::size_t chunks) const noexcept {
    return executor_->threads() > 1 && chunks >= 2 * chunks_a_turn;
  }

  std::unique_ptr<Executor> executor_;
};

enum class Stage { open, ended, failed };

void check_open(Stage stage) {
  if (stage == Stage::ended) {
    fail(ErrorCode::usage, "has been finalized");
  }
  if (stage == Stage::failed) {
    fail(ErrorCode::failure, "an earlier call failed");
  }
}

void check_output(std::size_t wanted_bytes, Bytes out) {
  if (out.size() < wanted_bytes) {
    throw Error(ErrorCode::usage, "output: " + std::to_string(out.size()) +
                                      " bytes, too small for " + std::to_string(wanted_bytes));
  }
}

void check_apart(Bytes in, Bytes out) {
  const std::less<> before;
  if (!in.empty() && !out.empty() && before(in.data(), out.data() + out.size()) &&
      before(out.data(), in.data() + in.size())) {
    throw Error(ErrorCode::usage, "output: shares memory with the input");
  }
}

// Cuts the first bytes off.
template <typename Span>
Span take(Span& from, std::size_t bytes) noexcept {
  const Span taken = from.first(bytes);
  from = from.subspan(bytes);
  return taken;
}

// Moves from the front of `from` to `to`, which has its first `have_bytes` bytes already. True when
// `to` is full.
bool fill(MutableBytes to, std::size_t& have_bytes, Bytes& from) noexcept {
  const Bytes more = take(from, std::min(from.size(), to.size() - have_bytes));
  std::copy(more.begin(), more.end(), to.begin() + static_cast<std::ptrdiff_t>(have_bytes));
  have_bytes += more.size();
  return have_bytes == to.size();
}

void check_key(const CobblestoneKey& key) {
  if (key.is_empty()) {
    throw Error(ErrorCode::usage, "key: the handle is empty");
  }
}

}  // namespace

struct PAES_HIDDEN CobblestoneEncryptor::State {
  State(const CobblestoneKey& key, const CobblestoneOptions& options)
      : threads(options.threads), made(make(key, options)), kept(chunk_text_bytes) {}

  static stream::NewBareCipher make(const CobblestoneKey& key, const CobblestoneOptions& options) {
    check_key(key);
    const auto& own = KeyParts::of(key);
    return stream::new_bare_cipher(own.key, own.context, find_kernel(Cipher::aes, options.kernel),
                                   {});
  }

  // A child and its parent would seal different texts under the same nonces.
  void check_usable() const {
    if (!mark.is_intact()) {
      fail(ErrorCode::failure, "a forked child cannot use its parent's");
    }
    check_open(stage);
  }

  // The chunks that this much more text completes.
  [[nodiscard]] std::size_t chunks_with(std::size_t text_bytes) const noexcept {
    return text_bytes / chunk_text_bytes +
           (kept_bytes + text_bytes % chunk_text_bytes) / chunk_text_bytes;
  }

  [[nodiscard]] std::size_t due_prefix_bytes() const noexcept {
    return is_prefix_written ? 0 : prefix_bytes;
  }

  [[nodiscard]] std::size_t update_bytes(std::size_t text_bytes) const noexcept {
    if (stage != Stage::open) {
      return 0;
    }
    const std::size_t chunks = chunks_with(text_bytes);
    if (chunks >= cobblestone::max_chunks - next_chunk) {
      return SIZE_MAX;
    }
    return due_prefix_bytes() + chunks * chunk_bytes;
  }

  [[nodiscard]] std::size_t finalize_bytes() const noexcept {
    return stage == Stage::open ? due_prefix_bytes() + kept_bytes + tag_bytes : 0;
  }

  std::size_t update(Bytes text, MutableBytes ciphertext) {
    check_usable();
    const std::size_t chunks = chunks_with(text.size());
    // The last one is yet to come.
    stream::check_chunk_limit(stream_name, next_chunk + chunks + 1);
    const std::size_t bytes = update_bytes(text.size());
    check_output(bytes, ciphertext);
    check_apart(text, ciphertext);
    threads.start_for(chunks);
    stage = Stage::failed;  // until all is sealed: no chunk may be sealed twice
    write_prefix(ciphertext);
    if (kept_bytes != 0 && fill(kept, kept_bytes, text)) {
      seal_kept(ciphertext);
    }
    seal_whole(text, ciphertext);
    (void)fill(kept, kept_bytes, text);
    stage = Stage::open;
    return bytes;
  }

  std::size_t finalize(MutableBytes ciphertext) {
    check_usable();
    const std::size_t bytes = finalize_bytes();
    check_output(bytes, ciphertext);
    write_prefix(ciphertext);
    seal_kept(ciphertext);
    kept = {};
    stage = Stage::ended;
    return bytes;
  }

  // These three cut off the front what they use.
  void write_prefix(MutableBytes& ciphertext) noexcept {
    const MutableBytes to = take(ciphertext, due_prefix_bytes());
    std::copy_n(made.prefix.begin(), to.size(), to.begin());
    is_prefix_written = true;
  }
  void seal_kept(MutableBytes& ciphertext) noexcept {
    const Bytes text = Bytes(kept).first(kept_bytes);
    made.cipher->seal_chunk(next_chunk, text, take(ciphertext, text.size() + tag_bytes));
    ++next_chunk;
    kept_bytes = 0;
  }
  void seal_whole(Bytes& text, MutableBytes& ciphertext) {
    const std::size_t chunks = text.size() / chunk_text_bytes;
    const Bytes from = take(text, chunks * chunk_text_bytes);
    const MutableBytes to = take(ciphertext, chunks * chunk_bytes);
    threads.for_each(chunks, [&](std::size_t i) {
      made.cipher->seal_chunk(next_chunk + i, from.subspan(i * chunk_text_bytes, chunk_text_bytes),
                              to.subspan(i * chunk_bytes, chunk_bytes));
    });
    next_chunk += chunks;
  }

  const ForkMark mark;
  ChunkThreads threads;
  stream::NewBareCipher made;
  Stage stage = Stage::open;
  bool is_prefix_written = false;
  std::uint64_t next_chunk = 0;
  SecretBytes kept;  // the beginning of that chunk's text
  std::size_t kept_bytes = 0;
};

CobblestoneEncryptor::CobblestoneEncryptor(const CobblestoneKey& key,
                                           const CobblestoneOptions& options)
    : state_(std::make_unique<State>(key, options)) {}
CobblestoneEncryptor::~CobblestoneEncryptor() = default;
CobblestoneEncryptor::CobblestoneEncryptor(CobblestoneEncryptor&&) noexcept = default;
CobblestoneEncryptor& CobblestoneEncryptor::operator=(CobblestoneEncryptor&&) noexcept = default;

std::size_t CobblestoneEncryptor::update(Bytes text, MutableBytes ciphertext) {
  return state_->update(text, ciphertext);
}
std::size_t CobblestoneEncryptor::update_bytes(std::size_t text_bytes) const noexcept {
  return state_->update_bytes(text_bytes);
}
std::size_t CobblestoneEncryptor::finalize(MutableBytes ciphertext) {
  return state_->finalize(ciphertext);
}
std::size_t CobblestoneEncryptor::finalize_bytes() const noexcept {
  return state_->finalize_bytes();
}

struct PAES_HIDDEN CobblestoneDecryptor::State {
  State(const CobblestoneKey& with, const CobblestoneOptions& options)
      : key(with),
        kernel(find_kernel(Cipher::aes, options.kernel)),
        threads(options.threads),
        kept(chunk_bytes) {
    check_key(key);
  }

  // The chunks that this much more ciphertext completes.
  [[nodiscard]] std::size_t chunks_with(std::size_t ciphertext_bytes) const noexcept {
    const std::size_t bytes =
        ciphertext_bytes - std::min(ciphertext_bytes, prefix_bytes - have_prefix_bytes);
    return bytes / chunk_bytes + (kept_bytes + bytes % chunk_bytes) / chunk_bytes;
  }

  [[nodiscard]] std::size_t update_bytes(std::size_t ciphertext_bytes) const noexcept {
    return stage == Stage::open ? chunks_with(ciphertext_bytes) * chunk_text_bytes : 0;
  }

  // The last chunk is never whole: it would have been opened already.
  [[nodiscard]] std::size_t finalize_bytes() const noexcept {
    return stage == Stage::open ? kept_bytes - std::min(kept_bytes, tag_bytes) : 0;
  }

  std::size_t update(Bytes ciphertext, MutableBytes text) {
    check_open(stage);
    const std::size_t bytes = update_bytes(ciphertext.size());
    check_output(bytes, text);
    check_apart(ciphertext, text);
    threads.start_for(chunks_with(ciphertext.size()));
    all_or_zeros(text, [&] { open_next(ciphertext, text); });
    return bytes;
  }

  std::size_t finalize(MutableBytes text) {
    check_open(stage);
    const std::size_t bytes = finalize_bytes();
    check_output(bytes, text);
    all_or_zeros(text, [&] {
      if (kept_bytes < tag_bytes) {
        stream::throw_truncated(stream_name);
      }
      open(next_chunk, Bytes(kept).first(kept_bytes), text.first(bytes));
    });
    stage = Stage::ended;
    return bytes;
  }

  template <typename Task>
  void all_or_zeros(MutableBytes text, const Task& work) {
    try {
      work();
    } catch (...) {
      stage = Stage::failed;
      wipe(text);
      throw;
    }
  }

  void open_next(Bytes ciphertext, MutableBytes text) {
    if (cipher == nullptr) {
      if (!fill(prefix, have_prefix_bytes, ciphertext)) {
        return;
      }
      const auto& own = KeyParts::of(key);
      cipher = stream::open_bare_cipher(stream_name, prefix, own.key, own.context, kernel, {});
      key = {};
    }
    check_chunks_left(chunks_with(ciphertext.size()));
    if (kept_bytes != 0 && fill(kept, kept_bytes, ciphertext)) {
      open(next_chunk, kept, take(text, chunk_text_bytes));
      ++next_chunk;
      kept_bytes = 0;
    }
    open_whole(ciphertext, text);
    (void)fill(kept, kept_bytes, ciphertext);
  }

  // One more, the last one, is yet to come.
  void check_chunks_left(std::size_t chunks) const {
    if (chunks >= cobblestone::max_chunks - next_chunk) {
      fail(ErrorCode::corrupt, "has more chunks than a stream may have");
    }
  }

  // Cuts off the front what it opens.
  void open_whole(Bytes& ciphertext, MutableBytes& text) {
    const std::size_t chunks = ciphertext.size() / chunk_bytes;
    const Bytes from = take(ciphertext, chunks * chunk_bytes);
    const MutableBytes to = take(text, chunks * chunk_text_bytes);
    threads.for_each(chunks, [&](std::size_t i) {
      open(next_chunk + i, from.subspan(i * chunk_bytes, chunk_bytes),
           to.subspan(i * chunk_text_bytes, chunk_text_bytes));
    });
    next_chunk += chunks;
  }

  void open(std::uint64_t number, Bytes sealed, MutableBytes text) const {
    if (!cipher->open_chunk(number, sealed, text)) {
      fail(ErrorCode::corrupt,
           "chunk " + std::to_string(number) + " is damaged, misplaced or forged");
    }
  }

  CobblestoneKey key;  // until there is a cipher
  const Kernel& kernel;
  ChunkThreads threads;
  std::unique_ptr<const stream::ChunkCipher> cipher;  // null until the prefix is complete
  Stage stage = Stage::open;
  stream::PayloadPrefix prefix{};
  std::size_t have_prefix_bytes = 0;
  std::uint64_t next_chunk = 0;
  std::vector<std::uint8_t> kept;  // the beginning of that chunk
  std::size_t kept_bytes = 0;
};

CobblestoneDecryptor::CobblestoneDecryptor(const CobblestoneKey& key,
                                           const CobblestoneOptions& options)
    : state_(std::make_unique<State>(key, options)) {}
CobblestoneDecryptor::~CobblestoneDecryptor() = default;
CobblestoneDecryptor::CobblestoneDecryptor(CobblestoneDecryptor&&) noexcept = default;
CobblestoneDecryptor& CobblestoneDecryptor::operator=(CobblestoneDecryptor&&) noexcept = default;

std::size_t CobblestoneDecryptor::update(Bytes ciphertext, MutableBytes text) {
  return state_->update(ciphertext, text);
}
std::size_t CobblestoneDecryptor::update_bytes(std::size_t ciphertext_bytes) const noexcept {
  return state_->update_bytes(ciphertext_bytes);
}
std::size_t CobblestoneDecryptor::finalize(MutableBytes text) { return state_->finalize(text); }
std::size_t CobblestoneDecryptor::finalize_bytes() const noexcept {
  return state_->finalize_bytes();
}

}  // namespace paes
