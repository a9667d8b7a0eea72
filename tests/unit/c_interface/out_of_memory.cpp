// SPDX-License-Identifier: Apache-2.0
// No call of the library ends the program, also where memory is out: each allocation of libcrypto,
// of C++ and of pages fails once, in a process of its own, and all from one on do. Whatever a call
// answers, what follows goes on; and what runs of the kernel `openssl` need is there before them.
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "exec/executor.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "paes/cipher.hpp"
#include "paes/gcm.hpp"
#include "paes/paes.h"
#include "rows/rows.hpp"

namespace {

// Allocations until one fails; which ones count.
std::atomic<long> left{LONG_MAX};
std::atomic<bool> fails_once{true};
std::atomic<bool> was_refused{false};
std::atomic<bool> counts_libcrypto{true};
std::atomic<bool> counts_others{true};

bool is_refused(const std::atomic<bool>& counts) noexcept {
  if (!counts.load()) {
    return false;
  }
  const long before = left.fetch_sub(1);
  const bool is_now = before == 1 || (before < 1 && !fails_once.load());
  was_refused = was_refused || is_now;
  return is_now;
}

void* allocate(std::size_t bytes, const char*, int) {
  return is_refused(counts_libcrypto) ? nullptr : std::malloc(bytes);
}
void* reallocate(void* memory, std::size_t bytes, const char*, int) {
  return is_refused(counts_libcrypto) ? nullptr : std::realloc(memory, bytes);
}
void release(void* memory, const char*, int) { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = is_refused(counts_others) ? nullptr : std::malloc(bytes);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return is_refused(counts_others) ? nullptr : std::malloc(bytes);
}
// Inlined, free() looks to g++ 16 like a mistake beside an operator new that is not.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

// intel-ipsec-mb's only allocation.
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  *memory = is_refused(counts_libcrypto)
                ? nullptr
                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return *memory == nullptr ? ENOMEM : 0;
}

extern "C" void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                             off_t offset);
extern "C" void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                             off_t offset) {
  return is_refused(counts_others) ? MAP_FAILED
                                   : __real_mmap(at, bytes, protection, flags, file, offset);
}

