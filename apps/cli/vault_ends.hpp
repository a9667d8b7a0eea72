// SPDX-License-Identifier: Apache-2.0
// Files of a vault as the ends of a transfer: what is read from them is authentic, and what is
// written to them is sealed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/vault_tree.hpp"
#include "stream/transfer/ends.hpp"
#include "stream/transfer/layout.hpp"
#include "stream/transfer/transfer.hpp"
#include "stream/transfer/work.hpp"
#include "volume/change/writable_file.hpp"
#include "volume/read/volume_file.hpp"

namespace paes::cli {

class VaultSource final : public stream::Source {
 public:
  // `entry` is a regular file. Throws Error if it cannot be opened.
  VaultSource(const volume::Volume& volume, const VaultEntry& entry);

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] const struct stat& status() const noexcept { return opened_; }
  using Source::read_at;
  // Throws Error(corrupt) for what is not authentic.
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  void check_unchanged() const override;

 private:
  [[nodiscard]] static Descriptor open(const volume::Volume& volume, const VaultEntry& entry);
  [[nodiscard]] bool has_changed() const;

  std::string path_;
  mutable MetDamage met_;
  volume::Volume volume_;
  volume::File file_;
  struct stat opened_ = {};
  std::uint64_t bytes_ = 0;
};

// A new file, which is written in order.
class VaultSink final : public stream::Sink {
 public:
  // `file` outlives this. With `keeps_holes`, whole blocks of zeros become holes.
  VaultSink(volume::WritableFile& file, std::string path, bool keeps_holes)
      : file_(file), path_(std::move(path)), keeps_holes_(keeps_holes) {}

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return false; }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  // After the last byte.
  void finish();

 private:
  void write(std::uint64_t offset, Bytes text);

  volume::WritableFile& file_;
  std::string path_;
  bool keeps_holes_;
  std::uint64_t end_ = 0;      // behind what was given to write_at
  std::uint64_t written_ = 0;  // behind what was written
};

// How a text goes from one end to the other as it is. `bytes` is nothing for a pipe.
[[nodiscard]] stream::Layout plain_layout(std::optional<std::uint64_t> bytes,
                                          const stream::Work& work);
// Moves the wanted part of the source. The answer is how many bytes that was.
std::uint64_t move_text(stream::Source& source, stream::Sink& sink, const stream::Layout& layout,
                        const stream::Work& work);

}  // namespace paes::cli
