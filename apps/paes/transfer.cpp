#include "paes/transfer.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "paes/command.hpp"
#include "paes/keyfile.hpp"
#include "paes/process.hpp"
#include "paes/progress.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

void run_one(const TransferOptions& options, WorkChooser& chooser, const Transfer& transfer,
             Outcome& outcome) {
  if (transfer.name_output) {
    outcome.output = options.output.empty() ? transfer.name_output(outcome.input) : options.output;
  }
  stream::Input input = outcome.input == "-" ? stream::Input::standard_input(&cancel())
                                             : stream::Input::open(outcome.input, &cancel());

  const std::optional<std::uint64_t> total =
      input.is_seekable() ? std::optional(input.bytes()) : std::nullopt;
  const Choice choice = chooser.for_input(total);
  outcome.device = choice.device_name();
  outcome.grain_bytes = choice.grain_bytes;
  const std::unique_ptr<Executor> executor = choice.executor_for(total);
  executor->start();
  ProgressMeter meter(!options.quiet && !options.no_progress, input.name(), total);
  run_timed(options, choice, *executor, meter.counter(), outcome,
            [&](const stream::Options& work_options) {
              return transfer.work(input, outcome.output, work_options);
            });
}

std::vector<Outcome> not_begun(const std::vector<std::string>& files) {
  std::vector<Outcome> outcomes;
  for (const std::string& file : files) {
    outcomes.emplace_back().input = file;
  }
  return outcomes;
}

// Prints one line for all files not begun. They are the last of the list.
void report_not_begun(const std::vector<Outcome>& outcomes) {
  const auto first = std::find_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return outcome.status == Status::not_begun;
  });
  if (first == outcomes.end()) {
    return;
  }
  const auto others = outcomes.end() - first - 1;
  print_error({ErrorCode::failure,
               shown_name(first->input) + ": interrupted: not begun" +
                   (others == 0   ? ""
                    : others == 1 ? ", nor the file after it"
                                  : fmt::format(", nor the {} files after it", others))});
}

int exit_code(const std::vector<Outcome>& outcomes) {
  if (std::all_of(outcomes.begin(), outcomes.end(),
                  [](const Outcome& o) { return o.status == Status::done; })) {
    return exit_done;
  }
  if (outcomes.size() > 1) {
    return exit_some_failed;
  }
  const std::optional<Error>& error = outcomes.front().error;
  return static_cast<int>(error ? error->code : ErrorCode::failure);
}

}  // namespace

void TransferOptions::declare_common(CLI::App& app, const std::string& schema) {
  device.declare(app);
  app.add_flag("-q,--quiet", quiet, "say nothing but errors and warnings");
  app.add_flag("-v,--verbose", verbose, "print kernel, threads, wall time and GB/s");
  app.add_flag("--no-progress", no_progress, "no progress line");
  app.add_flag("--json", json, "print JSON (docs/schema/" + schema + ".schema.json)");
}

void TransferOptions::declare_output(CLI::App& app) {
  app.add_option("-o,--output", output, "where to write; - is standard output")->type_name("FILE");
  app.add_flag("-f,--force", overwrite, "replace an output that exists; write to a terminal");
}

void TransferOptions::declare_resume(CLI::App& app) {
  app.add_flag("--resume", resume,
               "continue where an interrupted run with --resume stopped, and be able to again");
}

void settle(TransferOptions& options, bool has_output, unsigned other_uses) {
  if (options.files.empty()) {
    options.files.emplace_back("-");
  }
  const auto from_standard_input = std::count(options.files.begin(), options.files.end(), "-");
  const auto uses_of_files =
      std::count_if(options.files.begin(), options.files.end(),
                    [](const std::string& name) { return name == "-" || is_standard_input(name); });
  refuse_several_uses_of_standard_input(static_cast<unsigned>(uses_of_files) + other_uses);
  refuse(!options.output.empty() && options.files.size() > 1,
         "output: -o names one file, but there are several inputs",
         "leave -o out, or run paes once for each");
  const bool to_standard_output =
      has_output && (options.output == "-" || (options.output.empty() && from_standard_input != 0));
  refuse(options.json && to_standard_output,
         "output: --json and the output cannot share standard output", "name the output with -o");
}

std::string encrypted_name(const std::string& input) { return input == "-" ? "-" : input + suffix; }

std::string decrypted_name(const std::string& input) {
  if (input == "-") {
    return input;
  }
  const std::string_view ending = suffix;
  const std::size_t name_bytes = input.size() - (input.rfind('/') + 1);  // npos + 1 is 0
  refuse(!input.ends_with(ending) || name_bytes == ending.size(),
         input + ": has no suffix .paes to leave out", "name the output with -o");
  return input.substr(0, input.size() - ending.size());
}

