// SPDX-License-Identifier: Apache-2.0
// Under which names a volume stores what is not complete yet, or no longer. They are paes's own.
// Readers of the format take such a name for the file of some long name, and pass over it. In a
// volume with plain names they pass over nothing; there only paes does not show it.
#pragma once

#include <string>
#include <string_view>

namespace paes::vault {

// "gocryptfs.longname.paes-", 16 random hexadecimal digits, ".name"; with plain names ".paes-put-"
// and the digits.
[[nodiscard]] std::string new_unfinished_name(bool has_plain_names);
[[nodiscard]] bool is_unfinished_name(std::string_view stored, bool has_plain_names) noexcept;

}  // namespace paes::vault
