// SPDX-License-Identifier: Apache-2.0
#include "cli/cipher_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cipher/mode/xts.hpp"
#include "cli/decimal.hpp"
#include "cli/keyfile.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "encoding/encodings.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"
#include "stream/file/input.hpp"
#include "stream/file/small_file.hpp"

namespace paes::cli {

namespace {

bool encrypts_with_3des(const CipherOptions& options, const CipherName& cipher) {
  return cipher.cipher == Cipher::des_ede3 && !options.decrypt;
}

// Modes that take whole blocks.
bool can_pad(const CipherName& cipher) {
  return !cipher.is_gcm() && row_of(*cipher.mode).tail == Tail::padded;
}

}  // namespace

void CipherOptions::check(const CipherName& cipher, bool makes_key) const {
  refuse(!makes_key && key_file.empty(), "key: none is given",
         "--key names a file of " + std::to_string(cipher.key_bytes) + " raw bytes");
  refuse(no_pad && !can_pad(cipher), "--no-pad: " + cipher.name + " has no padding");
  refuse(!aad_file.empty() && !cipher.is_gcm(), "--aad: only GCM authenticates anything");
  refuse(unit_bytes && (cipher.is_gcm() || !row_of(*cipher.mode).has_units),
         "--unit: only XTS has data units");
  refuse(unit_bytes && (*unit_bytes < block_bytes || *unit_bytes > xts::max_unit_bytes),
         "--unit: a data unit has 16 bytes to 16 MiB (2^20 blocks)");
  refuse(cipher.cipher == Cipher::des_ede3 && !decrypt && !legacy,
         cipher.name + ": NIST disallows encryption with 3DES after 2023",
         "use AES; where it must be, --legacy encrypts all the same");
  refuse(cipher.cipher != Cipher::des_ede3 && no_block_limit,
         "--no-block-limit: only 3DES has a limit of blocks");
  refuse(no_block_limit && decrypt, "--no-block-limit: decryption has no limit of blocks",
         "leave it out");
}

std::string CipherOptions::why_cpu_alone(const CipherName& cipher) const {
  if (cipher.is_gcm()) {
    return "";
  }
  const ModeRow& row = row_of(*cipher.mode);
  if (formula_of(row.operation(direction())).is_chained()) {
    return cipher.name + (decrypt ? " decrypts" : " encrypts") + " one block after the other";
  }
  if (row.has_units && !unit_bytes) {
    return cipher.name + " without --unit is one data unit";
  }
  if (row.has_units && *unit_bytes % block_bytes != 0) {
    return "a data unit of " + std::to_string(*unit_bytes) + " bytes has a partial block";
  }
  return "";
}

bool CipherOptions::pads(const CipherName& cipher) const { return can_pad(cipher) && !no_pad; }

std::uint64_t CipherOptions::max_blocks(const CipherName& cipher) const {
  return encrypts_with_3des(*this, cipher) && !no_block_limit ? max_des_blocks : 0;
}

void CipherOptions::note_if_disallowed(const CipherName& cipher) const {
  if (legacy && encrypts_with_3des(*this, cipher)) {
    print_note("paes: " + cipher.name + ": NIST disallows encryption with 3DES after 2023");
  }
}

void CipherOptions::warn_if_unlimited(const CipherName& cipher) const {
  if (no_block_limit && encrypts_with_3des(*this, cipher)) {
    print_warning(cipher.name +
                  ": SP 800-67 allows 2^20 blocks (8 MiB) under one key; with more it grows "
                  "likelier that blocks of 64 bits collide and give text away");
  }
}

std::vector<std::uint8_t> CipherOptions::parse_iv(const CipherName& cipher) const {
  const std::size_t bytes = cipher.iv_bytes();
  const std::string wanted = cipher.name + " takes " + std::to_string(bytes) + " bytes, " +
                             std::to_string(2 * bytes) + " hexadecimal digits";
  refuse(bytes == 0 && !iv.empty(), "--iv: " + cipher.name + " takes none");
  refuse(bytes != 0 && iv.empty(), "--iv: is missing", wanted);
  refuse(
      std::any_of(iv.begin(), iv.end(),
                  [](char c) { return hexadecimal::value_of(static_cast<std::uint8_t>(c)) >= 16; }),
      "--iv: is not hexadecimal", wanted);
  std::vector<std::uint8_t> parsed(bytes);
  refuse(!hexadecimal::decode(iv, parsed), "--iv: has " + std::to_string(iv.size()) + " digits",
         wanted);
  return parsed;
}

SecretBytes CipherOptions::read_key(const CipherName& cipher) const {
  constexpr std::size_t no_key_has_so_many_bytes = 4096;
  const std::string wanted =
      cipher.name + " takes a key of " + std::to_string(cipher.key_bytes) + " raw bytes";
  SecretBytes key;
  try {
    key = stream::read_small_file(key_file, no_key_has_so_many_bytes, &cancel());
  } catch (const Error& error) {
    throw Error(error.code, error.what(), error.code == ErrorCode::usage ? wanted : error.hint);
  }
  const bool is_hex = holds_hexadecimal(key);
  refuse(key.size() != cipher.key_bytes,
         key_file + ": has " + std::to_string(key.size()) + " bytes",
         is_hex ? wanted + "; it holds hexadecimal digits: xxd -r -p makes bytes of them" : wanted);
  if (is_hex) {
    print_warning(key_file + ": holds hexadecimal digits, which are the key's bytes as they stand");
  }
  if (cipher.mode && has_equal_halves(*cipher.mode, key)) {
    const std::string what_why =
        key_file + ": its two halves are equal, with which XTS protects less";
    refuse(!decrypt, what_why, "make a key of random bytes");
    print_warning(what_why);
  }
  return key;
}

std::vector<std::uint8_t> CipherOptions::read_aad() const {
  if (aad_file.empty()) {
    return {};
  }
  constexpr std::size_t max_bytes = std::size_t{64} << 20;
  constexpr std::size_t step_bytes = std::size_t{64} << 10;
  stream::Input input = stream::Input::open(aad_file, &cancel());
  std::vector<std::uint8_t> aad;
  // All at once: growing would need twice the memory, and what is not used is never touched.
  aad.reserve(max_bytes + step_bytes);
  for (std::size_t got = step_bytes; got == step_bytes;) {
    const std::size_t filled = aad.size();
    aad.resize(filled + step_bytes);
    got = input.read(MutableBytes(aad).subspan(filled));
    aad.resize(filled + got);
    refuse(aad.size() > max_bytes, aad_file + ": longer than 64 MiB");
  }
  return aad;
}

void CipherOptions::refuse_as_output(const stream::FilePlace& output) const {
  refuse_secret_as_output(output, key_file, "key");
  refuse_secret_as_output(output, aad_file, "AAD");
}

void CipherOptions::declare(CLI::App& app) {
  app.add_option("NAME", name,
                 "aes-128, aes-192 or aes-256 with -ecb, -cbc, -cfb, -ofb, -ctr or -gcm; "
                 "aes-128-xts, aes-256-xts; des-ede3 with -ecb, -cbc, -cfb, -ofb or -ctr")
      ->required();
  app.add_flag("-d,--decrypt", decrypt, "decrypt");
  app.add_option("--key", key_file, "the key: a file of exactly its bytes, raw")->type_name("FILE");
  app.add_option("--iv", iv, "the IV or first counter block; all modes but ECB need one")
      ->type_name("HEX");
  app.add_flag("--no-pad", no_pad, "ECB, CBC: whole blocks, no padding");
  app.add_option("--aad", aad_file, "GCM: what is authenticated beside the text")
      ->type_name("FILE");
  takes_bytes(app.add_option("--unit", unit_bytes,
                             "XTS: bytes of a data unit, whose numbers count up from --iv")
                  ->type_name("BYTES"));
  app.add_flag(
      "--legacy", legacy,
      "encrypt with 3DES, which NIST disallows; at most 2^20 blocks (8 MiB), padding included");
  app.add_flag("--no-block-limit", no_block_limit,
               "--legacy: encrypt more than 2^20 blocks, which SP 800-67 does not allow");
}

}  // namespace paes::cli
