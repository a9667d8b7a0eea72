// SPDX-License-Identifier: Apache-2.0
// The public header's change of recipients, on top of stream/container/new_envelope.hpp.
#include <algorithm>
#include <iterator>
#include <utility>

#include "library/key_parts.hpp"
#include "paes/file.hpp"
#include "stream/container/new_envelope.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes {

namespace {

std::size_t rekey(
    const std::string& path, const OpenWith& open_with, const FileOptions& options,
    const std::function<void(Bytes envelope)>& check_envelope,
    const std::function<std::vector<std::uint8_t>(const age::OpenEnvelope& old)>& reseal) {
  check(open_with);
  if (!open_with.key.is_empty()) {
    throw Error(ErrorCode::usage, "key: its files have no envelope, and so no recipients");
  }
  const Cancel none;
  const auto warn = [&options](const std::string& what_why, const std::string& /*hint*/) {
    if (options.warn) {
      options.warn(what_why);
    }
  };
  const stream::PreambleFile file(
      path, {.cancel = options.cancel != nullptr ? *options.cancel : none,
             .leftover_hint = "what it keeps is the file's beginning, for paes rekey --restore",
             .warn = warn,
             .copy_opened = [](const stream::Output& /*copy*/) {}});
  const auto open = [&](Bytes envelope) {
    std::optional<age::OpenEnvelope> opened;
    with_credentials(open_with, options.cancel, [&](const age::Credentials& credentials) {
      opened.emplace(envelope, credentials);
    });
    return std::move(*opened);
  };
  return stream::rekey(file, {.check = check_envelope, .open = open, .reseal = reseal});
}

}  // namespace

}  // namespace paes

std::size_t paes::rekey_file(const std::string& path, const OpenWith& open_with,
                             const SealFor& seal_for, const FileOptions& options) {
  check(seal_for);
  if (!seal_for.key.is_empty()) {
    throw Error(ErrorCode::usage, "key: a file with an envelope has recipients or a passphrase");
  }
  return rekey(
      path, open_with, options, [](Bytes /*envelope*/) {},
      [&](const age::OpenEnvelope& old) {
        return seal_envelope(seal_for, old.plaintext(), options.cancel);
      });
}

std::size_t paes::change_recipients(const std::string& path, const OpenWith& open_with,
                                    const RecipientEdit& edit, const FileOptions& options) {
  std::vector<age::SharedRecipient> added;
  std::transform(edit.add.begin(), edit.add.end(), std::back_inserter(added),
                 [](const Recipient& recipient) { return KeyParts::of(recipient).key; });
  age::RecipientChange wanted{edit.remove, added, stream::waiting(options.cancel)};
  std::sort(wanted.removed.begin(), wanted.removed.end());
  wanted.removed.erase(std::unique(wanted.removed.begin(), wanted.removed.end()),
                       wanted.removed.end());
  if (wanted.removed.empty() && added.empty()) {
    throw Error(ErrorCode::usage, "recipients: none to add and none to remove");
  }
  return rekey(
      path, open_with, options, [&](Bytes envelope) { age::check_change(envelope, wanted); },
      [&](const age::OpenEnvelope& old) { return old.changed(wanted); });
}
