// SPDX-License-Identifier: Apache-2.0
// Who may open an encrypted file: recipients and identities of age (age-encryption.org/v1),
// passphrases, and keys of the caller's own. All are handles: copies share one key, which lies in
// locked memory and is wiped with the last of them.
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

struct KeyParts;  // what the library itself sees of them

inline namespace v0 {

class Passphrase;

// A public key: "age1...", or one of SSH's, "ssh-ed25519 AAAA..." or "ssh-rsa AAAA...".
class PAES_API Recipient {
 public:
  // Throws Error(usage) that says what is wrong, and never repeats the text, which may be a secret
  // key by mistake.
  explicit Recipient(std::string_view text);
  // A move copies, so that no handle is ever without a key.
  Recipient(const Recipient&) = default;
  Recipient& operator=(const Recipient&) = default;
  ~Recipient() = default;
  // A file with one a line; empty lines and lines that begin with # are skipped. Throws as above,
  // and Error(failure) when the file cannot be read.
  [[nodiscard]] static std::vector<Recipient> load(const std::string& path);

  // Empty if only a plugin knows it, because the recipient came from that plugin's identity.
  [[nodiscard]] std::string text() const;

  // Whether both are one key. Where only plugins know that: whether both came from one identity.
  [[nodiscard]] bool operator==(const Recipient& other) const;

 private:
  friend KeyParts;
  struct State;
  explicit Recipient(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A secret key: "AGE-SECRET-KEY-1...", or one of SSH's, which comes from a file alone.
class PAES_API Identity {
 public:
  // Throws Error(usage) that says what is wrong, and never repeats the text.
  explicit Identity(std::string_view text);
  Identity(const Identity&) = default;
  Identity& operator=(const Identity&) = default;
  ~Identity() = default;
  [[nodiscard]] static Identity generate();
  // A file of them, as `paes keygen` and age-keygen write it, or an SSH private key. Throws
  // Error(usage) if such a list is encrypted. If an SSH key is, opening a file for it throws
  // Error(wrong_key).
  [[nodiscard]] static std::vector<Identity> load(const std::string& path);
  // The same for a file that may be encrypted: a list by `paes keygen -p` or `age -p`, an SSH key
  // by ssh-keygen. Another passphrase throws Error(wrong_key) here for a list, and for an SSH key
  // when it has to open a file.
  [[nodiscard]] static std::vector<Identity> load(const std::string& path,
                                                  const Passphrase& passphrase);
  // Like the load above, and throws Error(failure) once `cancel` is requested: an encrypted list
  // takes a second, or more if its writer wished so.
  [[nodiscard]] static std::vector<Identity> load(const std::string& path,
                                                  const Passphrase& passphrase,
                                                  const Cancel* cancel);

  [[nodiscard]] Recipient recipient() const;
  // Writes a new file that holds the secret key, its public key as a comment, and a line feed at
  // the end. Only its owner can read it. Throws Error(failure) if something has that name or if
  // others could read it, because its file system keeps no permissions, and Error(usage) for SSH's
  // keys.
  void save(const std::string& path) const;

 private:
  friend KeyParts;
  struct State;
  explicit Identity(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Empty if made without an argument: then there is none.
class PAES_API Passphrase {
 public:
  Passphrase() noexcept = default;
  // Throws Error(usage) for an empty one.
  explicit Passphrase(std::string_view text);

  [[nodiscard]] bool is_empty() const noexcept { return state_ == nullptr; }

 private:
  friend KeyParts;
  struct State;
  std::shared_ptr<const State> state_;
};

// A key that the caller keeps elsewhere, in a key manager for instance. The file then has neither
// header nor envelope: it is a payload alone (C2SP chunked-encryption v1), Cobblestone-128 with a
// key of 16 bytes, Cobblestone-256 with one of 32. It must be random, because guesses are not
// slowed down, as they are for a passphrase. `context` is not in the file; another context does not
// open it. One key serves any number of files, because each has a random salt of its own.
class PAES_API CobblestoneKey {
 public:
  CobblestoneKey() noexcept = default;
  // Throws Error(usage) for a key of another length.
  explicit CobblestoneKey(std::span<const std::uint8_t> key,
                          std::span<const std::uint8_t> context = {});

  [[nodiscard]] bool is_empty() const noexcept { return state_ == nullptr; }

 private:
  friend KeyParts;
  struct State;
  std::shared_ptr<const State> state_;
};

// For whom to encrypt. Give exactly one of the three. age does not combine a passphrase with
// recipients.
struct SealFor {
  std::vector<Recipient> recipients = {};
  Passphrase passphrase = {};
  CobblestoneKey key = {};
  // 128 or 256: AES's key in the payload. With a CobblestoneKey, its length decides.
  unsigned key_bits = 256;
};

// What may open a file. A CobblestoneKey goes alone. A file may have very many recipients: it is
// refused with Error(failure) once trying the identities would take more than about ten seconds,
// which is 10,000 recipients for 20 identities of X25519, and with Error(corrupt) once more than 16
// stanzas name an SSH key of these and are not for it.
struct OpenWith {
  std::vector<Identity> identities = {};
  Passphrase passphrase = {};
  CobblestoneKey key = {};
  // A file whose passphrase costs more than scrypt with N = 2^this is refused before any work, with
  // Error(failure). 2^20 takes about a gigabyte. 1 to 30.
  unsigned max_work_factor = 20;
};

}  // namespace v0
}  // namespace paes
