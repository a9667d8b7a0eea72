// Encryption and decryption that can be interrupted and continued. The output is written under a
// name that survives (resumable_files.hpp) with a journal of its complete stripes (journal.hpp).
//
// An encryption that continues uses the nonces of the run before it, hence must never seal another
// text with them. So the source must be the same in device, inode, size, mtime and ctime; that is
// looked at again after every read and before anything of it is written; and whatever lies in an
// unfinished stripe already must be the beginning of the same ciphertext. Else everything starts
// afresh with a new key.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/output.hpp"
#include "stream/payload.hpp"
#include "stream/resumable_files.hpp"
#include "stream/stripes.hpp"

namespace paes::stream {

// Says that the work starts afresh and why; one line.
using Note = std::function<void(const std::string& what_why)>;

struct NewKey {
  SecretBytes input_key;
  std::vector<std::uint8_t> envelope;
};

// What an encryption needs of its caller.
struct ResumableEncryption {
  container::Suite suite;
  Bytes settings;  // compared with the earlier run's: for whom
  // The input key in an envelope that an earlier run wrote, or nothing when it does not open.
  std::function<std::optional<SecretBytes>(Bytes envelope)> open;
  std::function<NewKey()> make;  // called when it starts afresh
  Note note = nullptr;
};

struct ResumedTotals {
  std::uint64_t text_bytes = 0;
  std::uint64_t kept_text_bytes = 0;  // of that, what an earlier run had done
};

// The source as it is, once every later change gives it another ctime. Refuses a source on a file
// system where that never holds (change_time.hpp), and waits where a change could still come under
// the same stamp: stamps have a granularity. At most two seconds, for file systems with coarse
// ones; mostly nothing.
[[nodiscard]] SourceStamp distinct_stamp(const Input& input, const Cancel* cancel);

// `output` must be resumable, `input` seekable and a regular file; Error(usage) otherwise. Commits
// the output. What a failure leaves can be continued, unless the source changed: then nothing is
// left. Errors that leave something say in their hint how to go on.
ResumedTotals encrypt_resumably(Input& input, Output& output, const ResumableEncryption& task,
                                const Options& options);

// The same for decryption, which may continue with another copy of the source: text is kept only
// if it is what this one authenticates.
ResumedTotals decrypt_resumably(Input& input, Output& output, const Preamble& preamble,
                                Bytes input_key, const Note& note, const Options& options);

// Throws Error(failure) when the source is not as it was.
void check_stamp(const Input& input, const SourceStamp& source);

// The two halves of that, for callers whose threads are spread over processes: one decides, with
// the files locked, and all work.

// Throws Error(usage).
void refuse_unless_resumable(const Input& input, Output& output);
// The error, with how to go on with what was left in this file.
[[nodiscard]] Error with_resume_hint(const Error& error, const std::string& partial_name);

struct StartedEncryption {
  Started work;
  SecretBytes input_key;
};
// `never_continue`: what was found has been seen not to fit.
[[nodiscard]] StartedEncryption start_encryption(const Input& input, ResumableFiles& files,
                                                 const ResumableEncryption& task,
                                                 const SourceStamp& source, bool never_continue,
                                                 const Options& options);

// Throws as decrypt_resumably, before anything is written.
[[nodiscard]] Started start_decryption(const Input& input, Output& output, const Preamble& preamble,
                                       Bytes input_key, const Note& note, const Options& options);

}  // namespace paes::stream
