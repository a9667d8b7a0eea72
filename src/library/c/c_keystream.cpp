// SPDX-License-Identifier: Apache-2.0
// paes/keystream.h on top of paes/keystream.hpp and paes/nonces.hpp.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "library/c/calls.hpp"
#include "paes/keystream.h"
#include "paes/keystream.hpp"
#include "paes/nonces.hpp"

using paes::c::bytes_at;
using paes::c::code_of;
using paes::c::given;
using paes::c::make_handle;

struct paes_keystream_engine : paes::KeystreamEngine {};
struct paes_keystream_key : paes::KeystreamKey {};
struct paes_keystream_context : paes::KeystreamContext {};
struct paes_sealed_context : paes::SealedContext {};
struct paes_nonce_allocator : paes::NonceAllocator {};

namespace {

// Zero is the default, which the C++ classes have beside a window of zero.
unsigned window_of(unsigned window, unsigned otherwise) noexcept {
  return window == PAES_NO_WINDOW ? 0 : window == 0 ? otherwise : window;
}

std::int64_t stride_of(std::int64_t stride) noexcept { return stride == 0 ? 1 : stride; }

paes_keystream_use use_of(const paes::KeystreamUse& use) noexcept {
  return {use.own, use.other, use.direct, use.late, use.bypassed};
}

}  // namespace

int paes_keystream_engine_new(const paes_keystream_options* options,
                              paes_keystream_engine** engine) {
  return make_handle(engine, "engine", [&] {
    paes::KeystreamOptions wanted;
    if (options != nullptr) {
      wanted.workers = options->workers;
      wanted.budget_bytes =
          options->budget_bytes != 0 ? options->budget_bytes : wanted.budget_bytes;
      wanted.chunk_bytes = options->chunk_bytes != 0 ? options->chunk_bytes : wanted.chunk_bytes;
      wanted.device = paes::c::device_of(options->device);
      wanted.worker_priority = static_cast<paes::WorkerPriority>(options->worker_priority);
      wanted.always_ahead = options->always_ahead != 0;
    }
    return paes::KeystreamEngine(wanted);
  });
}

void paes_keystream_engine_free(paes_keystream_engine* engine) { delete engine; }

int paes_keystream_key_new(paes_keystream_engine* engine, const char* cipher, const uint8_t* key,
                           size_t key_bytes, const char* kernel, paes_keystream_key** bound) {
  return make_handle(bound, "bound", [&] {
    return given(engine, "engine")
        ->bind(given(cipher, "cipher"), bytes_at(key, key_bytes, "key"),
               {.kernel = paes::c::kernel_of(kernel)});
  });
}

void paes_keystream_key_free(paes_keystream_key* key) { delete key; }

const char* paes_keystream_key_kernel(const paes_keystream_key* key) {
  return key != nullptr ? key->kernel().data() : nullptr;
}

size_t paes_keystream_key_block_bytes(const paes_keystream_key* key) {
  return key != nullptr ? key->block_bytes() : 0;
}

int paes_keystream_key_get_costs(const paes_keystream_key* key, paes_keystream_costs* costs) {
  return code_of([&] {
    const paes::KeystreamCosts measured = given(key, "key")->costs();
    *given(costs, "costs") = {measured.direct_ns, measured.own_ns, measured.other_ns};
  });
}

int paes_keystream_open(paes_keystream_engine* engine, const paes_keystream_key* key,
                        const uint8_t* first_counter, size_t counter_bytes,
                        const paes_keystream_context_options* options,
                        paes_keystream_context** context) {
  return make_handle(context, "context", [&] {
    paes::ContextOptions wanted;
    if (options != nullptr) {
      wanted = {window_of(options->window_chunks, wanted.window_chunks), options->first_chunk,
                stride_of(options->stride), options->priority, options->limit_bytes};
    }
    return given(engine, "engine")
        ->open(*given(key, "key"), bytes_at(first_counter, counter_bytes, "counter"), wanted);
  });
}

void paes_keystream_close(paes_keystream_context* context) { delete context; }

int paes_keystream_encrypt(paes_keystream_context* context, uint64_t offset, const uint8_t* in,
                           uint8_t* out, size_t bytes) {
  return code_of([&] {
    given(context, "context")
        ->encrypt(offset, bytes_at(in, bytes, "in"), bytes_at(out, bytes, "out"));
  });
}

int paes_keystream_decrypt(paes_keystream_context* context, uint64_t offset, const uint8_t* in,
                           uint8_t* out, size_t bytes) {
  return code_of([&] {
    given(context, "context")
        ->decrypt(offset, bytes_at(in, bytes, "in"), bytes_at(out, bytes, "out"));
  });
}

int paes_keystream_prefetch(paes_keystream_context* context, uint64_t offset) {
  return code_of([&] { given(context, "context")->prefetch(offset); });
}

int paes_keystream_mark_used(paes_keystream_context* context, uint64_t offset, uint64_t bytes) {
  return code_of([&] { given(context, "context")->mark_used(offset, bytes); });
}

