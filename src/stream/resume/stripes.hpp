// SPDX-License-Identifier: Apache-2.0
// The stripes of an interrupted file that are done, and those that are still to do. They are the
// Continuation of a transfer: a stripe in the journal is authenticated again and kept, and a stripe
// is entered in the journal when its last buffer is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "paes/error.hpp"
#include "stream/container/chunk_cipher.hpp"
#include "stream/container/extent.hpp"
#include "stream/resume/journal.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

// The work that was decided on; its files are started or taken up. It is sent between processes
// byte by byte, so it must stay trivially copyable.
struct Started {
  container::Suite suite;
  PayloadPrefix prefix;  // salt and commitment
  Extent extent;
  JournalHeader header;
  bool continues;
};

// The share that one process has in it, and what its threads have in common.
struct StripeWork {
  // The ends and the descriptors must outlive it. `to` is the unfinished file.
  StripeWork(const Started& started, Bytes input_key, Source& from, Sink& to, int journal_file,
             int to_file, const std::string& to_name, const Work& how);

  Extent extent;
  Source& source;
  Sink& output;
  int output_file;
  ChunkCipher cipher;
  JournalKey journal_key;
  Journal journal;
  std::optional<Input> written;  // what an earlier run left, if this one continues it
  std::atomic<std::uint64_t> kept_text_bytes{0};
};

// Thrown by seal_stripes when another text was sealed under these nonces before: start afresh.
struct OtherTextWritten : Error {
  explicit OtherTextWritten(const std::string& name)
      : Error(ErrorCode::failure, name + ": is not the beginning of what would be written now") {}
};

// Keeps what is complete and authentic of the stripes, and seals the rest. `check_source` throws if
// the source is not what it was; it is called after each read, before anything of it is written,
// and at the end.
void seal_stripes(StripeWork& work, Range stripes, const std::function<void()>& check_source,
                  const Work& how);

// Keeps the text of these stripes that is complete and authentic, and opens the rest.
void open_stripes(StripeWork& work, Range stripes, const Work& how);

}  // namespace paes::stream
