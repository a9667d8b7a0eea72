// A regular file of a volume, open to be read.
#pragma once

#include <string_view>

#include "volume/volume.hpp"

namespace paes::volume {

// Safe to use from any number of threads.
class File {
 public:
  // `descriptor` is open for reading, of a regular file of the backing tree.
  File(const Volume& volume, Descriptor descriptor) noexcept
      : volume_(&volume), descriptor_(std::move(descriptor)) {}

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }

  // The text from `offset` on, until `into` is full or the text ends. EIO if a block that it needs
  // is damaged, after `path` has been reported; no byte of such a block is in `into`.
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, MutableBytes into,
                                         std::string_view path) const;

 private:
  const Volume* volume_;
  Descriptor descriptor_;
};

}  // namespace paes::volume