int paes_keystream_get_use(const paes_keystream_context* context, paes_keystream_use* use) {
  return code_of([&] { *given(use, "use") = use_of(given(context, "context")->use()); });
}

int paes_sealed_open(paes_keystream_engine* engine, const paes_keystream_key* key,
                     const uint8_t first_nonce[12], const paes_sealed_context_options* options,
                     paes_sealed_context** context) {
  return make_handle(context, "context", [&] {
    paes::SealedOptions wanted;
    if (options != nullptr) {
      wanted = {window_of(options->window_messages, wanted.window_messages), options->first_message,
                stride_of(options->stride), options->priority, options->limit_messages};
    }
    return given(engine, "engine")
        ->open_sealed(*given(key, "key"), bytes_at(first_nonce, 12, "nonce"), wanted);
  });
}

void paes_sealed_close(paes_sealed_context* context) { delete context; }

int paes_sealed_encrypt(paes_sealed_context* context, uint64_t message, const uint8_t* aad,
                        size_t aad_bytes, const uint8_t* in, uint8_t* out, size_t bytes,
                        uint8_t* tag, size_t tag_bytes) {
  return code_of([&] {
    given(context, "context")
        ->seal(message, bytes_at(aad, aad_bytes, "aad"), bytes_at(in, bytes, "in"),
               bytes_at(out, bytes, "out"), bytes_at(tag, tag_bytes, "tag"));
  });
}

int paes_sealed_decrypt(paes_sealed_context* context, uint64_t message, const uint8_t* aad,
                        size_t aad_bytes, const uint8_t* in, uint8_t* out, size_t bytes,
                        const uint8_t* tag, size_t tag_bytes) {
  return code_of([&] {
    if (!given(context, "context")
             ->open(message, bytes_at(aad, aad_bytes, "aad"), bytes_at(in, bytes, "in"),
                    bytes_at(out, bytes, "out"), bytes_at(tag, tag_bytes, "tag"))) {
      throw paes::Error(paes::ErrorCode::corrupt, "message: it is forged or damaged");
    }
  });
}

int paes_sealed_prefetch(paes_sealed_context* context, uint64_t message) {
  return code_of([&] { given(context, "context")->prefetch(message); });
}

int paes_sealed_mark_used(paes_sealed_context* context, uint64_t first, uint64_t messages) {
  return code_of([&] { given(context, "context")->mark_used(first, messages); });
}

int paes_sealed_get_use(const paes_sealed_context* context, paes_keystream_use* use) {
  return code_of([&] { *given(use, "use") = use_of(given(context, "context")->use()); });
}

int paes_keystream_idle(paes_keystream_engine* engine, uint64_t nanoseconds) {
  int is_left = 0;
  (void)code_of([&] {
    constexpr std::uint64_t longest = 3600'000'000'000;  // what the clock can add to any time
    is_left =
        given(engine, "engine")
                ->idle(std::chrono::steady_clock::now() +
                       std::chrono::nanoseconds(std::min<std::uint64_t>(nanoseconds, longest)))
            ? 1
            : 0;
  });
  return is_left;
}

int paes_keystream_get_statistics(const paes_keystream_engine* engine,
                                  paes_keystream_statistics* statistics) {
  return code_of([&] {
    const paes::KeystreamStatistics all = given(engine, "engine")->statistics();
    *given(statistics, "statistics") = {use_of(all.use),    all.filled_chunks,
                                        all.device_chunks,  all.evicted_chunks,
                                        all.memory_bytes,   all.keystream_bytes,
                                        all.unlocked_bytes, all.is_wiped_in_children ? 1 : 0};
  });
}

int paes_nonce_allocator_new(int is_3des, const char* path, paes_nonce_allocator** allocator) {
  return make_handle(allocator, "allocator", [&] {
    if (path != nullptr) {
      return paes::NonceAllocator::in_file(
          is_3des != 0 ? paes::NonceCipher::des_ede3 : paes::NonceCipher::aes, path);
    }
    if (is_3des != 0) {
      throw paes::Error(paes::ErrorCode::usage, "nonces: 3DES counts in a file alone");
    }
    return paes::NonceAllocator::in_process();
  });
}

void paes_nonce_allocator_free(paes_nonce_allocator* allocator) { delete allocator; }

int paes_nonce_allocate(paes_nonce_allocator* allocator, uint64_t bytes, uint8_t counter[16],
                        uint64_t* limit_bytes) {
  return code_of([&] {
    (void)given(counter, "counter");
    (void)given(limit_bytes, "limit_bytes");
    const paes::Nonce nonce = given(allocator, "allocator")->allocate(bytes);
    std::memcpy(counter, nonce.counter, nonce.counter_bytes);
    *limit_bytes = nonce.limit_bytes;
  });
}

int paes_nonce_allocate_messages(paes_nonce_allocator* allocator, uint64_t messages,
                                 uint8_t first_nonce[12]) {
  return code_of([&] {
    (void)given(first_nonce, "nonce");
    const paes::NonceRow row = given(allocator, "allocator")->allocate_messages(messages);
    std::memcpy(first_nonce, row.first, sizeof row.first);
  });
}
