// SPDX-License-Identifier: Apache-2.0
#include "library/file_work.hpp"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <string>
#include <system_error>

#include "kernel/registry.hpp"
#include "stream/container/chunk_cipher.hpp"

namespace paes::stream {

FileWork::FileWork(const FileOptions& options)
    : device_(options.device),
      kernel_(find_kernel(Cipher::aes, options.kernel)),
      executor_(make_executor(Schedule::omp_dynamic, options.threads)),
      piece_bytes_(options.piece_bytes),
      cancel_(options.cancel) {
  const std::size_t most = device_ == nullptr ? max_piece_bytes : max_device_piece_bytes;
  if (piece_bytes_ > most) {
    throw Error(ErrorCode::usage, "piece_bytes: " + std::to_string(piece_bytes_) +
                                      " is above the limit of " + std::to_string(most));
  }
}

Options FileWork::for_items(std::uint64_t items, std::size_t items_a_buffer) const {
  const bool spread = executor_->threads() > 1 && items > items_a_buffer;
  if (spread) {
    start_here(*executor_);
  }
  return {.executor = spread ? *executor_ : serial_executor(),
          .kernel = kernel_,
          .piece_bytes = piece_bytes_,
          .cancel = cancel_,
          .device_use = {device_.get(), WhenBusy::wait}};
}

Options FileWork::for_all(const Source& source, Watch& watch) const {
  Options options = for_items(source.is_seekable() ? source.bytes() : UINT64_MAX, piece_bytes_);
  options.cancel = watch.cancel();
  options.progress = watch.progress();
  return options;
}

namespace {

constexpr int report_interval_ms = 100;

}  // namespace

Watch::Watch(const FileOptions& options, Source& source) : options_(options), source_(source) {
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

Watch::~Watch() { end_watch(); }

void Watch::end_watch() noexcept {
  is_over_.request();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Watch::stop() noexcept {
  stop_.request();
  source_.stop_waiting();
}

void Watch::over(const std::function<void()>& work) {
  check(options_.cancel);
  try {
    work();
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
void Watch::report_end() noexcept {
  try {
    if (has_succeeded_.load() && options_.progress != nullptr) {
      options_.progress(done_bytes_.load(), done_bytes_.load());
    }
  } catch (...) {
  }
}

void Watch::watch() noexcept {
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

void warn_of(const Output& output,
             const std::function<void(const std::string& what_why)>& warn) noexcept {
  try {
    if (warn != nullptr && !output.warning().empty()) {
      warn(output.warning());
    }
  } catch (...) {
  }
}

NewPayload new_payload(const SealFor& seal_for, const Options& options) {
  check(seal_for);
  if (!seal_for.key.is_empty()) {
    const auto& own = KeyParts::of(seal_for.key);
    return new_bare_payload(own.key, own.context, options.kernel, options.device_use);
  }
  const auto suite = seal_for.key_bits == 128 ? container::Suite::cobblestone_128
                                              : container::Suite::cobblestone_256;
  SecretBytes input_key(container::key_bytes(suite));
  random_bytes(input_key);
  return new_container({suite}, seal_envelope(seal_for, input_key, options.cancel), input_key,
                       options.kernel, options.device_use);
}

OpenedFile::OpenedFile(Source& from, const OpenWith& open_with, const Options& options)
    : source_(&from) {
  check(open_with);
  if (!open_with.key.is_empty()) {
    const auto& own = KeyParts::of(open_with.key);
    payload_ = open_bare_payload(from, own.key, own.context, options.kernel, options.device_use);
    return;
  }
  file_ = std::make_unique<EncryptedFile>(from);
  source_ = &file_->source();
  with_credentials(open_with, options.cancel, [&](const age::Credentials& credentials) {
    payload_ = file_->head().open(*source_, credentials, options.kernel, options.device_use);
  });
}

}  // namespace paes::stream
