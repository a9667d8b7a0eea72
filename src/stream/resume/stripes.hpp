// SPDX-License-Identifier: Apache-2.0
// The stripes of an interrupted file that are done, and those still to do, as the Continuation of a
// transfer. A stripe in the journal is authenticated again and kept; a new stripe is recorded in
// the journal when its last buffer has been written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "paes/error.hpp"
#include "stream/container/extent.hpp"
#include "stream/container/payload.hpp"
#include "stream/container/preamble.hpp"
#include "stream/resume/journal.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

// The chosen work, whose files have been started or taken up. It is sent between processes byte by
// byte, so it must stay trivially copyable.
struct StripePlan {
  std::optional<container::Suite> suite;  // empty: the payload is an age file's
  PayloadPrefix prefix;                   // salt and commitment, or a nonce and zeros
  Extent extent;
  JournalHeader header;
  bool continues;
};

// What the payload's keys are derived with, from the input key or the file key. Valid as long as
// the prefix.
[[nodiscard]] Bytes key_salt(const std::optional<container::Suite>& suite,
                             const PayloadPrefix& prefix) noexcept;
// The cipher of such a payload.
[[nodiscard]] std::unique_ptr<const PayloadCipher> cipher_of(
    const std::optional<container::Suite>& suite, const PayloadPrefix& prefix, Bytes key,
    const Work& how);

// One process's share of the work, and what its threads share.
struct StripeWork {
  // The ends and the descriptors must outlive this. `to` is the unfinished file.
  StripeWork(const StripePlan& started, Bytes key, Source& from, Sink& to, int journal_file,
             int to_file, const std::string& to_name, const Work& how);

  Extent extent;
  Source& source;
  Sink& output;
  int output_file;
  std::unique_ptr<const PayloadCipher> cipher;
  JournalKey journal_key;
  Journal journal;
  std::optional<Input> written;  // what an earlier run left, if this one continues it
  std::atomic<std::uint64_t> kept_text_bytes{0};
};

// Thrown by seal_stripes if another text was sealed under these nonces before: start afresh.
struct OtherTextWritten : Error {
  explicit OtherTextWritten(const std::string& name)
      : Error(ErrorCode::failure, name + ": is not the beginning of what would be written now") {}
};

// Keeps those of the stripes that are complete and authentic, and seals the rest. `check_source`
// throws if the source has changed. It is called after each read, before anything of it is written,
// and at the end.
void seal_stripes(StripeWork& work, Range stripes, const std::function<void()>& check_source,
                  const Work& how);

// Keeps those of the stripes whose text is complete and authentic, and opens the rest.
void open_stripes(StripeWork& work, Range stripes, const Work& how);

}  // namespace paes::stream
