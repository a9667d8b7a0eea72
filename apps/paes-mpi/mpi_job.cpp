// SPDX-License-Identifier: Apache-2.0
#include "paes-mpi/mpi_job.hpp"

#include <CLI/CLI.hpp>
#include <optional>

#include "cli/keyfile.hpp"
#include "cli/option_list.hpp"
#include "cli/process.hpp"
#include "cli/progress.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "core/current_error.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

void run_together(const JobOptions& options, WorkChooser& chooser, const MpiJob& job,
                  Outcome& outcome) {
  mpi::Communicator& all = ranks();
  mpi::SharedInput input(all, options.file, options.file_access());
  const std::uint64_t own_bytes =
      mpi::share_of_groups(input.bytes(), mpi::least_share_bytes, all.ranks(), all.rank()).count();
  std::optional<stream::Work> work;
  std::unique_ptr<Executor> executor;
  mpi::together(all, [&] {
    work.emplace(chooser.for_input(own_bytes));
    executor = chooser.start_threads(*work, own_bytes);
  });
  ProgressMeter meter(all.is_first() && !options.transfer.quiet && !options.transfer.no_progress,
                      input.name(), input.bytes());
  work->progress = meter.counter();
  all.barrier();
  run_timed(options.transfer, *work, outcome, [&] {
    const stream::Totals totals = job.work(input, job.output, *work);
    all.barrier();
    return totals;
  });
}

ordered_json to_json(const JobOptions& options, const WorkChooser& chooser, const MpiJob& job,
                     const Outcome& outcome, int code) {
  ordered_json document =
      head_of_document(job.command, code, chooser, {outcome}, outcome.piece_bytes);
  document["mpi"] = {{"library", mpi::Communicator::library()},
                     {"ranks", ranks().ranks()},
                     {"access", options.access}};
  if (job.more_members) {
    job.more_members(document);
  }
  document["counts"] = to_json(count({outcome}));
  document["files"] = to_json(std::vector<Outcome>{outcome});
  return document;
}

}  // namespace

void JobOptions::declare(CLI::App& app) {
  const std::vector<std::string> accesses = {"posix", "mpi"};
  transfer.declare_common(app, "transfer");
  app.get_option("--threads")
      ->description("threads of each rank; 0, the default, is its share of the processors");
  app.add_option("--access", access,
                 "how ranks reach the file: posix, a file system that all hosts have mounted, or "
                 "mpi, whatever the MPI library reaches")
      ->type_name(join_choices(accesses))
      ->capture_default_str()
      ->check(CLI::IsMember(accesses).description(""));
  app.add_option("FILE", file, "the file, which every rank must see under this name")->required();
}

// The texts of paes mention pipes and terminals, which ranks do not have.
void JobOptions::declare_output(CLI::App& app) {
  transfer.declare_output(app);
  app.get_option("--output")
      ->description("where to write, which every rank must see under this name");
  app.get_option("--force")->description("replace an output that exists");
}

mpi::FileAccess JobOptions::file_access() const {
  return access == "mpi" ? mpi::FileAccess::mpi : mpi::FileAccess::posix;
}

void settle(JobOptions& options, unsigned other_uses) {
  on_first([&] {
    refuse(options.file == "-" || options.transfer.output == "-",
           "standard input and output: ranks cannot share them", "name files, or use paes");
    refuse_several_uses_of_standard_input(other_uses);
  });
  options.transfer.device.share_machine(own_processors(), ranks().local_rank());
}

int run_with_file(const char* command, JobOptions& options, const std::function<int()>& run) {
  options.transfer.files = {options.file};
  return run_with_files(command, options.transfer, run);
}

WorkChooser choose_work(const JobOptions& options, const CipherName& cipher,
                        const std::string& why_cpu_alone) {
  std::optional<WorkChooser> chooser;
  mpi::together(ranks(), [&] {
    chooser.emplace(
        options.transfer.device.choose(cipher, why_cpu_alone, options.transfer.notes()));
  });
  return std::move(*chooser);
}

int run_job(const JobOptions& options, WorkChooser& chooser, const MpiJob& job) {
  Outcome outcome;
  outcome.input = options.file;
  outcome.output = job.output;
  outcome.piece_bytes = chooser.for_input(std::nullopt).piece_bytes;
  try {
    run_together(options, chooser, job, outcome);
    warn_of_leftover(options.file);
    if (options.transfer.verbose) {
      print_note(timing_of(outcome, chooser));
    }
  } catch (const mpi::AgreedError& error) {
    outcome.fail(with_leftover_hint(options.file, about(outcome, error)));
    if (job.more_of_failure) {
      job.more_of_failure(outcome.more);
    }
    print_error(*outcome.error);
  } catch (...) {
    // Only this rank knows of the error, so the whole job ends.
    const Error error = about(outcome, current_error());
    outcome.fail(error);
    if (options.transfer.json) {
      print_json(to_json(options, chooser, job, outcome, static_cast<int>(error.code)));
    }
    throw;
  }
  const int code = outcome.error ? static_cast<int>(outcome.error->code) : exit_done;
  if (options.transfer.json) {
    on_first([&] { print_json(to_json(options, chooser, job, outcome, code)); });
  }
  return code;
}

bool is_resumable_job(const JobOptions& options, const mpi::SharedInput& input,
                      const std::string& output) {
  bool resumable = false;
  on_first([&] {
    refuse(options.transfer.resume && options.file_access() != mpi::FileAccess::posix,
           "resume: needs --access posix");
    resumable = is_resumable(options.transfer, input.here(), output);
  });
  mpi::broadcast(ranks(), resumable);
  return resumable;
}

mpi::SharedHeader open_envelope(std::optional<Unlocker>& unlocker, mpi::SharedInput& input) {
  mpi::SharedHeader opened;
  on_first([&] {
    const stream::Preamble preamble = stream::read_preamble(input.here());
    opened = {preamble.header, unlocker->open(preamble.envelope()).take_plaintext()};
  });
  return opened;
}

JobOutput::JobOutput(const JobOptions& options, const std::string& path,
                     const mpi::SharedInput& input, bool encrypts)
    : SharedOutput(ranks(), path,
                   ranks().is_first() ? output_options(options.transfer, input.here(), encrypts)
                                      : stream::OutputOptions(),
                   options.file_access()) {
  if (made() != nullptr) {
    warn_of_abandoned(*made());
  }
}

void JobOutput::report(const JobOptions& options) const {
  if (made() != nullptr) {
    report_written(options.transfer, *made(), {});
  }
}

}  // namespace paes::cli
