// SPDX-License-Identifier: Apache-2.0
#include "message/cipher_name.hpp"

#include <vector>

#include "kernel/registry.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

struct KeySizeRow {
  const char* name;
  std::size_t key_bytes;
  Cipher cipher;
  bool has_xts;  // SP 800-38E takes XTS from IEEE 1619, which does not have AES-192
};
constexpr KeySizeRow sized[] = {{"aes-128", 16, Cipher::aes, true},
                                {"aes-192", 24, Cipher::aes, false},
                                {"aes-256", 32, Cipher::aes, true},
                                {"des-ede3", 24, Cipher::des_ede3, false}};

std::vector<CipherName> combine() {
  std::vector<CipherName> names;
  for (const KeySizeRow& cipher : sized) {
    const std::string prefix = std::string(cipher.name) + "-";
    for (std::size_t i = 0; i < std::size(modes); ++i) {
      const Mode mode = static_cast<Mode>(i);
      if (!modes[i].has_units) {
        names.push_back({prefix + modes[i].name, cipher.cipher, mode, cipher.key_bytes});
      } else if (cipher.has_xts) {
        names.push_back({prefix + modes[i].name, cipher.cipher, mode, 2 * cipher.key_bytes});
      }
    }
    if (cipher.cipher == Cipher::aes) {
      names.push_back({prefix + "gcm", cipher.cipher, std::nullopt, cipher.key_bytes});
    }
  }
  return names;
}

}  // namespace

std::span<const CipherName> all_cipher_names() {
  static const std::vector<CipherName> names = combine();
  return names;
}

const CipherName& find_cipher_name(std::string_view name) {
  std::string known;
  for (const CipherName& row : all_cipher_names()) {
    if (row.name == name) {
      return row;
    }
    known += (known.empty() ? "" : ", ") + row.name;
  }
  throw Error(ErrorCode::usage, "cipher: unknown name '" + std::string(name) + "'",
              "there is: " + known);
}

bool has_cipher(const Kernel& kernel, const CipherName& name) noexcept {
  if (kernel.cipher != name.cipher) {
    return false;
  }
  if (name.is_gcm()) {
    return kernel.gcm.seal != nullptr && kernel.gcm.open != nullptr;
  }
  const ModeRow& row = row_of(*name.mode);
  if (row.has_units && kernel.takes_whole_units()) {
    return true;
  }
  return kernel.has(row.encrypt) && kernel.has(row.decrypt) &&
         // The units' numbers are encrypted in ECB.
         (!row.has_units || kernel.has(Operation::ecb_encrypt));
}

const Kernel& find_kernel(const CipherName& name, std::string_view kernel) {
  const auto accepts = [&](const Kernel& row) { return has_cipher(row, name); };
  if (kernel.empty() || kernel == "auto") {
    return best_kernel(name.cipher, accepts);
  }
  const Kernel& found = find_kernel(name.cipher, kernel);
  if (!accepts(found)) {
    throw Error(ErrorCode::usage, "kernel: '" + std::string(kernel) + "' lacks " + name.name);
  }
  return found;
}

}  // namespace paes
