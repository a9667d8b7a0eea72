// SPDX-License-Identifier: Apache-2.0
// Takes the files of a command. Small files go to the threads one by one, so that several are
// worked on at a time, and their outputs are synced in groups. For a large file, all threads work
// on it. What may wait for another process (pipes, devices) stays in the order of the command line.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cli/file_transfer.hpp"
#include "cli/progress.hpp"
#include "core/descriptor.hpp"
#include "stream/file/group_commit.hpp"

namespace paes::cli {

class FileRun {
 public:
  // All of them must outlive it.
  FileRun(const TransferOptions& options, WorkChooser& chooser, const Transfer& transfer,
          std::vector<Outcome>& outcomes);
  FileRun(const FileRun&) = delete;
  FileRun& operator=(const FileRun&) = delete;

  // Notes in each outcome what came of it. Failures are printed, not thrown.
  void run();

 private:
  using Files = std::vector<Outcome*>;

  // An input, and the folders in which its names and its output's are looked up. Both are null for
  // a file that was named, unless its output lies below that of --output-dir.
  struct OpenedFile {
    stream::Input input;
    stream::OpenFolder folder;
    stream::OpenFolder output_folder;  // null if it is the same
  };

  void run_regular(const Files& files);
  void run_at_the_same_time(const Files& files, stream::Work work);
  void run_alone(Outcome& outcome);
  // Runs `work`, which may throw, and notes a failure. `work` returns false if it has left the
  // outcome to the group of the file.
  void attempt(Outcome& outcome, const std::function<bool()>& work);
  [[nodiscard]] bool work_on(Outcome& outcome, OpenedFile& file, const stream::Work& work,
                             bool is_grouped);
  // Nothing if it was skipped.
  [[nodiscard]] std::optional<OpenedFile> open(Outcome& outcome) const;
  void commit_later(Outcome& outcome, std::unique_ptr<stream::Output> output);
  void fail(Outcome& outcome, const Error& error);
  void fail_closed(Outcome& outcome, const Error& error);
  void report_done(const Outcome& outcome) const;
  // The outcome is final. Only its result may fail to be printed.
  void end(Outcome& outcome);
  void print_results();
  // Whether someone misses a file that was stopped: not if all output was for a reader who has
  // gone.
  [[nodiscard]] bool is_missed() const;
  void report_not_begun() const;

  const TransferOptions& options_;
  WorkChooser& chooser_;
  const Transfer& transfer_;
  std::vector<Outcome>& outcomes_;
  std::atomic<std::size_t> ended_{0};
  std::mutex results_mutex_;  // guards the next two
  std::vector<bool> has_ended_;
  std::size_t next_result_ = 0;
  ProgressMeter* meter_ = nullptr;  // of several files
  stream::GroupCommit commits_;
};

// Runs all files and returns the exit code. Failures are printed, not thrown. After a signal no
// further file is begun, and the files left are reported as not begun. Unless all files are done
// or skipped the exit code is not 0.
[[nodiscard]] int run_transfer(const TransferOptions& options, WorkChooser& chooser,
                               const Transfer& transfer, FileList list);

}  // namespace paes::cli
