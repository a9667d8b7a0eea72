// SPDX-License-Identifier: Apache-2.0
// Whether every change of a source shows in its times. Only then may an interrupted encryption
// continue with that source. SourceStamp relies on the time of the last status change (ctime),
// which every change moves and no program sets back. Some file systems keep no ctime. They show the
// time of the last modification instead, which the owner can set back.
#pragma once

#include "stream/file/input.hpp"

namespace paes::stream {

// Throws Error(usage) unless the file system of `input`, a regular file, is known to keep ctime
// apart from mtime. This is tried with an empty file in the source's folder, without a name where
// possible and always removed. If no file can be made there, the kind of the file system decides.
void refuse_unless_change_time_is_kept(const Input& input);

}  // namespace paes::stream
