// SPDX-License-Identifier: Apache-2.0
// Encryption and decryption that can be interrupted and continued, of containers and of age files.
// The output is written under a name that survives (resumable_files.hpp), beside a journal of its
// complete stripes (journal.hpp). What an encryption left begins with its envelope, or is an age
// file; who can open that continues. No key is kept anywhere else.
//
// A continued encryption uses the nonces of the earlier run, and must never seal another text with
// them. So the source must have the same device, inode, size, mtime and ctime, which is checked
// after each read, before anything of it is written. And it writes into an unfinished stripe only
// where each byte it finds there is zero or the one it would write. Otherwise everything starts
// afresh with a new key.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/container/container_file.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/output.hpp"
#include "stream/file/resumable_files.hpp"
#include "stream/resume/stripes.hpp"

namespace paes::stream {

// Told in one line that the work starts afresh, and why.
using Note = std::function<void(const std::string& what_why)>;

struct NewKey {
  SecretBytes input_key;               // or an age file's file key
  std::vector<std::uint8_t> envelope;  // or an age file's header
};

// What an encryption needs of its caller.
struct ResumableEncryption {
  std::optional<container::Shape> shape;  // empty: an age file
  Bytes settings;                         // the recipients; must equal the earlier run's
  // The key in an envelope or header that an earlier run wrote, or empty if that does not open.
  std::function<std::optional<SecretBytes>(Bytes envelope)> open;
  std::function<NewKey()> make;  // called when the work starts afresh
  Note note = nullptr;
};

// What a decryption continues: where the payload of its source begins, and what that is.
struct PayloadPlace {
  PayloadPlace(const Preamble& preamble) noexcept  // NOLINT: of a container
      : suite(preamble.header.suite), offset(preamble.header.payload_offset()) {}
  explicit PayloadPlace(const FileHead& head) noexcept : offset(head.payload_offset()) {
    if (const Preamble* const preamble = head.container()) {
      suite = preamble->header.suite;
    }
  }

  std::optional<container::Suite> suite;  // empty: an age file
  std::uint64_t offset;
};

// Takes the source's stamp, and waits until any later change must give another ctime: timestamps
// are coarse, so a change could get the same one for a while. Usually it need not wait; at most it
// waits two seconds. Refuses file systems without ctime (change_time.hpp).
[[nodiscard]] SourceStamp distinct_stamp(const Input& input, const Cancel* cancel);

// Throws Error(usage) unless `output` is resumable and `input` is a seekable regular file. Commits
// the output. A failed run can be continued, unless the source changed: then nothing is left. If it
// can be continued, the error's hint says how.
Totals encrypt_resumably(Input& input, Output& output, const ResumableEncryption& task,
                         const Work& how);

// Decrypts and commits the output. It may continue with another copy of the source, because it
// keeps only text that this copy authenticates. Throws like encrypt_resumably.
Totals decrypt_resumably(Input& input, Output& output, const PayloadPlace& payload, Bytes key,
                         const Note& note, const Work& how);

// Throws Error(failure) if the source has changed.
void check_stamp(const Input& input, const SourceStamp& source);

// Encryption and decryption in two halves, for callers with several processes: one process decides
// while the files are locked, then all work.

// Throws Error(usage).
void refuse_unless_resumable(const Input& input, Output& output);
// The error, with a hint that says how to continue from this partial file.
[[nodiscard]] Error with_resume_hint(const Error& error, const std::string& partial_name);

struct StartedEncryption {
  StripePlan work;
  SecretBytes input_key;
};
// `never_continue`: start afresh, because what was found does not fit.
[[nodiscard]] StartedEncryption start_encryption(const Input& input, ResumableFiles& files,
                                                 const ResumableEncryption& task,
                                                 const SourceStamp& source, bool never_continue,
                                                 const Work& how);

// Throws like decrypt_resumably, before anything is written.
[[nodiscard]] StripePlan start_decryption(const Input& input, Output& output,
                                          const PayloadPlace& payload, Bytes key, const Note& note,
                                          const Work& how);

}  // namespace paes::stream
