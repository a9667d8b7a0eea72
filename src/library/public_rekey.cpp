// SPDX-License-Identifier: Apache-2.0
// The public header's change of recipients, on top of stream/container/new_envelope.hpp.
#include <algorithm>
#include <utility>

#include "core/refuse.hpp"
#include "library/key_parts.hpp"
#include "paes/file.hpp"
#include "stream/container/new_envelope.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes {

namespace {

// `change` is null where all recipients are new.
std::size_t rekey(const std::string& path, const OpenWith& open_with, const FileOptions& options,
                  const age::RecipientChange* change, const std::function<age::SealTo()>& seal_to) {
  check(open_with);
  refuse(!open_with.key.is_empty(), "key: its files have no envelope, and so no recipients");
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
  const auto opens = [&](const stream::Rekeying::Use& use) {
    with_credentials(open_with, options.cancel, use);
  };
  return stream::rekey_file(
      file,
      {.change = change, .with_credentials = opens, .seal_to = seal_to, .warn = options.warn});
}

}  // namespace

}  // namespace paes

std::size_t paes::rekey_file(const std::string& path, const OpenWith& open_with,
                             const SealFor& seal_for, const FileOptions& options) {
  check(seal_for);
  refuse(!seal_for.key.is_empty(), "key: a file with an envelope has recipients or a passphrase");
  const std::vector<age::SharedRecipient> recipients = recipients_of(seal_for.recipients);
  return rekey(path, open_with, options, nullptr,
               [&] { return seal_to(seal_for, recipients, options.cancel); });
}

std::size_t paes::change_recipients(const std::string& path, const OpenWith& open_with,
                                    const RecipientEdit& edit, const FileOptions& options) {
  const std::vector<age::SharedRecipient> added = recipients_of(edit.add);
  age::RecipientChange wanted{edit.remove, added, stream::waiting(options.cancel)};
  std::sort(wanted.removed.begin(), wanted.removed.end());
  wanted.removed.erase(std::unique(wanted.removed.begin(), wanted.removed.end()),
                       wanted.removed.end());
  refuse(wanted.removed.empty() && added.empty(), "recipients: none to add and none to remove");
  return rekey(path, open_with, options, &wanted, nullptr);
}
