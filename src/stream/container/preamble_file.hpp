// SPDX-License-Identifier: Apache-2.0
// Changes everything before a container's payload in place, for other recipients; nothing else of a
// container ever changes in place. This is done under a lock, and a synced copy of the old bytes
// lies beside the file until the new ones are synced. So a crash at any moment leaves the old
// envelope, the new one, or the copy to go back to.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/descriptor.hpp"
#include "stream/container/preamble.hpp"
#include "stream/file/file_place.hpp"
#include "stream/file/input.hpp"
#include "stream/file/output.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes::stream {

// The path of the copy of old bytes that an interrupted change has left, if any. "-" has none.
[[nodiscard]] std::optional<std::string> find_leftover(const FilePlace& file);

// What a change of the preamble needs from its caller.
struct PreambleChange {
  const Cancel& cancel;
  // for the error of a failed write, after which the file may hold half an envelope
  std::string leftover_hint;
  // Told what could not be removed: the copy after a complete change, or remains of making it.
  std::function<void(const std::string& what_why, const std::string& hint)> warn;
  std::function<void(const Output& copy)> copy_opened;
};

class PreambleFile {
 public:
  // Opens for writing and takes the lock. Throws Error(failure) if another process has it. Does not
  // follow a symbolic link in a folder that was given.
  PreambleFile(const FilePlace& place, PreambleChange change);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const FilePlace& place() const noexcept { return place_; }
  [[nodiscard]] const Cancel& cancel() const noexcept { return change_.cancel; }
  [[nodiscard]] const Input& input() const noexcept { return input_; }
  [[nodiscard]] const std::string& leftover_hint() const noexcept { return change_.leftover_hint; }
  // The name of the copy that an interrupted replace() left, or that this one makes.
  [[nodiscard]] const std::string& copy_name() const noexcept { return copy_.path; }
  [[nodiscard]] bool has_copy() const;

  // Whether the payload after `header` was made with `input_key`. Throws Error(corrupt) if the file
  // ends before its payload.
  [[nodiscard]] bool commits_to(const container::Header& header, Bytes input_key) const;

  // Copies, writes, syncs and removes the copy. `before` and `after` have the same length. Throws
  // Error only if the file does not hold `after`.
  void replace(Bytes before, Bytes after) const;

  // The copy that an interrupted replace() left, checked as far as possible without a key. Throws
  // Error(failure) if there is none, and Error(corrupt) if it is not complete.
  [[nodiscard]] Preamble read_leftover() const;

  // Writes and syncs the old bytes, then removes the copy.
  void put_back(Bytes before) const;

 private:
  void keep_copy(Bytes before) const;
  void write(Bytes preamble) const;
  void remove_copy() const;

  std::string name_;
  FilePlace place_;
  PreambleChange change_;
  Descriptor descriptor_;
  FilePlace copy_;     // in folder_
  Descriptor folder_;  // where the copy lies
  Input input_;
};

}  // namespace paes::stream
