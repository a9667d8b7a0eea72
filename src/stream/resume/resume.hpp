// SPDX-License-Identifier: Apache-2.0
// Encryption and decryption that can be interrupted and continued. The output is written under a
// name that survives (resumable_files.hpp) with a journal of its complete stripes (journal.hpp).
//
// An encryption that continues uses the nonces of the run before it, and must never seal another
// text with them. So the source must have the same device, inode, size, mtime and ctime. This is
// checked after each read, before what was read is written. And what an unfinished stripe holds
// must be the beginning of the same ciphertext. Otherwise everything starts afresh with a new key.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/container/container_file.hpp"
#include "stream/file/output.hpp"
#include "stream/file/resumable_files.hpp"
#include "stream/resume/stripes.hpp"

namespace paes::stream {

// Says that the work starts afresh and why; one line.
using Note = std::function<void(const std::string& what_why)>;

struct NewKey {
  SecretBytes input_key;
  std::vector<std::uint8_t> envelope;
};

// What an encryption needs of its caller.
struct ResumableEncryption {
  container::Shape shape;
  Bytes settings;  // for whom; must equal the earlier run's
  // The input key in an envelope that an earlier run wrote, or nothing when it does not open.
  std::function<std::optional<SecretBytes>(Bytes envelope)> open;
  std::function<NewKey()> make;  // called when it starts afresh
  Note note = nullptr;
};

// Takes the source's stamp, and waits until any later change must give another ctime. Because
// timestamps are coarse, it waits while a change could still get the same one: mostly not at all,
// at most two seconds. Refuses file systems without ctime (change_time.hpp).
[[nodiscard]] SourceStamp distinct_stamp(const Input& input, const Cancel* cancel);

// `output` must be resumable, `input` seekable and a regular file; Error(usage) otherwise. Commits
// the output. What a failure leaves can be continued, unless the source changed: then nothing is
// left. If something can be continued, the error's hint says how.
Totals encrypt_resumably(Input& input, Output& output, const ResumableEncryption& task,
                         const Work& how);

// The same for decryption. It may continue with another copy of the source, because it keeps only
// text that this copy authenticates.
Totals decrypt_resumably(Input& input, Output& output, const Preamble& preamble, Bytes input_key,
                         const Note& note, const Work& how);

// Throws Error(failure) when the source is not as it was.
void check_stamp(const Input& input, const SourceStamp& source);

// Encryption and decryption in two halves, for callers with several processes: one process decides,
// with the files locked, and then all work.

// Throws Error(usage).
void refuse_unless_resumable(const Input& input, Output& output);
// The error, with a hint how to continue from this partial file.
[[nodiscard]] Error with_resume_hint(const Error& error, const std::string& partial_name);

struct StartedEncryption {
  Started work;
  SecretBytes input_key;
};
// `never_continue`: start afresh, because what was found does not fit.
[[nodiscard]] StartedEncryption start_encryption(const Input& input, ResumableFiles& files,
                                                 const ResumableEncryption& task,
                                                 const SourceStamp& source, bool never_continue,
                                                 const Work& how);

// Throws as decrypt_resumably, before anything is written.
[[nodiscard]] Started start_decryption(const Input& input, Output& output, const Preamble& preamble,
                                       Bytes input_key, const Note& note, const Work& how);

}  // namespace paes::stream
