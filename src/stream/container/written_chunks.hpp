// SPDX-License-Identifier: Apache-2.0
// Records which chunks of a new file have been sealed. Sealing another text under the same nonce
// would reveal both, so each chunk is claimed here before it is sealed, and a claim is never taken
// back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/range.hpp"

namespace paes::stream {

// Not thread-safe.
class WrittenChunks {
 public:
  // If one of the chunks has been claimed already or lies after the last chunk, claims nothing and
  // returns false. `with_last`: the text's last chunk is among them, and none may follow.
  [[nodiscard]] bool claim(Range chunks, bool with_last);

  // Whether the last chunk has been claimed.
  [[nodiscard]] bool has_last() const noexcept { return last_.has_value(); }
  // The number of chunks if none is missing; otherwise empty.
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // first to end, joined where they touch
  std::optional<std::uint64_t> last_;
};

}  // namespace paes::stream
