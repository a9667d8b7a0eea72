// SPDX-License-Identifier: Apache-2.0
#include "cli/file_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/process.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "exec/schedule/schedule.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/temporary.hpp"

namespace paes::cli {

namespace {

// Several threads on one file pay only if each gets many pieces. A thread alone takes a few
// milliseconds for a file of this many.
constexpr std::uint64_t pieces_of_a_small_file = 32;

// Calls `look` with the input's place, unless its folder has gone.
template <typename Look>
void in_its_folder(const Outcome& outcome, const Look& look) {
  if (!outcome.was_found()) {
    look(stream::FilePlace(outcome.input));
    return;
  }
  const stream::OpenFolder folder =
      outcome.place.tree->folder(outcome.place.folder_of(outcome.input));
  if (folder != nullptr) {
    look(stream::FilePlace(outcome.input, folder));
  }
}

// Another run's output has its name only for a while. A file of such a name that nobody writes is
// the user's, or what a run left that was killed: it may hold plain text.
// A payload alone is encrypted, and only its name tells.
void skip_unless_plain(Outcome& outcome, stream::Input& input) {
  const stream::FileFormat* const named = format_of_name(outcome.input);
  if (stream::is_temporary_name(stream::last_name(outcome.input)) &&
      stream::is_locked_temporary(input.descriptor())) {
    outcome.skip(SkipReason::unfinished);
  } else if ((named != nullptr && named->is_bare()) || stream::has_whole_head(input)) {
    outcome.skip(SkipReason::encrypted);
  }
}

}  // namespace

FileRun::FileRun(const TransferOptions& options, WorkChooser& chooser, const Transfer& transfer,
                 std::vector<Outcome>& outcomes)
    : options_(options),
      chooser_(chooser),
      transfer_(transfer),
      outcomes_(outcomes),
      has_ended_(outcomes.size()) {}

void FileRun::run() {
  Files files;
  std::optional<std::uint64_t> total_bytes = 0;
  for (Outcome& outcome : outcomes_) {
    if (outcome.status == Status::not_begun) {
      files.push_back(&outcome);
      total_bytes = total_bytes && outcome.listed_bytes
                        ? std::optional(*total_bytes + *outcome.listed_bytes)
                        : std::nullopt;
      continue;
    }
    if (outcome.error) {
      fail(outcome, *outcome.error);
    }
    end(outcome);
  }
  if (outcomes_.size() == 1) {
    for (Outcome* const file : files) {
      run_alone(*file);
    }
    return report_not_begun();
  }
  const std::size_t ended_before = ended_;
  ProgressMeter meter(
      !options_.quiet && !options_.no_progress,
      [&, count = files.size()] {
        return fmt::format("file {} of {}", std::min(ended_ - ended_before + 1, count), count);
      },
      total_bytes);
  meter_ = &meter;
  const auto is_regular = [](const Outcome* file) { return file->listed_bytes.has_value(); };
  for (auto next = files.begin(); next != files.end() && !cancel().requested();) {
    if (!is_regular(*next)) {
      run_alone(**next++);
      continue;
    }
    const auto end = std::find_if_not(next, files.end(), is_regular);
    run_regular({next, end});
    next = end;
  }
  commits_.commit_all();
  meter_ = nullptr;
  report_not_begun();
}

void FileRun::run_regular(const Files& files) {
  const stream::Work work = chooser_.for_input(0);
  Files large;
  Files small;
  for (Outcome* const file : files) {
    const bool is_small = work.device_use.device == nullptr && !options_.resume &&
                          *file->listed_bytes <= pieces_of_a_small_file * work.piece_bytes;
    (is_small ? small : large).push_back(file);
  }
  if (!small.empty()) {
    run_at_the_same_time(small, work);
  }
  for (Outcome* const file : large) {
    if (!cancel().requested()) {
      run_alone(*file);
    }
  }
}

void FileRun::run_at_the_same_time(const Files& files, stream::Work work) {
  const std::unique_ptr<Executor> executor =
      make_executor(chooser_.schedule(),
                    static_cast<unsigned>(std::min<std::size_t>(files.size(), chooser_.threads())));
  executor->start();
  const SecretPagesKept kept;
  const stream::UmaskKept same_umask;
  std::optional<stream::Layout> layout;
  std::optional<stream::BufferPool> buffers;
  if (transfer_.layout != nullptr) {
    layout = transfer_.layout(work);
    work.buffers = &buffers.emplace(*layout);
  }
  work.progress = meter_->counter();
  std::atomic<std::size_t> next{0};
  executor->on_each_thread([&](unsigned) {
    for (std::size_t i = next++; i < files.size() && !cancel().requested(); i = next++) {
      Outcome& outcome = *files[i];
      attempt(outcome, [&] {
        std::optional<OpenedFile> file = open(outcome);
        return !file || work_on(outcome, *file, work, true);
      });
    }
  });
}

void FileRun::run_alone(Outcome& outcome) {
  attempt(outcome, [&] {
    std::optional<OpenedFile> file = open(outcome);
    if (!file) {
      return true;
    }
    stream::Input* const input = &file->input;
    const std::optional<std::uint64_t> total =
        input->is_seekable() ? std::optional(input->bytes()) : std::nullopt;
    const std::optional<std::uint64_t> expected = total ? total : options_.expected_bytes;
    const stream::FileFormat* const format =
        transfer_.takes == InputKind::encrypted ? stream::format_of(*input) : nullptr;
    const bool is_for_cpu = format != nullptr && *format->why_cpu_alone != '\0';
    stream::Work work = is_for_cpu ? chooser_.cpu() : chooser_.for_input(expected);
    const std::unique_ptr<Executor> executor = chooser_.start_threads(work, total);
    std::optional<ProgressMeter> own_meter;
    if (meter_ == nullptr) {
      own_meter.emplace(!options_.quiet && !options_.no_progress, input->name(), expected);
    }
    work.progress = (meter_ != nullptr ? *meter_ : *own_meter).counter();
    return work_on(outcome, *file, work, false);
  });
}

void FileRun::attempt(Outcome& outcome, const std::function<bool()>& work) {
  try {
    if (!work()) {
      return;  // from here on another thread may end this outcome
    }
    report_done(outcome);
  } catch (const ClosedOutput& error) {
    fail_closed(outcome, about(outcome, error));
  } catch (...) {
    Error error = about(outcome, current_error());
    in_its_folder(outcome,
                  [&](const stream::FilePlace& file) { error = with_leftover_hint(file, error); });
    if (error.code == ErrorCode::failure && !is_missed()) {
      outcome.fail(error);  // this thread was stopped, because another found that nobody reads
    } else {
      fail(outcome, error);
    }
  }
  end(outcome);
}

std::optional<FileRun::OpenedFile> FileRun::open(Outcome& outcome) const {
  if (outcome.input == "-") {
    return OpenedFile{stream::Input::standard_input(&cancel()), {}, {}};
  }
  const bool is_elsewhere = outcome.output_place.tree != outcome.place.tree;
  const auto output_folder = [&] {
    return is_elsewhere ? outcome.output_place.folder(outcome.output) : nullptr;
  };
  if (!outcome.was_found()) {
    stream::Input input = stream::Input::open(outcome.input, &cancel());
    return OpenedFile{std::move(input), {}, output_folder()};
  }
  stream::OpenFolder folder = outcome.place.folder(outcome.input);
  std::optional<stream::Input> input =
      stream::Input::open_regular({outcome.input, folder}, &cancel());
  if (!input) {
    outcome.skip(SkipReason::not_regular);
  } else if (transfer_.takes == InputKind::plain) {
    skip_unless_plain(outcome, *input);
  }
  if (outcome.status == Status::skipped) {
    return std::nullopt;
  }
  return OpenedFile{std::move(*input), std::move(folder), output_folder()};
}

bool FileRun::work_on(Outcome& outcome, OpenedFile& file, const stream::Work& work,
                      bool is_grouped) {
  const stream::FilePlace output(outcome.output,
                                 file.output_folder != nullptr ? file.output_folder : file.folder);
  std::unique_ptr<stream::Output> unnamed;
  run_timed(options_, work, outcome, [&] {
    WrittenOutput written = transfer_.work({file.input, output, work, is_grouped, outcome});
    unnamed = std::move(written.unnamed);
    return written.totals;
  });
  if (!unnamed) {
    return true;
  }
  commit_later(outcome, std::move(unnamed));
  return false;
}

void FileRun::commit_later(Outcome& outcome, std::unique_ptr<stream::Output> output) {
  outcome.status = Status::not_begun;  // until the output has its name
  const std::uint64_t bytes = outcome.text_bytes;
  commits_.add(std::move(output), bytes,
               [this, &outcome](const stream::Output& named, const std::optional<Error>& error) {
                 if (named.has_its_name() && transfer_.has_named) {
                   transfer_.has_named();
                 }
                 if (!named.warning().empty()) {
                   print_warning(named.warning());
                 }
                 if (error) {
                   fail(outcome, about(outcome, *error));
                 } else {
                   outcome.status = Status::done;
                   report_done(outcome);
                 }
                 end(outcome);
               });
}

void FileRun::fail(Outcome& outcome, const Error& error) {
  outcome.fail(error);
  print_error(error);
}

// Nobody reads standard output any more. That ends the run, as it ends a filter.
void FileRun::fail_closed(Outcome& outcome, const Error& error) {
  outcome.fail(error);
  if (!stop_for_closed_output()) {
    print_error(error);
  }
}

void FileRun::report_done(const Outcome& outcome) const {
  if (outcome.may_have_leftover) {
    in_its_folder(outcome, warn_of_leftover);
  }
  if (options_.verbose && outcome.status == Status::done) {
    print_note(timing_of(outcome, chooser_));
  }
}

void FileRun::end(Outcome& outcome) {
  ++ended_;
  const std::lock_guard lock(results_mutex_);
  has_ended_[static_cast<std::size_t>(&outcome - outcomes_.data())] = true;
  print_results();
}

// Results are printed in the order of the files, so one that ends early waits for those before it.
void FileRun::print_results() {
  while (next_result_ < outcomes_.size() && has_ended_[next_result_]) {
    Outcome& outcome = outcomes_[next_result_++];
    try {
      if (!outcome.result.empty()) {
        print_result(std::exchange(outcome.result, {}));
      }
    } catch (const ClosedOutput& error) {
      fail_closed(outcome, about(outcome, error));
    } catch (...) {
      fail(outcome, about(outcome, current_error()));
    }
  }
}

bool FileRun::is_missed() const {
  return transfer_.name_output || !has_stopped_for_closed_output();
}

void FileRun::report_not_begun() const {
  if (is_missed()) {
    cli::report_not_begun(outcomes_);
  }
}

int run_transfer(const TransferOptions& options, WorkChooser& chooser, const Transfer& transfer,
                 FileList list) {
  std::vector<Outcome>& outcomes = list.files;
  const std::size_t piece_bytes = chooser.for_input(std::nullopt).piece_bytes;
  if (!options.inputs.output_folder.empty()) {
    list.folders.make(outcomes);
  }
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  FileRun(options, chooser, transfer, outcomes).run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Counts counts = count(outcomes);
  if ((options.inputs.are_listed() || !options.inputs.output_folder.empty()) && !options.quiet) {
    print_note(summary_of(transfer.command, counts, seconds));
  }
  if (options.verbose && secret_locking_fell_short()) {
    print_warning(
        "keys: the system did not lock all of them in memory (RLIMIT_MEMLOCK), so they "
        "could reach swap");
  }
  const int code = exit_code_of(outcomes);
  if (options.json) {
    nlohmann::ordered_json document =
        head_of_document(transfer.command, code, chooser, outcomes, piece_bytes);
    if (transfer.more_members) {
      transfer.more_members(document);
    }
    document["counts"] = to_json(counts);
    document["files"] = to_json(outcomes);
    print_json(document);
  }
  return code;
}

}  // namespace paes::cli
