// SPDX-License-Identifier: Apache-2.0
#include "age/header.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "age/hybrid_stanza.hpp"
#include "age/ssh_ed25519.hpp"
#include "age/ssh_rsa.hpp"
#include "age/tagged_stanza.hpp"
#include "age/x25519.hpp"
#include "crypto/libcrypto.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;

std::array<std::uint8_t, mac_bytes> header_mac(Bytes file_key, Bytes authenticated) {
  std::array<std::uint8_t, 32> key;
  const WipeOnExit wiped(key);
  libcrypto::hkdf_sha256(file_key, {}, bytes_of("header"), key);
  return libcrypto::hmac_sha256(key, authenticated);
}

void check_length(const std::string& header) {
  if (header.size() > max_header_bytes) {
    throw Error(ErrorCode::usage,
                "recipients: their stanzas make a header that is longer than 1 MiB, and no reader "
                "takes one",
                "use fewer recipients");
  }
}

// `text` is the version line and the stanzas. Refuses to write what a reader would refuse: plugins
// write stanzas themselves, and nothing else bounds a list of recipients.
std::string complete(std::string text, Bytes file_key) {
  text.append(mac_mark);
  append_mac(text, header_mac(file_key, bytes_of(text)));
  check_length(text);
  try {
    (void)parse_checked(bytes_of(text));
  } catch (const Error& error) {
    throw Error(ErrorCode::failure,
                std::string("recipients: make a header that nobody could read: ") + error.what());
  }
  return text;
}

SecretBytes random_file_key() {
  SecretBytes file_key(file_key_bytes);
  random_bytes(file_key);
  return file_key;
}

using Labels = std::vector<std::string>;

Error may_not_stand_together(const Labels& one, const Labels& other) {
  const auto is_post_quantum = [](const Labels& labels) {
    return std::find(labels.begin(), labels.end(), post_quantum_label) != labels.end();
  };
  return {ErrorCode::usage,
          is_post_quantum(one) || is_post_quantum(other)
              ? "recipients: may not stand in one file: a post-quantum key goes with its like "
                "alone, or its protection would be lost"
              : "recipients: may not stand in one file: a plugin's key goes with its like alone"};
}

// Throws Error(usage) unless all of them have the same labels, including those already there.
void append_wrapped(std::string& text, std::span<const SharedRecipient> recipients, Bytes file_key,
                    const WaitReady& wait, std::optional<Labels> labels = std::nullopt) {
  for (const SharedRecipient& recipient : recipients) {
    check(wait);
    WrappedKey wrapped = recipient->wrap(file_key, wait);
    if (labels && *labels != wrapped.labels) {
      throw may_not_stand_together(*labels, wrapped.labels);
    }
    labels = std::move(wrapped.labels);
    for (const NewStanza& stanza : wrapped.stanzas) {
      append_stanza(text, stanza);
    }
    check_length(text);
  }
}

// A header does not contain labels. But nobody mixes stanzas, so one stanza of a specified type
// tells for all, whatever stands beside it (a plugin's, or one that means nothing).
Labels labels_of(std::span<const Stanza> stanzas) {
  const bool is_post_quantum =
      std::any_of(stanzas.begin(), stanzas.end(), [](const Stanza& stanza) {
        return stanza.type() == hybrid_type || stanza.type() == hybrid_tagged_type;
      });
  return is_post_quantum ? Labels{std::string(post_quantum_label)} : Labels{};
}

// The file key from a plugin that knows the passphrase. A plugin that fails, because its program or
// its hardware is missing, may have nothing to do with the file. So its error is thrown only if
// nobody else can open it.
std::optional<SecretBytes> unwrap_with_plugins(const ParsedHeader& header,
                                               const Credentials& credentials) {
  Effort effort(credentials.wait);
  std::exception_ptr first_failure;
  for (const SharedIdentity& identity : credentials.identities) {
    if (!identity->may_know_a_passphrase()) {
      continue;
    }
    try {
      if (auto file_key = identity->unwrap(header.stanzas, effort)) {
        return file_key;
      }
    } catch (const Error& error) {
      check(credentials.wait);  // if the caller has given up, the plugin did not fail
      if (error.code != ErrorCode::failure) {
        throw;
      }
      if (first_failure == nullptr) {
        first_failure = std::current_exception();
      }
    }
  }
  if (first_failure != nullptr && !credentials.ask_passphrase) {
    std::rethrow_exception(first_failure);
  }
  return std::nullopt;
}

SecretBytes unwrap_with_passphrase(const ParsedHeader& header, const Credentials& credentials) {
  const ScryptStanza stanza = read_scrypt(header.stanzas.front());
  if (auto known = unwrap_with_plugins(header, credentials)) {
    return std::move(*known);
  }
  if (stanza.work_factor > credentials.max_work_factor) {
    throw Error(
        ErrorCode::failure,
        "envelope: the passphrase's work factor " + std::to_string(stanza.work_factor) +
            " is above the limit of " + std::to_string(credentials.max_work_factor),
        stanza.work_factor > highest_max_work_factor
            ? ""
            : "if you trust the file: --max-work-factor " + std::to_string(stanza.work_factor));
  }
  if (!credentials.ask_passphrase) {
    throw Error(ErrorCode::wrong_key, "envelope: needs a passphrase");
  }
  auto file_key = unwrap_under(credentials.ask_passphrase(), stanza, credentials.wait);
  if (!file_key) {
    throw Error(ErrorCode::wrong_key, "envelope: the passphrase is wrong");
  }
  return std::move(*file_key);
}

