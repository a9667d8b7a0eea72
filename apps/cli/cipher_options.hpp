// SPDX-License-Identifier: Apache-2.0
// The options for a raw mode and its key, IV and associated data, the same in every program. Key
// and associated data are read only when read_key and read_aad are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cipher/mode/mode.hpp"
#include "core/secret.hpp"
#include "message/cipher_name.hpp"
#include "stream/file/file_place.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

struct CipherOptions {
  void declare(CLI::App& app);

  std::string name;
  bool decrypt = false;
  std::string key_file;
  std::string iv;
  bool no_pad = false;
  std::string aad_file;
  std::optional<std::size_t> unit_bytes;
  bool legacy = false;
  bool no_block_limit = false;

  [[nodiscard]] Direction direction() const {
    return decrypt ? Direction::decrypt : Direction::encrypt;
  }

  // Contradictions, with each other and with the cipher: Error(usage). `makes_key`: the caller has
  // another source of key and IV.
  void check(const CipherName& cipher, bool makes_key) const;
  // Why no device could do it; empty where one could.
  [[nodiscard]] std::string why_cpu_alone(const CipherName& cipher) const;
  [[nodiscard]] bool pads(const CipherName& cipher) const;
  // How much a key may encrypt, as stream::RawTask has it.
  [[nodiscard]] std::uint64_t max_blocks(const CipherName& cipher) const;
  // Notes that NIST disallows what --legacy allows.
  void note_if_disallowed(const CipherName& cipher) const;
  // Warns of what --no-block-limit allows.
  void warn_if_unlimited(const CipherName& cipher) const;

  [[nodiscard]] std::vector<std::uint8_t> parse_iv(const CipherName& cipher) const;
  // Warns of a key that looks like something else.
  [[nodiscard]] SecretBytes read_key(const CipherName& cipher) const;
  [[nodiscard]] std::vector<std::uint8_t> read_aad() const;  // empty without a file
  // Throws Error(usage) if the output would replace the file of the key or of the AAD.
  void refuse_as_output(const stream::FilePlace& output) const;
};

}  // namespace paes::cli
