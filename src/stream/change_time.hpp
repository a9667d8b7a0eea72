// Whether the system would notice a change of a source: only then may an encryption continue with
// it. SourceStamp relies on the time of the last status change (ctime), which every change moves
// and no program sets back. Some file systems have none of their own and show the time of the last
// modification in its place, which every owner can set back.
#pragma once

#include "stream/input.hpp"

namespace paes::stream {

// Throws Error(usage), which says why, unless it is known that the file system of `input`, a
// regular file, keeps ctime apart from mtime. That is tried out once with an empty file in the
// source's folder, which has no name where the system can make such files and is gone in any case
// when this returns. Where none can be made there, the kind of the file system decides.
void refuse_unless_change_time_is_kept(const Input& input);

}  // namespace paes::stream
