// SPDX-License-Identifier: Apache-2.0
// Which chunks of a new file have been sealed. Sealing another text under the same nonce would give
// both away, so each chunk is claimed here before it is sealed, and nothing gives it back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/range.hpp"

namespace paes::stream {

// Not thread-safe.
class WrittenChunks {
 public:
  // False, with nothing claimed, if one of them has been claimed already, or lies behind the last.
  // `with_last`: the last chunk of the text is among them, and no other may follow.
  [[nodiscard]] bool claim(Range chunks, bool with_last);

  // Whether the last chunk has been claimed.
  [[nodiscard]] bool has_last() const noexcept { return last_.has_value(); }
  // How many there are if none is missing before them; else nothing.
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // first to end, joined where they touch
  std::optional<std::uint64_t> last_;
};

}  // namespace paes::stream