int run_transfer(const TransferOptions& options, WorkChooser& chooser, const Transfer& transfer) {
  std::vector<Outcome> outcomes = not_begun(options.files);
  outcomes.front().grain_bytes = chooser.for_input(std::nullopt).grain_bytes;
  bool nobody_reads = false;
  for (Outcome& outcome : outcomes) {
    if (cancel().requested()) {
      break;
    }
    try {
      run_one(options, chooser, transfer, outcome);
      warn_of_leftover(outcome.input);
      if (options.verbose) {
        print_note(timing_of(outcome, chooser));
      }
    } catch (const ClosedOutput& error) {
      outcome.fail(about(outcome, error));
      nobody_reads = stop_for_closed_output();
      if (!nobody_reads) {
        print_error(*outcome.error);
      }
    } catch (...) {
      outcome.fail(with_leftover_hint(outcome.input, about(outcome, current_error())));
      if (transfer.more_of_failure) {
        transfer.more_of_failure(outcome.more);
      }
      print_error(*outcome.error);
    }
  }
  // If all output was for a reader who has gone, nobody misses the other files.
  if (transfer.name_output || !nobody_reads) {
    report_not_begun(outcomes);
  }
  if (options.verbose && secret_locking_fell_short()) {
    print_warning(
        "keys: the system did not lock all of them in memory (RLIMIT_MEMLOCK), so they "
        "could reach swap");
  }
  const int code = exit_code(outcomes);
  if (options.json) {
    ordered_json document = head_of_document(transfer.command, code, chooser, outcomes);
    if (transfer.more_members) {
      transfer.more_members(document);
    }
    document["files"] = to_json(outcomes);
    print_json(document);
  }
  return code;
}

void run_timed(const TransferOptions& options, const Choice& choice, const Executor& executor,
               std::atomic<std::uint64_t>* progress, Outcome& outcome,
               const std::function<stream::ResumedTotals(const stream::Options& options)>& work) {
  outcome.threads = executor.threads();
  const Clock::time_point start = Clock::now();
  const stream::ResumedTotals totals =
      work({.executor = executor,
            .kernel = choice.kernel,
            .grain_bytes = choice.grain_bytes,
            .cancel = &cancel(),
            .progress = progress,
            .device_use = {choice.device.get(), choice.when_busy}});
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.text_bytes = totals.text_bytes;
  if (options.resume) {
    outcome.more["resumed_bytes"] = totals.kept_text_bytes;
  }
  outcome.status = Status::done;
}

int run_with_files(const char* command, const TransferOptions& options,
                   const std::function<int()>& run) {
  try {
    return run();
  } catch (...) {
    if (options.json && !has_printed_json()) {
      ordered_json document = failure_document(command, current_error());
      document["files"] =
          to_json(not_begun(options.files.empty() ? std::vector<std::string>{"-"} : options.files));
      print_json(document);
    }
    throw;
  }
}

void start_threads(const TransferOptions& options, WorkChooser& chooser) {
  std::optional<std::uint64_t> largest = 0;
  for (const std::string& name : options.files) {
    struct stat status = {};
    if ((name == "-" ? fstat(STDIN_FILENO, &status) : stat(name.c_str(), &status)) != 0) {
      continue;  // opening it will say why
    }
    if (!S_ISREG(status.st_mode) || status.st_size == 0) {
      largest = std::nullopt;
    } else if (largest) {
      largest = std::max(*largest, static_cast<std::uint64_t>(status.st_size));
    }
  }
  chooser.for_input(largest).executor_for(largest)->start();
}

void refuse_terminal(const stream::Input& input) {
  refuse(input.is_terminal(), input.name() + ": is a terminal", "name the encrypted file");
}

bool is_resumable(const TransferOptions& options, const stream::Input& input,
                  const std::string& output) {
  if (!options.resume) {
    return false;
  }
  refuse(!input.is_regular(), input.name() + ": is no regular file, which --resume needs");
  refuse(output == "-", "standard output: is no regular file, which --resume needs",
         "name the output with -o");
  return input.is_seekable();
}

stream::OutputOptions output_options(const TransferOptions& options, const stream::Input& source,
                                     bool encrypts) {
  stream::OutputOptions made;
  made.overwrite = options.overwrite;
  made.is_named = !options.output.empty();
  made.permissions = encrypts ? stream::encrypted_mode(source) : stream::decrypted_mode(source);
  made.source = &source;
  made.cancel = &cancel();
  made.warn = print_warning;
  return made;
}

stream::Output create_output(const TransferOptions& options, const std::string& path,
                             const stream::Input& source, bool encrypts, bool resumable) {
  stream::OutputOptions made = output_options(options, source, encrypts);
  made.resumable = resumable;
  stream::Output output =
      path == "-" ? stream::Output::standard_output(made) : stream::Output::create(path, made);
  refuse(output.is_terminal() && !options.overwrite, output.name() + ": is a terminal",
         "name the output with -o, or force it with -f");
  warn_of_abandoned(output);
  return output;
}

void report_written(const TransferOptions& options, const stream::Output& output,
                    const stream::ResumedTotals& totals) {
  if (totals.kept_text_bytes != 0 && !options.quiet) {
    print_note(fmt::format("paes: {}: continued, {} of {} were done before", output.name(),
                           human_bytes(static_cast<double>(totals.kept_text_bytes)),
                           human_bytes(static_cast<double>(totals.text_bytes))));
  }
  if (!output.warning().empty()) {
    print_warning(output.warning());
  }
}

void report_verified(const TransferOptions& options, const std::string& name,
                     const stream::Verification& found) {
  require_authentic(name, found, !options.json);
  if (!options.quiet && !options.json) {
    print_result(
        fmt::format("{}: authentic, {} bytes\n", printable(name), found.extent.text_bytes));
  }
}

}  // namespace paes::cli
