// SPDX-License-Identifier: Apache-2.0
// What opens the files of decrypt and verify: identities and passphrases, or a key that its owner
// keeps.
#pragma once

#include <memory>
#include <optional>

#include "cli/encrypted_names.hpp"
#include "cli/key_options.hpp"
#include "cli/own_key.hpp"
#include "stream/file/input.hpp"

namespace paes::cli {

struct OpenOptions {
  UnlockOptions unlock;
  OwnKeyOptions own_key;

  void declare(CLI::App& app);
  // Throws Error(usage) for options that contradict each other.
  void check() const;
  [[nodiscard]] unsigned standard_input_uses() const;
  [[nodiscard]] InputKind takes() const {
    return own_key.is_given() ? InputKind::bare : InputKind::encrypted;
  }
  // With -f an output of that name would replace what opens the file. Throws Error(usage).
  void refuse_as_output(const stream::FilePlace& output) const;
};

// Any thread may use it.
class Opener {
 public:
  // Reads the files that the options name.
  explicit Opener(const OpenOptions& options);

  [[nodiscard]] Unlocker& unlocker() noexcept { return unlocker_; }
  // Null if there are other keys.
  [[nodiscard]] const OwnKey* own_key() const noexcept { return own_key_ ? &*own_key_ : nullptr; }

 private:
  Unlocker unlocker_;
  std::optional<OwnKey> own_key_;
};

// An input, with all of it read that precedes its payload.
class InputToOpen {
 public:
  // Both must outlive it. Throws as stream::EncryptedFile does.
  InputToOpen(stream::Input& input, Opener& opener);

  [[nodiscard]] const stream::FileFormat& format() const;
  // What the payload is read from.
  [[nodiscard]] stream::Source& source() const;
  // What precedes the payload, if --resume can continue such a file; else null.
  [[nodiscard]] const stream::FileHead* resumable() const;
  [[nodiscard]] stream::OpenedPayload open(const stream::Work& work) const;

 private:
  stream::Input& input_;
  Opener& opener_;
  std::unique_ptr<const stream::EncryptedFile> file_;  // null for a payload alone
};

}  // namespace paes::cli
