// Whole pages for keystream: zeroed, out of core dumps, wiped in a forked child, locked as far as
// the system allows; and the mark by which a child knows that it is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paes::keystream {

// Unmapped, wiped, when it goes. Throws std::bad_alloc.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }
  [[nodiscard]] bool is_wiped_in_children() const noexcept { return is_wiped_in_children_; }

  [[nodiscard]] static std::size_t whole(std::size_t bytes) noexcept;

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_locked_ = false;
  bool is_wiped_in_children_ = false;
};

// True in the process that made it, false in every child of that. A child has neither the threads
// nor the keystream of its parent, and whatever it encrypted would be encrypted under counters that
// the parent uses as well.
class ForkMark {
 public:
  ForkMark();
  [[nodiscard]] bool is_intact() const noexcept;
  [[nodiscard]] bool is_wiped_in_children() const noexcept { return page_.is_wiped_in_children(); }

 private:
  Pages page_;  // for children that no handler hears of: the system zeroes it there
  std::uint32_t generation_;
};

}  // namespace paes::keystream
