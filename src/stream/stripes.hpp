// The stripes of an interrupted file that are done, and those that are still to do. This is what a
// transfer asks and tells when it continues: a stripe that the journal has is looked at again and
// kept, and a stripe whose last buffer was written goes to the journal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "paes/error.hpp"
#include "stream/extent.hpp"
#include "stream/journal.hpp"
#include "stream/payload.hpp"
#include "stream/transfer.hpp"

namespace paes::stream {

// What the threads of one process share.
struct StripeWork {
  const ChunkCipher& cipher;
  const Extent& extent;
  Journal& journal;
  Source& source;
  Sink& output;           // the unfinished file
  int output_file;        // its descriptor
  const Source* written;  // what an earlier run wrote there; null when there was none
  std::atomic<std::uint64_t>& kept_text_bytes;
};

// Thrown by seal_stripes when another text was sealed under these nonces before: start afresh.
struct OtherTextWritten : Error {
  explicit OtherTextWritten(const std::string& name)
      : Error(ErrorCode::failure, name + ": is not the beginning of what would be written now") {}
};

// Keeps what is complete and authentic of the stripes, and seals the rest. `check_source` throws if
// the source is not what it was; it is called after each read, before anything of it is written,
// and at the end.
void seal_stripes(const StripeWork& work, Range stripes, const std::function<void()>& check_source,
                  const Options& options);

// Keeps the text of these stripes that is complete and authentic, and opens the rest.
void open_stripes(const StripeWork& work, Range stripes, const Options& options);

}  // namespace paes::stream
