// SPDX-License-Identifier: Apache-2.0
// paes/gcm.h on top of paes/gcm.hpp.
#include "library/c/calls.hpp"
#include "paes/gcm.h"
#include "paes/gcm.hpp"

using paes::c::bytes_at;
using paes::c::code_of;
using paes::c::given;

struct paes_gcm : paes::Gcm {};

int paes_gcm_new(const uint8_t* key, size_t key_bytes, const paes_gcm_options* options,
                 paes_gcm** gcm) {
  return paes::c::make_handle(gcm, "gcm", [&] {
    paes::GcmOptions wanted;
    if (options != nullptr) {
      wanted = {.kernel = paes::c::kernel_of(options->kernel),
                .threads = paes::c::threads_of(options->threads)};
    }
    return paes::Gcm(bytes_at(key, key_bytes, "key"), wanted);
  });
}

void paes_gcm_free(paes_gcm* gcm) { delete gcm; }

const char* paes_gcm_kernel(const paes_gcm* gcm) {
  return gcm != nullptr ? gcm->kernel().data() : nullptr;
}

int paes_gcm_seal(const paes_gcm* gcm, const uint8_t* iv, size_t iv_bytes, const uint8_t* aad,
                  size_t aad_bytes, const uint8_t* text, uint8_t* ciphertext, size_t text_bytes,
                  uint8_t* tag, size_t tag_bytes) {
  return code_of([&] {
    given(gcm, "gcm")
        ->seal(bytes_at(iv, iv_bytes, "iv"), bytes_at(aad, aad_bytes, "aad"),
               bytes_at(text, text_bytes, "text"), bytes_at(ciphertext, text_bytes, "ciphertext"),
               bytes_at(tag, tag_bytes, "tag"));
  });
}

int paes_gcm_open(const paes_gcm* gcm, const uint8_t* iv, size_t iv_bytes, const uint8_t* aad,
                  size_t aad_bytes, const uint8_t* ciphertext, uint8_t* text, size_t text_bytes,
                  const uint8_t* tag, size_t tag_bytes) {
  return code_of([&] {
    if (!given(gcm, "gcm")
             ->open(bytes_at(iv, iv_bytes, "iv"), bytes_at(aad, aad_bytes, "aad"),
                    bytes_at(ciphertext, text_bytes, "ciphertext"),
                    bytes_at(text, text_bytes, "text"), bytes_at(tag, tag_bytes, "tag"))) {
      throw paes::Error(paes::ErrorCode::corrupt, "message: it is forged or damaged");
    }
  });
}
