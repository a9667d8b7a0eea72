// SPDX-License-Identifier: Apache-2.0
// Which class an output is of, by what its name leads to and by its options: a new file
// (new_file.hpp), or what exists already.
#pragma once

#include <sys/types.h>

#include <memory>

#include "stream/file/file_place.hpp"
#include "stream/file/output.hpp"

namespace paes::stream {

// Throws Error: the target exists (unless overwrite), is a directory, is the source. A regular file
// is replaced and never opened. If the path is a symbolic link, its target is replaced or created,
// but a place that has a folder is looked up there without following a link, and only a regular
// file is replaced. What is no regular file (/dev/null, a FIFO) is written to directly, but without
// overwrite only where no other user can have put it (output_target.hpp), and a block device not at
// all.
[[nodiscard]] std::unique_ptr<Output> create_output(const FilePlace& place,
                                                    const OutputOptions& options);
// `source` is refused as above. After a failure, a regular file that stood at its end is cut back
// to its old length.
[[nodiscard]] std::unique_ptr<Output> standard_output(const OutputOptions& options);

// An encrypted file is as accessible as its source; set-id and sticky bits are not copied.
[[nodiscard]] mode_t encrypted_mode(const Input& source);
// A decrypted file is for its owner alone, and the umask applies.
[[nodiscard]] mode_t decrypted_mode(const Input& source);

// A file that has no source gets what the umask leaves.
[[nodiscard]] mode_t new_file_mode();

}  // namespace paes::stream
