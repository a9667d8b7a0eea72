// SPDX-License-Identifier: Apache-2.0
// What can open an encrypted file: recipients and identities of age (age-encryption.org/v1),
// passphrases, and the caller's own keys. All are handles: copies share one key, which lies in
// locked memory and is wiped with the last copy.
//
//   const paes::Identity mine = paes::Identity::generate();
//   paes::encrypt_file("disk.img", "disk.img.paes", {.recipients = {mine.recipient()}});
//   paes::decrypt_file("disk.img.paes", "copy.img", {.identities = {mine}});
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paes/cancel.hpp"
#include "paes/error.hpp"
#include "paes/export.h"

namespace paes {

struct KeyParts;  // the library's own view of them

inline namespace v0 {

class Passphrase;

// A public key: "age1...", or one of SSH's ("ssh-ed25519 AAAA..." or "ssh-rsa AAAA...").
class PAES_API Recipient {
 public:
  // Throws Error(usage) that says what is wrong but never repeats the text, which may be a secret
  // key by mistake.
  explicit Recipient(std::string_view text);
  // A move copies, so that no handle is ever without a key.
  Recipient(const Recipient&) = default;
  Recipient& operator=(const Recipient&) = default;
  ~Recipient() = default;
  // Reads a file with one recipient a line; empty lines and lines that begin with # are skipped.
  // Throws Error(usage) for a malformed line, and Error(failure) if the file cannot be read.
  [[nodiscard]] static std::vector<Recipient> load(const std::string& path);

  // Empty if only a plugin knows it, because the recipient comes from a plugin's identity.
  [[nodiscard]] std::string text() const;

  // Whether both are the same key. If only plugins know that: whether both come from the same
  // identity.
  [[nodiscard]] bool operator==(const Recipient& other) const;

 private:
  friend KeyParts;
  struct State;
  explicit Recipient(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A secret key: "AGE-SECRET-KEY-1...", or one of SSH's, which only a file can hold.
class PAES_API Identity {
 public:
  // Throws Error(usage) that says what is wrong but never repeats the text.
  explicit Identity(std::string_view text);
  Identity(const Identity&) = default;
  Identity& operator=(const Identity&) = default;
  ~Identity() = default;
  [[nodiscard]] static Identity generate();
  // Reads a list that `paes keygen` or age-keygen wrote, or an SSH private key. Throws Error(usage)
  // if a list is encrypted. An encrypted SSH key throws Error(wrong_key) only when it has to open a
  // file.
  [[nodiscard]] static std::vector<Identity> load(const std::string& path);
  // Reads a file that may be encrypted: a list by `paes keygen -p` or `age -p`, an SSH key by
  // ssh-keygen. A wrong passphrase throws Error(wrong_key): for a list at once, for an SSH key when
  // it has to open a file.
  [[nodiscard]] static std::vector<Identity> load(const std::string& path,
                                                  const Passphrase& passphrase);
  // Reads a file that may be encrypted, and throws Error(failure) once `cancel` is requested: an
  // encrypted list takes a second, or more if its writer chose so.
  [[nodiscard]] static std::vector<Identity> load(const std::string& path,
                                                  const Passphrase& passphrase,
                                                  const Cancel* cancel);

  [[nodiscard]] Recipient recipient() const;
  // Writes a new file with the public key as a comment, the secret key, and a line feed at the end.
  // Only its owner can read it. Throws Error(failure) if something has that name, or if others
  // could read the file because its file system keeps no permissions. Throws Error(usage) for SSH's
  // keys.
  void save(const std::string& path) const;

 private:
  friend KeyParts;
  struct State;
  explicit Identity(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Empty if constructed without an argument.
class PAES_API Passphrase {
 public:
  Passphrase() noexcept = default;
  // Throws Error(usage) for an empty text.
  explicit Passphrase(std::string_view text);
  // Reads the first line of a file; what follows it does not count, as with gocryptfs. Throws
  // Error(usage) if that is empty, and Error(failure) if the file cannot be read.
  [[nodiscard]] static Passphrase load(const std::string& path);

  [[nodiscard]] bool is_empty() const noexcept { return state_ == nullptr; }

 private:
  friend KeyParts;
  struct State;
  std::shared_ptr<const State> state_;
};

// A key that the caller keeps elsewhere, for example in a key manager. The file then has neither
// header nor envelope: it is only a payload (C2SP chunked-encryption v1), Cobblestone-128 with a
// key of 16 bytes, Cobblestone-256 with one of 32. The key must be random, because nothing slows
// guesses down, unlike for a passphrase. `context` is not in the file, and another context does not
// open it. One key serves any number of files, because each has its own random salt.
class PAES_API CobblestoneKey {
 public:
  CobblestoneKey() noexcept = default;
  // Throws Error(usage) unless the key has 16 or 32 bytes.
  explicit CobblestoneKey(std::span<const std::uint8_t> key,
                          std::span<const std::uint8_t> context = {});

  [[nodiscard]] bool is_empty() const noexcept { return state_ == nullptr; }

 private:
  friend KeyParts;
  struct State;
  std::shared_ptr<const State> state_;
};

// The keys to encrypt for. Give exactly one of the three: age does not combine a passphrase with
// recipients.
struct SealFor {
  std::vector<Recipient> recipients = {};
  Passphrase passphrase = {};
  CobblestoneKey key = {};
  // 128 or 256: the length of the payload's AES key. A CobblestoneKey's own length decides instead.
  unsigned key_bits = 256;
};

// What may open a file. A CobblestoneKey cannot be combined with others. A file with very many
// recipients is refused: with Error(failure) once trying the identities would take more than about
// ten seconds (10,000 recipients for 20 identities of X25519), and with Error(corrupt) once more
// than 16 stanzas name one of these SSH keys but are not for it.
struct OpenWith {
  std::vector<Identity> identities = {};
  Passphrase passphrase = {};
  CobblestoneKey key = {};
  // A file whose passphrase costs more than scrypt with N = 2^this is refused with Error(failure)
  // before any work. 2^20 takes about a gigabyte. 1 to 30.
  unsigned max_work_factor = 20;
};

}  // namespace v0
}  // namespace paes
