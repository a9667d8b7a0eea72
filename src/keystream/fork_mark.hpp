// How a forked child knows that it is one. A child has neither the threads nor the keystream of its
// parent, and whatever it encrypted would be encrypted under counters that the parent uses as well.
#pragma once

#include <cstdint>

#include "keystream/pages.hpp"

namespace paes::keystream {

class ForkMark {
 public:
  ForkMark();

  // True in the process that made the mark, false in each of its children.
  [[nodiscard]] bool is_intact() const noexcept;
  [[nodiscard]] bool is_wiped_in_children() const noexcept { return page_.is_wiped_in_children(); }

 private:
  // The system zeroes this page in a child. That also tells children that were made without fork(),
  // of which no handler hears.
  Pages page_;
  std::uint32_t generation_;
};

}  // namespace paes::keystream
