// SPDX-License-Identifier: Apache-2.0
// What encrypt, decrypt, verify and cipher share: the options, the one file that all ranks work on,
// the timing between two barriers, and the report of rank 0.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/file_transfer.hpp"
#include "cli/key_options.hpp"
#include "cli/work_options.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/shared_file.hpp"
#include "stream/resume/resume.hpp"

namespace paes::cli {

struct JobOptions {
  TransferOptions transfer;
  std::string file;
  std::string access = "posix";

  void declare(CLI::App& app);
  void declare_output(CLI::App& app);
  [[nodiscard]] mpi::FileAccess file_access() const;
  [[nodiscard]] std::string output_or(const std::string& name) const {
    return transfer.output.empty() ? name : transfer.output;
  }
};

// One file's work on one rank. Gives back the plaintext bytes of the whole file, and with --resume
// how many of them an earlier run had done.
using JobWork = std::function<stream::Totals(mpi::SharedInput& input, const std::string& output,
                                             const stream::Work& work)>;

struct MpiJob {
  const char* command;
  std::string output;  // empty: none
  JobWork work;
  std::function<void(nlohmann::ordered_json& document)> more_members = nullptr;
  std::function<void(nlohmann::ordered_json& file)> more_of_failure = nullptr;
};

// Refuses pipes, and more than one use of rank 0's standard input, with the same Error(usage) on
// all ranks. Then sets each rank's share of its machine.
void settle(JobOptions& options, unsigned other_uses);

// Runs a command from its options on, as run_with_files does.
[[nodiscard]] int run_with_file(const char* command, JobOptions& options,
                                const std::function<int()>& run);

// Collective. Makes each rank's WorkChooser from the options.
[[nodiscard]] WorkChooser choose_work(const JobOptions& options, const CipherName& cipher,
                                      const std::string& why_cpu_alone = "");

// Collective. Runs the job and gives back the exit code; what the ranks agree has failed is
// reported, not thrown.
[[nodiscard]] int run_job(const JobOptions& options, WorkChooser& chooser, const MpiJob& job);

// Collective. Whether --resume was asked for and means anything for this file. Throws AgreedError
// if it was asked for but is impossible.
[[nodiscard]] bool is_resumable_job(const JobOptions& options, const mpi::SharedInput& input,
                                    const std::string& output);

// Collective: what rank 0 finds in a container, the header and the key that the envelope holds.
// `unlocker` is there on rank 0 alone.
[[nodiscard]] mpi::SharedHeader open_envelope(std::optional<Unlocker>& unlocker,
                                              mpi::SharedInput& input);

// The output of a run without --resume.
struct JobOutput : mpi::SharedOutput {
  // Collective.
  JobOutput(const JobOptions& options, const std::string& path, const mpi::SharedInput& input,
            bool encrypts);
  // On rank 0, when it is complete.
  void report(const JobOptions& options) const;
};

}  // namespace paes::cli
