// SPDX-License-Identifier: Apache-2.0
// A text that goes to the terminal, whole or not at all.
#pragma once

#include <mutex>
#include <vector>

#include "stream/file/output.hpp"

namespace paes::cli {

// Keeps in memory what is written, and shows it when it is complete. Refuses what is no text: a
// terminal obeys control characters. The standard output must be a terminal.
class TerminalText final : public stream::Output {
 public:
  explicit TerminalText(const stream::OutputOptions& options);
  ~TerminalText() override { TerminalText::discard(); }

  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] int descriptor() const noexcept override;
  using Output::write_at;
  // Throws Error(failure) beyond 64 MiB.
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  // Throws Error(failure) if it is no text.
  void commit(std::uint64_t bytes) override;
  void discard() noexcept override;

 private:
  void look_for_room(const stream::Need& need) const override;

  stream::OutputOptions options_;
  std::mutex mutex_;
  std::vector<std::uint8_t> text_;
};

}  // namespace paes::cli
