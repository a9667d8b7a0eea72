// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "cli/shown_text.hpp"
#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/file/create_output.hpp"

namespace paes::cli {

namespace {

constexpr std::uint64_t max_text_bytes = std::uint64_t{64} << 20;
constexpr const char* when_refused = "force it with \"-o -\"";

bool is_text(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (bytes == 0 || (is_control && code != '\n' && code != '\r' && code != '\t')) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

void refuse_too_much(std::uint64_t bytes) {
  if (bytes > max_text_bytes) {
    throw Error(ErrorCode::failure, "refusing to output more than 64 MiB to the terminal",
                when_refused);
  }
}

}  // namespace

TerminalText::TerminalText(const stream::OutputOptions& options)
    : Output("standard output", options), options_(options) {}

int TerminalText::descriptor() const noexcept { return STDOUT_FILENO; }

void TerminalText::write_at(std::uint64_t offset, std::span<const iovec> from) {
  const std::lock_guard turn(mutex_);
  for (const iovec& part : from) {
    refuse_too_much(offset + part.iov_len);
    if (text_.size() < offset + part.iov_len) {
      // A vector that grows leaves its old memory as it was.
      std::vector<std::uint8_t> larger(std::max(2 * text_.size(), offset + part.iov_len));
      std::copy(text_.begin(), text_.end(), larger.begin());
      text_.swap(larger);
      wipe(larger);
    }
    const auto* const bytes = static_cast<const std::uint8_t*>(part.iov_base);
    std::copy_n(bytes, part.iov_len, text_.begin() + static_cast<std::ptrdiff_t>(offset));
    offset += part.iov_len;
  }
}

void TerminalText::commit(std::uint64_t bytes) {
  refuse_too_much(bytes);
  if (text_.size() < bytes) {
    text_.resize(bytes);  // zeros, which were never written
  }
  const Bytes text = Bytes(text_).first(bytes);
  if (!is_text({reinterpret_cast<const char*>(text.data()), text.size()})) {
    throw Error(ErrorCode::failure, "refusing to output binary to the terminal", when_refused);
  }
  const std::unique_ptr<Output> terminal = stream::standard_output(options_);
  terminal->write(text);
  terminal->commit(bytes);
}

void TerminalText::discard() noexcept {
  wipe(text_);
  text_.clear();
}

void TerminalText::look_for_room(const stream::Need& need) const { refuse_too_much(need.bytes); }

}  // namespace paes::cli
