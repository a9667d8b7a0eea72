// SPDX-License-Identifier: Apache-2.0
// `paes-mpi-bench file`: all ranks together write, read and authenticate a container, under a key
// that nobody keeps. Opening and syncing are included.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <optional>

#include "cli/outcome.hpp"
#include "core/secret.hpp"
#include "kernel/registry.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/together.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/place.hpp"
#include "paes-bench/statistics.hpp"
#include "paes-mpi-bench/mpi_bench_commands.hpp"
#include "paes-mpi-bench/runs.hpp"
#include "paes-mpi/ranks.hpp"
#include "stream/container/preamble.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

struct FileOptions : RunOptions {
  std::string folder;
  std::string access = "posix";

  using RunOptions::RunOptions;
};

// Encrypts, verifies and decrypts one file of this size as often as the options say.
class FileRuns {
 public:
  FileRuns(const FileOptions& options, std::uint64_t bytes)
      : options_(options),
        bytes_(bytes),
        access_(options.access == "mpi" ? mpi::FileAccess::mpi : mpi::FileAccess::posix),
        executor_(make_rank_executor(options)) {
    std::array<char, 1024> folder = {};
    mpi::together(ranks(), [&] {
      kernel_ = &find_kernel(find_cipher_name("aes-256-gcm"), options.kernel);
      if (ranks().is_first()) {
        make_files(folder);
      }
    });
    ranks().broadcast({reinterpret_cast<std::uint8_t*>(folder.data()), folder.size()});
    folder_ = folder.data();
  }

  std::vector<ordered_json> run() {
    std::vector<double> encrypt;
    std::vector<double> decrypt;
    std::vector<double> verify;
    for (unsigned run = 0; run < options_.runs; ++run) {
      encrypt.push_back(seconds_of_all([&] { this->encrypt(); }));
      verify.push_back(seconds_of_all([&] { this->verify(); }));
      decrypt.push_back(seconds_of_all([&] { this->decrypt(); }));
      if (run == 0) {
        on_first([&] { require_equal_files(path("back"), path("text"), "paes-mpi"); });
      }
      on_first([&] {
        std::filesystem::remove(path("sealed"));
        std::filesystem::remove(path("back"));
      });
    }
    return {row("encrypt", encrypt), row("decrypt", decrypt), row("verify", verify)};
  }

 private:
  static constexpr auto suite = container::Suite::cobblestone_256;

  [[nodiscard]] std::string path(const char* name) const { return folder_ + "/" + name; }
  [[nodiscard]] stream::Work work_options() const { return {*executor_, *kernel_}; }

  // On rank 0.
  void make_files(std::array<char, 1024>& folder) {
    const MeasuredPlace place = find_place(options_.folder);
    filesystem_ = place.filesystem;
    // For text, ciphertext and text again.
    if (place.room_bytes / 3 < bytes_) {
      throw Error(ErrorCode::failure,
                  place.folder + ": has no room for three files of " + exact_bytes(bytes_));
    }
    scratch_.emplace(std::filesystem::absolute(place.folder).string());
    if (scratch_->folder().size() >= folder.size()) {
      throw Error(ErrorCode::usage, place.folder + ": the name is too long");
    }
    scratch_->folder().copy(folder.data(), folder.size() - 1);
    write_random_file(scratch_->path("text"), bytes_);
    key_ = SecretBytes(container::key_bytes(suite));
    random_bytes(key_);
  }

  // Replaces an envelope: this container is opened with the key in memory.
  [[nodiscard]] SecretBytes key() const {
    return ranks().is_first() ? SecretBytes(Bytes(key_)) : SecretBytes();
  }

  void encrypt() {
    mpi::SharedInput input(ranks(), path("text"), access_);
    mpi::SharedOutput output(ranks(), path("sealed"), {}, access_);
    (void)mpi::encrypt(ranks(), input, output,
                       {{suite}, std::vector<std::uint8_t>(envelope_bytes), key()}, work_options());
  }

  [[nodiscard]] mpi::SharedHeader open(mpi::SharedInput& input) const {
    mpi::SharedHeader opened;
    on_first([&] { opened = {stream::read_preamble(input.here()).header, key()}; });
    return opened;
  }

  void decrypt() {
    mpi::SharedInput input(ranks(), path("sealed"), access_);
    mpi::SharedOutput output(ranks(), path("back"), {}, access_);
    (void)mpi::decrypt(ranks(), input, output, open(input), work_options());
  }

  void verify() {
    mpi::SharedInput input(ranks(), path("sealed"), access_);
    const stream::Verification found = mpi::verify(ranks(), input, open(input), work_options());
    mpi::together(ranks(), [&] { require_authentic(input.name(), found, true); });
  }

  [[nodiscard]] ordered_json row(const char* direction, const std::vector<double>& seconds) const {
    return {{"direction", direction},
            {"kernel", kernel_->name},
            {"threads", executor_->threads()},
            {"bytes", bytes_},
            {"runs", options_.runs},
            {"access", options_.access},
            {"filesystem", filesystem_},
            {"seconds", summary_of(seconds)},
            {"gb_per_s", gb_per_s(bytes_, median(seconds))}};
  }

  static constexpr std::size_t envelope_bytes = 200;

  const FileOptions& options_;
  std::uint64_t bytes_;
  mpi::FileAccess access_;
  std::unique_ptr<Executor> executor_;
  const Kernel* kernel_ = nullptr;
  std::string folder_;
  std::string filesystem_;
  std::optional<ScratchFolder> scratch_;  // on rank 0
  SecretBytes key_;                       // on rank 0
};

int run(const FileOptions& options) {
  std::vector<ordered_json> rows;
  for (const std::uint64_t bytes : options.bytes) {
    for (ordered_json& row : FileRuns(options, bytes).run()) {
      rows.push_back(std::move(row));
    }
  }
  print_rows(options, "bench file", rows, [](const ordered_json& row) {
    return fmt::format("{} of {} on {}, {} threads a rank: {:.3f} s, {:.2f} GB/s",
                       row["direction"].get<std::string>(),
                       exact_bytes(row["bytes"].get<std::uint64_t>()),
                       row["filesystem"].get<std::string>(), row["threads"].get<unsigned>(),
                       row["seconds"]["median"].get<double>(), row["gb_per_s"].get<double>());
  });
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto options = std::make_shared<FileOptions>(std::uint64_t{1} << 30);
  app.add_option("--dir", options->folder,
                 "a folder that all ranks share; the default is memory (/dev/shm) if it has room, "
                 "else TMPDIR");
  app.add_option("--access", options->access, "posix (the default) or mpi")
      ->check(CLI::IsMember({"posix", "mpi"}));
  options->declare_runs(app, "bytes of the file (the default is 1GiB)");
  return [options] { return run(*options); };
}

}  // namespace

const Command mpi_bench_command_file = {"file", "encrypt, decrypt and verify a file of all ranks",
                                        declare};

}  // namespace paes::cli
