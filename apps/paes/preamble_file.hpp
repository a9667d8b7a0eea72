// The one part of a file that changes in place: everything before the payload. It is replaced under
// a lock, with a synced copy of the old bytes beside the file until the new ones are synced, so
// that a crash at any moment leaves either the old envelope, the new one, or the copy to go back
// to.
#pragma once

#include <string>
#include <vector>

#include "core/secret.hpp"
#include "format/container.hpp"
#include "paes/remains.hpp"
#include "stream/container.hpp"
#include "stream/input.hpp"

namespace paes::cli {

class PreambleFile {
 public:
  // Opens for writing and takes the lock. Throws Error(failure) when another process has it.
  explicit PreambleFile(const std::string& path);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] stream::Input& input() noexcept { return input_; }

  // Whether `input_key` is the one that the payload behind `header` was made with. Throws
  // Error(corrupt) when the file ends before that.
  [[nodiscard]] bool commits_to(const container::Header& header, Bytes input_key) const;

  // Copy, write, sync, remove the copy. `before` and `after` have the same length. Throws Error
  // only when the file does not hold `after`; a copy that cannot be removed is a warning.
  void replace(Bytes before, Bytes after);
  // Writes and syncs, then removes the copy.
  void put_back(Bytes before);

  // The copy that an interrupted replace left, checked as far as that goes without a key. Throws
  // Error(corrupt), Error(failure) when there is none.
  [[nodiscard]] stream::Preamble read_leftover() const;

 private:
  void keep_copy(Bytes before) const;
  void write(Bytes preamble) const;
  void remove_copy() const;

  std::string name_;
  Descriptor descriptor_;
  Descriptor folder_;  // where the copy lies
  stream::Input input_;
};

}  // namespace paes::cli
