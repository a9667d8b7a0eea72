// SPDX-License-Identifier: Apache-2.0
// The stored names of files that are not complete yet, and of what is being removed. Only paes uses
// such names. Other readers of the format take one for the file of some long name, and do not show
// it. In a volume with plain names they show it, and only paes does not.
#pragma once

#include <string>
#include <string_view>

namespace paes::vault {

// "gocryptfs.longname.paes-", 16 random hexadecimal digits, ".name"; with plain names ".paes-put-"
// and the digits.
[[nodiscard]] std::string new_unfinished_name(bool has_plain_names);
[[nodiscard]] bool is_unfinished_name(std::string_view stored, bool has_plain_names) noexcept;

}  // namespace paes::vault