namespace {

bool is_answer(int code) { return code == PAES_OK || code == PAES_FAILURE || code == PAES_USAGE; }

// What a program may do with the engine. False: a call gave what it must not.
bool use_engine(const char* kernel, unsigned workers) {
  bool is_right = true;
  const auto check = [&](int code) {
    is_right = is_right && is_answer(code) && (code == PAES_OK || *paes_error_message() != 0);
  };
  const std::uint8_t bytes[32] = {1, 2, 3};
  std::uint8_t out[64] = {};
  std::uint8_t tag[16] = {};
  paes_keystream_options options = {};
  options.workers = workers;
  paes_keystream_engine* engine = nullptr;
  check(paes_keystream_engine_new(&options, &engine));
  for (const char* const cipher : {"aes-256-ctr", "des-ede3-ctr", "aes-128-gcm"}) {
    const bool is_gcm = std::strstr(cipher, "gcm") != nullptr;
    const bool is_des = cipher[0] == 'd';
    paes_keystream_key* key = nullptr;
    check(paes_keystream_key_new(engine, cipher, bytes,
                                 is_gcm   ? 16
                                 : is_des ? 24
                                          : 32,
                                 kernel, &key));
    if (is_gcm) {
      paes_sealed_context* context = nullptr;
      check(paes_sealed_open(engine, key, bytes, nullptr, &context));
      (void)paes_keystream_idle(engine, 100'000);
      check(paes_sealed_encrypt(context, 0, bytes, 3, bytes, out, 32, tag, 16));
      (void)paes_sealed_decrypt(context, 0, bytes, 3, out, out, 32, tag, 16);
      check(paes_sealed_prefetch(context, 500));
      check(paes_sealed_mark_used(context, 300, 2));
      paes_sealed_close(context);
    } else {
      paes_keystream_context* context = nullptr;
      check(paes_keystream_open(engine, key, bytes, is_des ? 8 : 16, nullptr, &context));
      (void)paes_keystream_idle(engine, 100'000);
      check(paes_keystream_encrypt(context, 0, bytes, out, 32));
      check(paes_keystream_decrypt(context, 0, out, out, 32));
      check(paes_keystream_prefetch(context, 500'000));
      check(paes_keystream_mark_used(context, 100'000, 2));
      paes_keystream_close(context);
    }
    paes_keystream_key_free(key);
  }
  paes_keystream_statistics statistics;
  check(paes_keystream_get_statistics(engine, &statistics));
  paes_keystream_engine_free(engine);
  paes_nonce_allocator* allocator = nullptr;
  check(paes_nonce_allocator_new(0, nullptr, &allocator));
  std::uint64_t limit = 0;
  check(paes_nonce_allocate(allocator, 1, out, &limit));
  paes_nonce_allocator_free(allocator);
  return is_right;
}

// A file that a callback writes and another reads.
struct Memory {
  std::uint8_t bytes[60000];
  std::size_t used_bytes;
};

int write_memory(void* user, const std::uint8_t* bytes, std::size_t byte_count) {
  auto& memory = *static_cast<Memory*>(user);
  std::memcpy(memory.bytes + memory.used_bytes, bytes, byte_count);
  memory.used_bytes += byte_count;
  return 0;
}

std::int64_t read_memory(void* user, std::uint64_t offset, std::uint8_t* to, std::size_t to_bytes) {
  std::memcpy(to, static_cast<Memory*>(user)->bytes + offset, to_bytes);
  return static_cast<std::int64_t>(to_bytes);
}

// What a program may do with files. False: a call gave what it must not, or says that a file is
// damaged or the key wrong, which is not so.
bool use_files(bool with_envelope) {
  bool is_right = true;
  const auto check = [&](int code) {
    is_right = is_right && is_answer(code) && (code == PAES_OK || *paes_error_message() != 0);
    return code == PAES_OK;
  };
  static Memory memory;
  static std::uint8_t text[40000];
  static std::uint8_t out[sizeof text];
  memory.used_bytes = 0;
  text[39999] = 7;
  paes_seal_for* seal_for = nullptr;
  paes_open_with* open_with = nullptr;
  bool has_keys = check(paes_seal_for_new(&seal_for)) && check(paes_open_with_new(&open_with));
  if (with_envelope) {
    paes_identity* identity = nullptr;
    char recipient[PAES_RECIPIENT_BYTES] = "";
    has_keys = check(paes_identity_generate(&identity)) &&
               check(paes_identity_recipient(identity, recipient, sizeof recipient)) && has_keys &&
               check(paes_seal_for_add_recipient(seal_for, recipient)) &&
               check(paes_open_with_add_identity(open_with, identity));
    paes_identity_free(identity);
  } else {
    has_keys = check(paes_seal_for_set_key(seal_for, text, 32, text, 5)) &&
               check(paes_open_with_set_key(open_with, text, 32, text, 5)) && has_keys;
  }
  paes_file_options options = {};
  options.threads = 1;
  paes_writer* writer = nullptr;
  check(paes_writer_callback(write_memory, &memory, seal_for, &options, &writer));
  const bool is_written = check(paes_writer_write(writer, text, sizeof text)) &&
                          check(paes_writer_commit(writer, nullptr));
  paes_writer_free(writer);
  paes_source* source = nullptr;
  if (is_written && has_keys &&
      check(paes_source_callback(read_memory, &memory, memory.used_bytes, "memory", &source))) {
    paes_reader* reader = nullptr;
    std::size_t got = 0;
    check(paes_reader_open(source, open_with, &options, &reader));
    if (check(paes_reader_read_at(reader, 0, out, sizeof out, &got))) {
      is_right = is_right && got == sizeof out && std::memcmp(text, out, sizeof out) == 0;
    }
    paes_reader_close(reader);
    paes_verification found;
    check(paes_verify_file(source, open_with, &options, &found));
    paes_file_info info;
    if (with_envelope) {
      check(paes_inspect_file(source, &info, nullptr, 0));
    }
  }
  paes_source_free(source);
  paes_seal_for_free(seal_for);
  paes_open_with_free(open_with);
  return is_right;
}

constexpr const char* raw_names[] = {
    "aes-128-ecb", "aes-192-cbc",  "aes-256-cfb",  "aes-128-ofb",  "aes-256-ctr",  "aes-128-xts",
    "aes-256-xts", "des-ede3-ecb", "des-ede3-cbc", "des-ede3-cfb", "des-ede3-ofb", "des-ede3-ctr"};

// Every mode of the public classes, prepared.
struct Ciphers {
  Ciphers() {
    std::uint8_t key[64];
    for (std::size_t i = 0; i < sizeof key; ++i) {
      key[i] = static_cast<std::uint8_t>(i * 7 + 1);
    }
    for (const std::string name : raw_names) {
      const bool is_xts = name.ends_with("xts");
      const std::size_t bits =
          name[0] == 'd' ? 192U : static_cast<unsigned>(std::stoi(name.substr(4)));
      raw.emplace_back(name, std::span(key).first(bits / 8 * (is_xts ? 2 : 1)),
                       paes::RawCipherOptions{.kernel = "openssl"});
    }
    gcm.emplace_back(std::span(key).first(32), paes::GcmOptions{.kernel = "openssl"});
  }

  // A message through each and back. It allocates nothing of its own.
  [[nodiscard]] bool run() const noexcept {
    std::uint8_t text[192];
    std::uint8_t out[sizeof text];
    std::uint8_t tag[16];
    const std::uint8_t iv[20] = {9};
    for (std::size_t i = 0; i < sizeof text; ++i) {
      text[i] = static_cast<std::uint8_t>(i);
    }
    for (const paes::RawCipher& cipher : raw) {
      const auto used_iv = std::span(iv).first(cipher.iv_bytes());
      cipher.encrypt(used_iv, text, out);
      if (std::memcmp(text, out, sizeof text) == 0) {
        return false;
      }
      cipher.decrypt(used_iv, out, out);
      if (std::memcmp(text, out, sizeof text) != 0) {
        return false;
      }
    }
    for (const std::size_t iv_bytes : {12U, 20U}) {
      gcm[0].seal(std::span(iv).first(iv_bytes), iv, text, out, tag);
      if (!gcm[0].open(std::span(iv).first(iv_bytes), iv, out, out, tag) ||
          std::memcmp(text, out, sizeof text) != 0) {
        return false;
      }
      tag[0] ^= 1;
      if (gcm[0].open(std::span(iv).first(iv_bytes), iv, text, out, tag)) {
        return false;
      }
    }
    return true;
  }

  std::vector<paes::RawCipher> raw;
  std::vector<paes::Gcm> gcm;
};

// The same for a row that only paes-bench has.
class BenchRow {
 public:
  BenchRow() {
    const paes::Kernel& kernel =
        paes::find_kernel(paes::Cipher::aes, "ipsec_mb", paes::bench::rows());
    for (const paes::Mode mode : {paes::Mode::ecb, paes::Mode::cbc, paes::Mode::ctr}) {
      keys_.emplace_back(paes::Cipher::aes, mode, paes::Bytes(key_), kernel);
    }
    gcm_.emplace_back(paes::Bytes(key_), kernel);
  }

  [[nodiscard]] bool run() const {
    std::uint8_t text[192] = {1, 2, 3};
    std::uint8_t out[sizeof text];
    std::uint8_t tag[16];
    for (const paes::RawKey& key : keys_) {
      for (const paes::Direction direction : {paes::Direction::encrypt, paes::Direction::decrypt}) {
        const bool is_first = direction == paes::Direction::encrypt;
        paes::RawPosition position = key.start(paes::Bytes(key_).first(key.iv_bytes()));
        key.crypt(direction, position, is_first ? text : out, out, paes::serial_executor(),
                  sizeof text);
      }
      if (std::memcmp(text, out, sizeof text) != 0) {
        return false;
      }
    }
    gcm_[0].seal(paes::Bytes(key_).first(12), {}, text, out, tag);
    return gcm_[0].open(paes::Bytes(key_).first(12), {}, out, out, tag) &&
           std::memcmp(text, out, sizeof text) == 0;
  }

 private:
  std::uint8_t key_[16] = {4, 5, 6};
  std::vector<paes::RawKey> keys_;
  std::vector<paes::GcmKey> gcm_;
};

// libcrypto 3.6 reports an allocation that has failed in a list of the thread's errors. If there is
// no memory for the list itself, it reports that, and so on until the stack is full. Nobody who
// calls it can help that, so here each thread has its list before memory is out.
void make_list_of_errors() { ERR_clear_error(); }

// libcrypto gets no memory from now on, and more threads run than there are contexts.
template <typename Prepared>
bool run_without_memory() {
  const Prepared ciphers;
  constexpr int threads = 4;
  std::barrier start(threads + 1);
  std::atomic<bool> is_right{true};
  std::vector<std::jthread> running;
  running.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      make_list_of_errors();
      start.arrive_and_wait();
      start.arrive_and_wait();
      for (int round = 0; round < 200; ++round) {
        if (!ciphers.run()) {
          is_right = false;
        }
      }
    });
  }
  start.arrive_and_wait();
  counts_others = false;
  fails_once = false;
  left = 0;
  start.arrive_and_wait();
  running.clear();
  left = LONG_MAX;
  return is_right;
}

template <typename Prepared>
bool make_ciphers() {
  try {
    const Prepared ciphers;
    left = LONG_MAX;
    return ciphers.run();
  } catch (const paes::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return true;
}

struct Outcome {
  bool is_right;
  bool was_reached;  // so many allocations there were
};

// `call` in a process of its own, where the allocation `number` fails.
template <typename Call>
Outcome with_failure(const char* what, long number, bool once, const Call& call) {
  (void)std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    (void)alarm(20);
    fails_once = once;
    left = number;
    const bool is_right = call();
    _exit((is_right ? 0 : 1) | (was_refused ? 0 : 2));
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::perror("fork");
    std::exit(1);
  }
  if (!WIFEXITED(status) || (WEXITSTATUS(status) & ~2) != 0) {
    std::printf("%s, allocation %ld%s: %s %d\n", what, number, once ? "" : " and all after it",
                WIFSIGNALED(status) ? "ended by signal" : "wrong answer, exit",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return {false, true};
  }
  return {true, (WEXITSTATUS(status) & 2) == 0};
}

template <typename Call>
bool with_each_failure(const char* what, const Call& call) {
  bool is_right = true;
  for (const bool once : {true, false}) {
    bool was_reached = true;
    // Every one of the first, then fewer and fewer.
    for (long number = 1; was_reached && is_right; number += 1 + number / 20) {
      const Outcome outcome = with_failure(what, number, once, call);
      is_right = outcome.is_right;
      was_reached = outcome.was_reached;
    }
  }
  return is_right;
}

}  // namespace

int main() {
  // Before anything else is asked of it.
  if (CRYPTO_set_mem_functions(allocate, reallocate, release) != 1) {
    std::printf("libcrypto takes no other memory functions\n");
    return 1;
  }
  // From 3.2 on an allocation of libcrypto that fails reports the error, and the report asks for
  // the initialisation of libcrypto. If the allocation is a part of that, it waits for itself for
  // ever.
  if (OpenSSL_version_num() >= 0x30200000L) {
    std::printf(
        "not run: the first two allocations of libcrypto: without them it waits for ever\n");
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_ADD_ALL_CIPHERS, nullptr) != 1) {
      std::printf("libcrypto cannot be initialised\n");
      return 1;
    }
  }
  if (OpenSSL_version_num() >= 0x30600000L) {
    std::printf(
        "not run: a thread's first error without memory: libcrypto calls itself for ever\n");
    make_list_of_errors();
  }
  bool is_right = true;
  // First where nothing else of libcrypto has been used yet, then where it has.
  for (const bool is_warm : {false, true}) {
    if (is_warm && !use_engine("openssl", 0)) {
      std::printf("the engine fails with all memory there is\n");
      return 1;
    }
    is_right = with_each_failure("ciphers", make_ciphers<Ciphers>) && is_right;
    for (const char* const kernel : {"openssl", "auto"}) {
      const auto use = [&] { return use_engine(kernel, 0); };
      is_right = with_each_failure(kernel, use) && is_right;
    }
    for (const bool with_envelope : {false, true}) {
      is_right = with_each_failure("files", [&] { return use_files(with_envelope); }) && is_right;
    }
    is_right = with_each_failure("workers", [] { return use_engine("auto", 2); }) && is_right;
  }
  const auto run = [&is_right](const char* what, const auto& call) {
    is_right = with_failure(what, LONG_MAX, true, call).is_right && is_right;
  };
  run("runs", run_without_memory<Ciphers>);
  is_right = with_each_failure("ipsec_mb", make_ciphers<BenchRow>) && is_right;
  try {
    const BenchRow row;
    run("runs of ipsec_mb", run_without_memory<BenchRow>);
  } catch (const paes::Error& error) {
    std::printf("not run: %s\n", error.what());
  }
  return is_right ? 0 : 1;
}
