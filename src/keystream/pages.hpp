// SPDX-License-Identifier: Apache-2.0
// Whole pages for keystream: zeroed, left out of core dumps, wiped in a forked child, and locked in
// memory as far as the system allows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paes::keystream {

// The destructor wipes and unmaps. The constructor throws std::bad_alloc.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }

  // Rounds up to whole pages.
  [[nodiscard]] static std::size_t whole(std::size_t bytes) noexcept;

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_locked_ = false;
};

}  // namespace paes::keystream
