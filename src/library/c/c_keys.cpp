// SPDX-License-Identifier: Apache-2.0
// The keys of paes/file.h on top of paes/keys.hpp.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "library/c/file_handles.hpp"

using paes::c::bytes_at;
using paes::c::code_of;
using paes::c::given;
using paes::c::make_handle;

namespace {

// No copy of it but the library's own.
paes::Passphrase passphrase_at(const char* passphrase, size_t passphrase_bytes) {
  return paes::Passphrase(std::string_view(given(passphrase, "passphrase"), passphrase_bytes));
}

paes::CobblestoneKey key_at(const uint8_t* key, size_t key_bytes, const uint8_t* context,
                            size_t context_bytes) {
  return paes::CobblestoneKey(bytes_at(key, key_bytes, "key"),
                              bytes_at(context, context_bytes, "context"));
}

}  // namespace

int paes_identity_generate(paes_identity** identity) {
  return make_handle(identity, "identity", [] { return paes::Identity::generate(); });
}

int paes_identity_parse(const char* text, paes_identity** identity) {
  return make_handle(identity, "identity",
                     [&] { return paes::Identity(std::string_view(given(text, "text"))); });
}

void paes_identity_free(paes_identity* identity) { delete identity; }

int paes_identity_save(const paes_identity* identity, const char* path) {
  return code_of([&] { given(identity, "identity")->save(given(path, "path")); });
}

int paes_identity_recipient(const paes_identity* identity, char* text, size_t text_bytes) {
  return code_of([&] {
    const std::string found = given(identity, "identity")->recipient().text();
    if (found.empty()) {
      throw paes::Error(paes::ErrorCode::usage, "identity: only its plugin knows its public key");
    }
    if (text_bytes <= found.size()) {
      throw paes::Error(paes::ErrorCode::usage, "text: has too little room",
                        "PAES_RECIPIENT_BYTES are enough");
    }
    std::memcpy(given(text, "text"), found.c_str(), found.size() + 1);
  });
}

int paes_seal_for_new(paes_seal_for** seal_for) {
  return make_handle(seal_for, "seal_for", [] { return paes::SealFor(); });
}

void paes_seal_for_free(paes_seal_for* seal_for) { delete seal_for; }

int paes_seal_for_add_recipient(paes_seal_for* seal_for, const char* text) {
  return code_of([&] {
    given(seal_for, "seal_for")->recipients.emplace_back(std::string_view(given(text, "text")));
  });
}

int paes_seal_for_add_recipient_file(paes_seal_for* seal_for, const char* path) {
  return code_of([&] {
    auto& all = given(seal_for, "seal_for")->recipients;
    const auto loaded = paes::Recipient::load(given(path, "path"));
    all.insert(all.end(), loaded.begin(), loaded.end());
  });
}

int paes_seal_for_set_passphrase(paes_seal_for* seal_for, const char* passphrase,
                                 size_t passphrase_bytes) {
  return code_of([&] {
    given(seal_for, "seal_for")->passphrase = passphrase_at(passphrase, passphrase_bytes);
  });
}

int paes_seal_for_set_key(paes_seal_for* seal_for, const uint8_t* key, size_t key_bytes,
                          const uint8_t* context, size_t context_bytes) {
  return code_of(
      [&] { given(seal_for, "seal_for")->key = key_at(key, key_bytes, context, context_bytes); });
}

int paes_seal_for_set_key_bits(paes_seal_for* seal_for, unsigned key_bits) {
  return code_of([&] { given(seal_for, "seal_for")->key_bits = key_bits; });
}

int paes_open_with_new(paes_open_with** open_with) {
  return make_handle(open_with, "open_with", [] { return paes::OpenWith(); });
}

void paes_open_with_free(paes_open_with* open_with) { delete open_with; }

int paes_open_with_add_identity(paes_open_with* open_with, const paes_identity* identity) {
  return code_of(
      [&] { given(open_with, "open_with")->identities.push_back(*given(identity, "identity")); });
}

int paes_open_with_add_identity_file(paes_open_with* open_with, const char* path) {
  return code_of([&] {
    auto& all = given(open_with, "open_with")->identities;
    const auto loaded = paes::Identity::load(given(path, "path"));
    all.insert(all.end(), loaded.begin(), loaded.end());
  });
}

int paes_open_with_add_encrypted_identity_file(paes_open_with* open_with, const char* path,
                                               const char* passphrase, size_t passphrase_bytes) {
  return paes_open_with_add_encrypted_identity_file_cancellable(open_with, path, passphrase,
                                                                passphrase_bytes, nullptr);
}

int paes_open_with_add_encrypted_identity_file_cancellable(paes_open_with* open_with,
                                                           const char* path, const char* passphrase,
                                                           size_t passphrase_bytes,
                                                           const paes_cancel* cancel) {
  return code_of([&] {
    auto& all = given(open_with, "open_with")->identities;
    const auto loaded =
        paes::Identity::load(given(path, "path"), passphrase_at(passphrase, passphrase_bytes),
                             cancel != nullptr ? cancel->cancel.get() : nullptr);
    all.insert(all.end(), loaded.begin(), loaded.end());
  });
}

int paes_open_with_set_passphrase(paes_open_with* open_with, const char* passphrase,
                                  size_t passphrase_bytes) {
  return code_of([&] {
    given(open_with, "open_with")->passphrase = passphrase_at(passphrase, passphrase_bytes);
  });
}

int paes_open_with_set_key(paes_open_with* open_with, const uint8_t* key, size_t key_bytes,
                           const uint8_t* context, size_t context_bytes) {
  return code_of(
      [&] { given(open_with, "open_with")->key = key_at(key, key_bytes, context, context_bytes); });
}

int paes_open_with_set_max_work_factor(paes_open_with* open_with, unsigned max_work_factor) {
  return code_of([&] { given(open_with, "open_with")->max_work_factor = max_work_factor; });
}
