// SPDX-License-Identifier: Apache-2.0
// `paes vault cat`: files of a vault on standard output, without a mount. Only authentic blocks
// leave the process.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/vault_ends.hpp"
#include "cli/vault_output.hpp"
#include "format/byte_range.hpp"
#include "stream/file/create_output.hpp"
#include "vault/vault_blocks.hpp"

namespace paes::cli {

namespace {

struct VaultCatCommand {
  VaultOptions vault;
  std::vector<std::string> paths;
  std::string range;
  unsigned threads = 0;
  bool force = false;
};

// Standard output behind what has been written to it already.
class AppendedSink final : public stream::Sink {
 public:
  AppendedSink(stream::Sink& sink, std::uint64_t begin) : sink_(sink), begin_(begin) {}

  [[nodiscard]] const std::string& name() const noexcept override { return sink_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return sink_.is_seekable(); }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override {
    sink_.write_at(begin_ + offset, from);
  }
  void stop_waiting() noexcept override { sink_.stop_waiting(); }

 private:
  stream::Sink& sink_;
  std::uint64_t begin_;
};

// The layout for a range of a text, of which no block is read that has nothing of it. Throws
// Error(usage) for a range that begins behind the end.
stream::Layout layout_of(const stream::Source& source, const std::optional<ByteRange>& range,
                         const stream::Work& work) {
  if (!range) {
    return plain_layout(source.bytes(), work);
  }
  refuse(range->first >= source.bytes(), source.name() + ": has " + std::to_string(source.bytes()) +
                                             " bytes, and the range begins behind them");
  const std::uint64_t end = std::min(source.bytes() - 1, range->last.value_or(UINT64_MAX)) + 1;
  const std::uint64_t begin = range->first / vault::block_bytes * vault::block_bytes;
  stream::Layout layout = plain_layout(end - begin, work);
  layout.in_offset = begin;
  layout.wanted = {range->first - begin, end - begin};
  return layout;
}

int print_files(const VaultCatCommand& command) {
  std::optional<ByteRange> range;
  if (!command.range.empty()) {
    refuse(command.paths.size() > 1, "range: goes with one PATH alone");
    range = parse_range(command.range);
  }
  VaultTree vault(command.vault);
  const std::unique_ptr<stream::Output> output =
      stream::standard_output({.cancel = &cancel(), .warn = print_warning});
  refuse(output->is_terminal() && !command.force, output->name() + ": is a terminal",
         "'paes vault get' writes to a file; -f shows it here");
  const VaultWork threads(command.threads);
  output->complete([&] {
    std::uint64_t written = 0;
    for (const std::string& path : command.paths) {
      const VaultEntry entry = vault.find(path);
      if (!entry.is_file()) {
        throw Error(ErrorCode::failure, entry.shown() + ": is no regular file");
      }
      VaultSource source(vault.volume(), entry);
      const stream::Work work = threads.for_text(source.bytes(), nullptr);
      AppendedSink sink(*output, written);
      written += move_text(source, sink, layout_of(source, range, work), work);
    }
    return written;
  });
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultCatCommand>();
  command->vault.declare(app);
  app.add_option("PATH", command->paths, "files, named as in the vault")->required();
  app.add_option("--range", command->range,
                 "only these bytes of the file, FIRST-LAST or FIRST-, counted from 0, both ends "
                 "included")
      ->type_name("FIRST-LAST");
  declare_threads(app, command->threads);
  app.add_flag("-f,--force", command->force, "write to a terminal, too");
  return [command] { return print_files(*command); };
}

}  // namespace

extern const Command vault_command_cat = {"cat", "write files of a vault to standard output",
                                          declare};

}  // namespace paes::cli
