// SPDX-License-Identifier: Apache-2.0
#include "library/file_work.hpp"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <string>
#include <system_error>

#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "stream/container/chunk_cipher.hpp"
#include "stream/file/create_output.hpp"

namespace paes::stream {

namespace {

constexpr int report_interval_ms = 100;

std::size_t checked_piece_bytes(const FileOptions& options) {
  const std::size_t most = options.device == nullptr ? max_piece_bytes : max_device_piece_bytes;
  if (options.piece_bytes > most) {
    throw Error(ErrorCode::usage, "piece_bytes: " + std::to_string(options.piece_bytes) +
                                      " is above the limit of " + std::to_string(most));
  }
  return options.piece_bytes;
}

}  // namespace

WorkMaker::WorkMaker(const FileOptions& options)
    : device_(options.device),
      work_{.kernel = find_kernel(Cipher::aes, options.kernel),
            .piece_bytes = checked_piece_bytes(options),
            .cancel = options.cancel,
            .device_use = {device_.get(), WhenBusy::wait}},
      executor_(make_thread_pool(options.threads)) {}

Work WorkMaker::for_items(std::uint64_t items, std::size_t items_a_buffer) const {
  Work work = work_;
  if (executor_->threads() > 1 && items > items_a_buffer) {
    executor_->start();
    work.executor = *executor_;
  }
  return work;
}

FileCall::FileCall(const FileOptions& options, Source& source)
    : options_(options), source_(source), maker_(options) {
  if (options.progress != nullptr || options.cancel != nullptr) {
    (void)is_over_.descriptor();  // here, where it may throw
    if (options.cancel != nullptr) {
      (void)options.cancel->descriptor();
    }
    try {
      thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {
      throw Error(ErrorCode::failure, "threads: none could be started to report progress",
                  "look at the limits: ulimit -u, ulimit -v");
    }
  }
}

FileCall::~FileCall() { end_watch(); }

void FileCall::end_watch() noexcept {
  is_over_.request();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void FileCall::stop() noexcept {
  stop_.request();
  source_.stop_waiting();
}

void FileCall::run(const std::function<void(const Work& work)>& task) {
  check(options_.cancel);
  try {
    Work work = maker_.for_items(source_.is_seekable() ? source_.bytes() : UINT64_MAX,
                                 options_.piece_bytes);
    work.cancel = &stop_;
    work.progress = &done_bytes_;
    task(work);
    has_succeeded_.store(true);
  } catch (...) {
    end_watch();
    if (of_report_) {
      std::rethrow_exception(of_report_);
    }
    stop_.check();  // the work may have failed because it was stopped
    throw;
  }
}

// All is done: nothing can be stopped any more.
void FileCall::report_end() noexcept {
  try {
    if (has_succeeded_.load() && options_.progress != nullptr) {
      options_.progress(done_bytes_.load(), done_bytes_.load());
    }
  } catch (...) {
  }
}

void FileCall::watch() noexcept {
  const int timeout_ms = options_.progress != nullptr ? report_interval_ms : -1;
  pollfd events[] = {{is_over_.descriptor(), POLLIN, 0},
                     {options_.cancel != nullptr ? options_.cancel->descriptor() : -1, POLLIN, 0}};
  for (;;) {
    (void)poll(events, std::size(events), timeout_ms);
    if (is_over_.requested()) {
      report_end();
      return;
    }
    if (options_.cancel != nullptr && options_.cancel->requested()) {
      stop();
      return;
    }
    try {
      if (options_.progress != nullptr) {
        options_.progress(done_bytes_.load(), text_bytes_.load());
      }
    } catch (...) {
      of_report_ = std::current_exception();
      stop();
      return;
    }
  }
}

std::unique_ptr<Output> output_for(const std::string& path, const Source* source, bool encrypts,
                                   const FileOptions& options, const Cancel* cancel) {
  const auto* const input = dynamic_cast<const Input*>(source);
  OutputOptions wanted{
      .overwrite = options.overwrite, .source = input, .cancel = cancel, .warn = options.warn};
  if (input != nullptr) {
    wanted.file.permissions = encrypts ? encrypted_mode(*input) : decrypted_mode(*input);
  } else if (encrypts) {
    wanted.file.permissions = new_file_mode();
  }
  return create_output(path, wanted);
}

void warn_of(const Output& output,
             const std::function<void(const std::string& what_why)>& warn) noexcept {
  try {
    if (warn != nullptr && !output.warning().empty()) {
      warn(output.warning());
    }
  } catch (...) {
  }
}

NewPayload payload_for(const SealFor& seal_for, const Work& work) {
  check(seal_for);
  if (!seal_for.key.is_empty()) {
    const auto& own = KeyParts::of(seal_for.key);
    return new_bare_payload(own.key, own.context, work);
  }
  const auto suite = seal_for.key_bits == 128 ? container::Suite::cobblestone_128
                                              : container::Suite::cobblestone_256;
  const std::vector<age::SharedRecipient> recipients = recipients_of(seal_for.recipients);
  return find_format("paes").new_payload(seal_to(seal_for, recipients, work.cancel), {suite}, work);
}

OpenedFile::OpenedFile(Source& from, const OpenWith& open_with, const Work& work) : source_(&from) {
  check(open_with);
  if (!open_with.key.is_empty()) {
    const auto& own = KeyParts::of(open_with.key);
    payload_ = open_bare_payload(from, own.key, own.context, work);
    return;
  }
  file_ = std::make_unique<EncryptedFile>(from);
  source_ = &file_->source();
  with_credentials(open_with, work.cancel, [&](const age::Credentials& credentials) {
    payload_ = file_->head().open(*source_, credentials, work);
  });
}

}  // namespace paes::stream
