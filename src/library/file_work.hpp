// SPDX-License-Identifier: Apache-2.0
// How the calls of paes/file.hpp do their work: FileOptions as transfers take them.
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
#include "stream/transfer/transfer.hpp"

namespace paes {
struct FileParts {
  [[nodiscard]] static stream::Source& of(const FileSource& from) { return *from.source_; }
};
}  // namespace paes

namespace paes::stream {

class Watch;

// What a Reader, a Writer or one call works with.
class FileWork {
 public:
  // Throws Error(usage) for an unknown kernel and for pieces that are too large.
  explicit FileWork(const FileOptions& options);

  // For that many items of a layout whose buffers hold `items_a_buffer`. Starts the threads if
  // there is work for several, and throws Error(failure) if they cannot start.
  [[nodiscard]] Options for_items(std::uint64_t items, std::size_t items_a_buffer) const;
  // For all of a source. `watch` may stop it.
  [[nodiscard]] Options for_all(const Source& source, Watch& watch) const;

 private:
  std::shared_ptr<Device> device_;
  const Kernel& kernel_;
  std::unique_ptr<Executor> executor_;
  std::size_t piece_bytes_;
  const Cancel* cancel_;
};

// Reports the progress of one call, and stops it when its caller wants it to stop or a report
// throws.
class Watch {
 public:
  // Both must outlive it. A thread watches only if there is something to report or to wait for.
  // Throws Error(failure) if that cannot start.
  Watch(const FileOptions& options, Source& source);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] const Cancel* cancel() const noexcept { return &stop_; }
  [[nodiscard]] std::atomic<std::uint64_t>* progress() noexcept { return &done_bytes_; }

  // How much text there is, once that is known.
  void expect(std::uint64_t text_bytes) noexcept { text_bytes_.store(text_bytes); }

  // Does the work. Throws what the work or a report throws.
  void over(const std::function<void()>& work);

 private:
  void watch() noexcept;
  void report_end() noexcept;
  void stop() noexcept;
  void end_watch() noexcept;

  const FileOptions& options_;
  Source& source_;
  std::atomic<std::uint64_t> done_bytes_{0};
  std::atomic<std::uint64_t> text_bytes_{0};
  Cancel stop_;
  Cancel is_over_;
  std::atomic<bool> has_succeeded_{false};
  std::exception_ptr of_report_;
  std::thread thread_;
};

// Passes on what is not as it should be with a complete output. It is too late for an error, so
// what `warn` throws is lost.
void warn_of(const Output& output,
             const std::function<void(const std::string& what_why)>& warn) noexcept;

// The payload of a new file: in a container with an envelope, or bare under a key of the caller's.
[[nodiscard]] NewPayload new_payload(const SealFor& seal_for, const Options& options);

// A file that exists, opened. A pipe is left at its first chunk.
class OpenedFile {
 public:
  // `from` must outlive it.
  OpenedFile(Source& from, const OpenWith& open_with, const Options& options);

  // What the payload is read from.
  [[nodiscard]] Source& source() const noexcept { return *source_; }
  [[nodiscard]] const OpenedPayload& payload() const noexcept { return payload_; }

 private:
  std::unique_ptr<EncryptedFile> file_;  // null under a key of the caller's
  Source* source_;
  OpenedPayload payload_;
};

}  // namespace paes::stream
