// SPDX-License-Identifier: Apache-2.0
// Who reads folders for their names alone. The system asks for the attributes of a new folder's
// entries together with their names. ls -l and du want them, and save a request an entry; find and
// shells do not, and to look at each entry is most of the work then. So each process gets the
// attributes with the first folder that it reads, and with the second one names alone: whether it
// asks for attributes after that says what it gets from then on.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace paes::mount {

// Any number of threads may use it. It remembers a few processes; of those that it has forgotten,
// or that have another's number, it expects what the system does.
class Listers {
 public:
  // Whether a process that begins to read a folder gets attributes, too. 0: a process that this
  // one cannot see.
  [[nodiscard]] bool wants_attributes(pid_t process) noexcept;
  // A process has asked for the attributes of something that is not a folder: whoever walks a tree
  // asks for those of folders in any case.
  void has_asked(pid_t process) noexcept;

 private:
  // In the lowest bits of a place; the process is above.
  enum State : std::uint64_t { with_attributes_once = 1, names_alone, with_attributes };
  static constexpr unsigned state_bits = 2;

  static std::uint64_t as_known(pid_t process, State state) noexcept {
    return (static_cast<std::uint64_t>(process) << state_bits) | state;
  }
  [[nodiscard]] std::atomic<std::uint64_t>& place_of(pid_t process) noexcept {
    return known_[static_cast<std::size_t>(process) % known_.size()];
  }

  std::array<std::atomic<std::uint64_t>, 256> known_{};
};

}  // namespace paes::mount
