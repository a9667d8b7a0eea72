// Whole pages for keystream: zeroed, left out of core dumps, wiped in a forked child, and locked in
// memory as far as the system allows. And the mark by which such a child knows that it is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paes::keystream {

// The destructor wipes and unmaps. Throws std::bad_alloc.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }
  [[nodiscard]] bool is_wiped_in_children() const noexcept { return is_wiped_in_children_; }

  // So many bytes, rounded up to whole pages.
  [[nodiscard]] static std::size_t whole(std::size_t bytes) noexcept;

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_locked_ = false;
  bool is_wiped_in_children_ = false;
};

// Tells a process from its forked children. A child has neither the threads nor the keystream of
// its parent, and would encrypt under counters that the parent uses as well.
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
  std::uint32_t forks_;
};

}  // namespace paes::keystream
