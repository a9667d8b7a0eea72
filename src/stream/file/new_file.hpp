// SPDX-License-Identifier: Apache-2.0
// Outputs that are new files. A complete one is synced, gets its permissions, and then its own
// name, by a link or a rename. Without overwrite neither of them can replace another file. Where a
// file system lacks one way, the next is tried.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "core/descriptor.hpp"
#include "stream/file/output.hpp"
#include "stream/file/output_target.hpp"

namespace paes::stream {

// The new file for a target, of the class that its role asks for.
[[nodiscard]] std::unique_ptr<Output> create_file(const std::string& name, Target target,
                                                  const OutputOptions& options);

[[noreturn]] void throw_exists(const std::string& name, const OutputOptions& options);

// Until it is complete it has no name, or a temporary one.
class NewFile : public Output {
 public:
  NewFile(const std::string& name, Target target, const OutputOptions& options);
  ~NewFile() override { NewFile::discard(); }

  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.number(); }
  [[nodiscard]] std::string folder() const override {
    return in_folder_.empty() ? "." : in_folder_;
  }
  [[nodiscard]] int folder_descriptor() const noexcept override { return folder_->number(); }
  [[nodiscard]] const OpenFolder& open_folder() const noexcept { return folder_; }
  [[nodiscard]] std::string temporary_path() const override;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  void commit(std::uint64_t bytes) override;
  void discard() noexcept override;
  [[nodiscard]] NewFile* unnamed() noexcept override { return is_unnamed_ ? this : nullptr; }
  [[nodiscard]] bool has_its_name() const noexcept override { return has_its_name_; }

  // The steps of a commit after the file is complete, for a GroupCommit, which does each step for
  // many files before the next. All throw Error.
  void sync();
  // Throws if something that was written did not reach the disk, when its file system has been
  // synced as a whole.
  void check_synced() const;
  virtual void give_name();
  // `error` is what came of syncing the folder: 0 or an errno.
  virtual void end_commit(int error);

 protected:
  // Makes no file.
  NewFile(Target target, const std::string& name, const OutputOptions& options);
  void look_for_room(const Need& need) const override;

  // Gives the finished file its name in one step, and replaces an existing file only with -f. The
  // other outputs of the run wait only for the step, not for a copy.
  virtual void place();
  // Does that for a file that has this name in the folder.
  void rename_from(const std::string& unfinished);
  // A rename that failed has left the file under another name of ours.
  virtual void note_moved(const std::string& file, int /*error*/) { temporary_ = file; }
  void warn_of_rest(const std::string& file, int error) const noexcept;

  const OpenFolder folder_;
  const std::string in_folder_;  // the path of that folder, empty or with a slash at its end
  const std::string file_;       // the target's name in its folder

 private:
  void set_modified() noexcept;
  void set_permissions();
  [[nodiscard]] std::unique_lock<std::mutex> lock_written() const;
  void note_written() const;
  [[nodiscard]] bool is_linked_as(const std::string& name) const noexcept;
  void give_temporary_name();
  void move_to_temporary();
  [[noreturn]] void fail_to_place() const;

  const NewFileOptions options_;
  const bool overwrite_;
  const bool only_new_;
  const char* const when_taken_;
  Descriptor descriptor_;
  std::atomic<std::uint64_t> end_{0};  // behind what was written so far
  std::string temporary_;    // the unfinished file's name in the folder; empty if it has none
  bool is_unnamed_ = false;  // complete, and waits for a GroupCommit
  bool has_its_name_ = false;
};

}  // namespace paes::stream