SecretBytes unwrap_with_identities(const ParsedHeader& header,
                                   std::span<const SharedIdentity> identities,
                                   const WaitReady& wait) {
  Effort effort(wait);
  for (const SharedIdentity& identity : identities) {
    if (auto file_key = identity->unwrap(header.stanzas, effort)) {
      return std::move(*file_key);
    }
  }
  if (identities.empty()) {
    throw Error(ErrorCode::wrong_key, "envelope: needs an identity",
                "give the secret key's file with -i");
  }
  throw Error(ErrorCode::wrong_key, "envelope: no identity given opens it");
}

}  // namespace

std::string header_for(const SealTo& to, Bytes file_key) {
  std::string text = version_line();
  if (to.recipients.empty()) {
    append_stanza(text, wrap_under(to.passphrase, to.work_factor, file_key, to.wait));
  } else {
    append_wrapped(text, to.recipients, file_key, to.wait);
  }
  return complete(std::move(text), file_key);
}

SealedHeader seal_header(const SealTo& to) {
  SecretBytes file_key = random_file_key();
  std::string text = header_for(to, file_key);
  return {std::move(text), std::move(file_key)};
}

SealedHeader seal_header(std::span<const SharedRecipient> recipients, const WaitReady& wait) {
  if (recipients.empty()) {
    throw Error(ErrorCode::usage, "recipients: none given");
  }
  return seal_header(SealTo{.recipients = recipients, .wait = wait});
}

SealedHeader seal_header(Bytes passphrase, unsigned work_factor, const WaitReady& wait) {
  return seal_header(
      SealTo{.recipients = {}, .passphrase = passphrase, .work_factor = work_factor, .wait = wait});
}

void check_new_stanza(const NewStanza& stanza) {
  std::string text;
  append_stanza(text, stanza);
  std::string_view rest = text;
  const Stanza read = take_stanza(rest);
  if (read.type() == x25519_type) {
    check_x25519(read);
  } else if (read.type() == scrypt_type) {
    (void)read_scrypt(read);
  } else if (read.type() == hybrid_type) {
    (void)read_hybrid(read);
  } else if (read.type() == tagged_type || read.type() == hybrid_tagged_type) {
    check_tagged(read);
  } else if (read.type() == ssh_ed25519_type) {
    check_ssh_ed25519(read);
  } else if (read.type() == ssh_rsa_type) {
    check_ssh_rsa(read);
  }
}

ParsedHeader parse_checked(Bytes file) {
  ParsedHeader header = parse_header(file);
  for (const Stanza& stanza : header.stanzas) {
    if (stanza.type() == x25519_type) {
      check_x25519(stanza);
    } else if (stanza.type() == scrypt_type) {
      (void)read_scrypt(stanza);
      // Someone who opens a file with a passphrase may expect that its writer knew the passphrase.
      if (header.stanzas.size() != 1) {
        throw corrupt("a passphrase stanza that is not alone");
      }
    }
  }
  return header;
}

SecretBytes open_header(const ParsedHeader& header, const Credentials& credentials) {
  const Stanza& first = header.stanzas.front();  // scrypt has no other stanza beside it
  SecretBytes file_key =
      first.type() == scrypt_type
          ? unwrap_with_passphrase(header, credentials)
          : unwrap_with_identities(header, credentials.identities, credentials.wait);
  if (!equal_constant_time(header_mac(file_key, header.authenticated), header.mac)) {
    throw corrupt("its header was changed (the MAC is wrong)");
  }
  return file_key;
}

void check_change(const ParsedHeader& header, const RecipientChange& change) {
  const std::size_t count = header.stanzas.size();
  if (!change.removed.empty() && change.removed.back() >= count) {
    throw Error(ErrorCode::usage, "envelope: has " + std::to_string(count) +
                                      (count == 1 ? " recipient" : " recipients") +
                                      ", so there is no number " +
                                      std::to_string(change.removed.back() + 1));
  }
  if (change.removed.size() == count && change.added.empty()) {
    throw Error(ErrorCode::usage, "envelope: nobody could open it without its last recipient");
  }
  if (change.removed.empty() && !change.added.empty() &&
      header.stanzas.front().type() == scrypt_type) {
    throw Error(ErrorCode::usage,
                "envelope: it has a passphrase, next to which age allows no recipient",
                "replace the passphrase with recipients, without --add");
  }
}

std::string change_header(const ParsedHeader& header, Bytes file_key,
                          const RecipientChange& change) {
  check_change(header, change);
  std::string text = version_line();
  std::vector<Stanza> kept;
  for (std::size_t i = 0; i < header.stanzas.size(); ++i) {
    if (!std::binary_search(change.removed.begin(), change.removed.end(), i)) {
      kept.push_back(header.stanzas[i]);
      append_stanza(text, header.stanzas[i]);
    }
  }
  append_wrapped(text, change.added, file_key, change.wait,
                 kept.empty() ? std::nullopt : std::optional(labels_of(kept)));
  return complete(std::move(text), file_key);
}

}  // namespace paes::age
