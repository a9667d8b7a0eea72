// SPDX-License-Identifier: Apache-2.0
// How the calls of paes/file.hpp do their work: the Work that FileOptions ask for, the outputs, and
// the keys as payloads take them.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "library/key_parts.hpp"
#include "paes/file.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/output.hpp"
#include "stream/transfer/work.hpp"

namespace paes {
struct FileParts {
  [[nodiscard]] static stream::Source& of(const FileSource& from) { return *from.source_; }
};
}  // namespace paes

namespace paes::stream {

// Makes the Work of a Reader, a Writer or one call, and owns its device and its threads.
class WorkMaker {
 public:
  // Throws Error(usage) for an unknown kernel and for pieces that are too large.
  explicit WorkMaker(const FileOptions& options);

  // For that many items of a layout whose buffers hold `items_a_buffer`. Starts the threads if
  // there is work for several, and throws Error(failure) if they cannot start.
  [[nodiscard]] Work for_items(std::uint64_t items, std::size_t items_a_buffer) const;

 private:
  std::shared_ptr<Device> device_;
  Work work_;  // on the caller's thread alone
  std::unique_ptr<Executor> executor_;
};

// One call for a whole file. Reports its progress, and stops it when its caller wants it to stop or
// a report throws.
class FileCall {
 public:
  // Both must outlive it. A thread watches only if there is something to report or to wait for.
  // Throws Error(failure) if that cannot start, and Error(usage) as WorkMaker does.
  FileCall(const FileOptions& options, Source& source);
  ~FileCall();
  FileCall(const FileCall&) = delete;
  FileCall& operator=(const FileCall&) = delete;

  // Does the task. Throws what the task or a report throws.
  void run(const std::function<void(const Work& work)>& task);
  // How much text there is, once that is known.
  void expect(std::uint64_t text_bytes) noexcept { text_bytes_.store(text_bytes); }

 private:
  void watch() noexcept;
  void report_end() noexcept;
  void stop() noexcept;
  void end_watch() noexcept;

  const FileOptions& options_;
  Source& source_;
  WorkMaker maker_;
  std::atomic<std::uint64_t> done_bytes_{0};
  std::atomic<std::uint64_t> text_bytes_{0};
  Cancel stop_;
  Cancel is_over_;
  std::atomic<bool> has_succeeded_{false};
  std::exception_ptr of_report_;
  std::thread thread_;
};

// The output of one call or a Writer. `source` is what it is made of, and null for a text that the
// caller hands over. Only a file has a mode that the output can have, too.
[[nodiscard]] std::unique_ptr<Output> output_for(const std::string& path, const Source* source,
                                                 bool encrypts, const FileOptions& options,
                                                 const Cancel* cancel);

// Passes on what is not as it should be with a complete output. It is too late for an error, so
// what `warn` throws is lost.
void warn_of(const Output& output,
             const std::function<void(const std::string& what_why)>& warn) noexcept;

// The payload of a new file: in a container with an envelope, or bare under a key of the caller's.
[[nodiscard]] NewPayload payload_for(const SealFor& seal_for, const Work& work);

// A file that exists, opened. A pipe is left at its first chunk.
class OpenedFile {
 public:
  // `from` must outlive it.
  OpenedFile(Source& from, const OpenWith& open_with, const Work& work);

  // What the payload is read from.
  [[nodiscard]] Source& source() const noexcept { return *source_; }
  [[nodiscard]] const OpenedPayload& payload() const noexcept { return payload_; }

 private:
  std::unique_ptr<EncryptedFile> file_;  // null under a key of the caller's
  Source* source_;
  OpenedPayload payload_;
};

}  // namespace paes::stream
