// SPDX-License-Identifier: Apache-2.0
// Which class an output is of, by what its name leads to and by its options: a new file
// (new_file.hpp), or what exists already.
#pragma once

#include <sys/types.h>

#include <memory>

#include "stream/file/file_place.hpp"
#include "stream/file/output.hpp"

namespace paes::stream {

// Throws Error if the target exists (unless overwrite), is a directory, or is the source. The class
// depends on what the path leads to:
// - A regular file is replaced and never opened.
// - A symbolic link is followed, and its target is replaced or created. But in a place that has a
//   folder no link is followed, and only a regular file is replaced.
// - What is not a regular file (/dev/null, a FIFO) is written to directly. Without overwrite, this
//   happens only where no other user can have put it (output_target.hpp), and never to a block
//   device.
[[nodiscard]] std::unique_ptr<Output> create_output(const FilePlace& place,
                                                    const OutputOptions& options);
// The output is refused if it is the source. If it is a regular file and was written at its end, a
// failure cuts it back to its old length.
[[nodiscard]] std::unique_ptr<Output> standard_output(const OutputOptions& options);

// An encrypted file is as accessible as its source; set-id and sticky bits are not copied.
[[nodiscard]] mode_t encrypted_mode(const Input& source);
// A decrypted file is for its owner alone, and the umask applies.
[[nodiscard]] mode_t decrypted_mode(const Input& source);

// While this exists, the process keeps its umask, so that the system is asked for it once. Only one
// may exist at a time.
class UmaskKept {
 public:
  UmaskKept() noexcept;
  ~UmaskKept();
  UmaskKept(const UmaskKept&) = delete;
  UmaskKept& operator=(const UmaskKept&) = delete;
};

// What the umask leaves of a mode.
[[nodiscard]] mode_t less_umask(mode_t mode);
// A file that has no source gets what the umask leaves.
[[nodiscard]] mode_t new_file_mode();

}  // namespace paes::stream
