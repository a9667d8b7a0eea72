// SPDX-License-Identifier: Apache-2.0
#include "cli/opening.hpp"

#include <CLI/CLI.hpp>

#include "paes/error.hpp"
#include "stream/container/chunk_cipher.hpp"

namespace paes::cli {

void OpenOptions::declare(CLI::App& app) {
  unlock.declare(app);
  own_key.declare(app);
}

void OpenOptions::check() const {
  own_key.check(!unlock.identity_files.empty() || unlock.passphrase.given());
}

unsigned OpenOptions::standard_input_uses() const {
  return unlock.standard_input_uses() + own_key.standard_input_uses();
}

void OpenOptions::refuse_as_output(const stream::FilePlace& output) const {
  unlock.refuse_as_output(output);
  own_key.refuse_as_output(output);
}

Opener::Opener(const OpenOptions& options) : unlocker_(options.unlock) {
  if (options.own_key.is_given()) {
    own_key_ = options.own_key.read();
  }
}

InputToOpen::InputToOpen(stream::Input& input, Opener& opener) : input_(input), opener_(opener) {
  if (opener.own_key() == nullptr) {
    try {
      file_ = std::make_unique<const stream::EncryptedFile>(input);
    } catch (const Error& error) {
      const stream::FileFormat* const named = format_of_name(input.name());
      if (error.code != ErrorCode::corrupt || named == nullptr || !named->is_bare()) {
        throw;
      }
      throw Error(error.code, error.what(), "if you keep its key, give --key-file FILE");
    }
  }
}

const stream::FileFormat& InputToOpen::format() const {
  return file_ != nullptr ? file_->head().format() : stream::find_format("cobblestone");
}

stream::Source& InputToOpen::source() const { return file_ != nullptr ? file_->source() : input_; }

const stream::FileHead* InputToOpen::resumable() const {
  return file_ != nullptr && !file_->is_armored() && format().is_resumable ? &file_->head()
                                                                           : nullptr;
}

stream::OpenedPayload InputToOpen::open(const stream::Work& work) const {
  if (file_ != nullptr) {
    return opener_.unlocker().open(*file_, work);
  }
  const OwnKey& own = *opener_.own_key();
  return stream::open_bare_payload(input_, own.key, own.context, work);
}

}  // namespace paes::cli
