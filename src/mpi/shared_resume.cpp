// SPDX-License-Identifier: Apache-2.0
#include "mpi/shared_resume.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "core/descriptor.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/placement.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/together.hpp"
#include "stream/file/change_time.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::mpi {

namespace {

// Opens a file of rank 0 by its name on this rank.
Descriptor find(const std::string& path) {
  Descriptor found = stream::open_own_file(AT_FDCWD, path, path);
  if (!found.is_open()) {
    throw_not_here(path);
  }
  return found;
}

// The unfinished output, written at offsets through a descriptor that its owner keeps.
class UnfinishedSink : public stream::Sink {
 public:
  UnfinishedSink(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override {
    if (!stream::write_file_at(descriptor_, offset, from)) {
      throw stream::write_error(name_, descriptor_, std::nullopt);
    }
  }

 private:
  int descriptor_;
  std::string name_;
};

// One attempt at the work that rank 0 has chosen. Every rank opens the output and its journal.
class Attempt {
 public:
  using WorkOn =
      std::function<void(stream::StripeWork& work, Range stripes, const stream::Work& how)>;

  // `output` is rank 0's, and null on the others.
  Attempt(Communicator& communicator, SharedInput& input, stream::Output* output,
          const stream::StripePlan& started, const stream::Work& how)
      : communicator_(communicator), input_(input), output_(output), started_(started), how_(how) {}
  ~Attempt() { communicator_.at_signal(nullptr); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Collective. Does the work and commits it. Returns nothing if other text was written under these
  // nonces before; the files are then unchanged.
  std::optional<stream::Totals> run(Bytes key, const stream::Need& need, const WorkOn& work_on) {
    try {
      open(key);
      has_begun_ = true;
      communicator_.at_signal([this] { work_->journal.keep(); });
      on_first(communicator_, [&] { output_->expect(need); });
      together(communicator_, how_.progress,
               [&](const RankProgress& touch) { run_own(touch, work_on); });
      together(communicator_, [&] {
        work_->journal.stop();
        if (fdatasync(data_.number()) != 0) {
          throw_errno(name_);
        }
      });
      on_first(communicator_, [&] { output_->commit(need.bytes); });
    } catch (const AgreedError& error) {
      std::array<std::int64_t, 2> sums = {is_other_text_.load() ? 1 : 0, 0};
      if (work_) {
        work_->journal.keep();
        sums[1] = static_cast<std::int64_t>(work_->journal.recorded());
      }
      communicator_.sum(sums);
      if (sums[0] != 0) {
        return std::nullopt;
      }
      throw_what_is_left(error, sums[1] != 0);
    }
    return stream::Totals{started_.extent.text_bytes,
                          static_cast<std::uint64_t>(communicator_.sum(
                              static_cast<std::int64_t>(work_->kept_text_bytes.load())))};
  }

 private:
  // Collective.
  void open(Bytes key) {
    std::string journal_name;
    if (output_ != nullptr) {
      name_ = std::filesystem::absolute(output_->resumable()->partial_name()).string();
      journal_name = std::filesystem::absolute(output_->resumable()->journal_name()).string();
    }
    broadcast(communicator_, name_);
    broadcast(communicator_, journal_name);
    together(communicator_, [&] {
      if (output_ != nullptr) {
        data_ = Descriptor(output_->resumable()->partial(), false);
        journal_file_ = Descriptor(output_->resumable()->journal(), false);
      } else {
        data_ = find(name_);
        journal_file_ = find(journal_name);
        check_header(journal_name);
      }
      sink_.emplace(data_.number(), name_);
    });
    together(communicator_, [&] {
      work_.emplace(started_, key, input_, *sink_, journal_file_.number(), data_.number(), name_,
                    how_);
    });
  }

  // Throws unless the journal has the header of this work. The header is authenticated.
  void check_header(const std::string& name) const {
    stream::JournalHeader found = {};
    if (pread(journal_file_.number(), found.data(), found.size(), 0) !=
            static_cast<ssize_t>(found.size()) ||
        found != started_.header) {
      throw_other_file(name);
    }
  }

  void run_own(const RankProgress& touch, const WorkOn& work_on) {
    const Range stripes =
        share_of(started_.extent.stripes(), communicator_.ranks(), communicator_.rank());
    try {
      work_on(*work_, stripes, touch.in_place_of(how_));
    } catch (const stream::OtherTextWritten&) {
      is_other_text_.store(true);
      throw;
    }
  }

  // If nothing can be continued, rank 0 removes the files; otherwise the error says how to go on.
  [[noreturn]] void throw_what_is_left(const Error& error, bool recorded) {
    bool is_left = false;
    if (output_ != nullptr) {
      stream::ResumableFiles& files = *output_->resumable();
      if (files.is_in_use() && !started_.continues && !recorded) {
        files.remove();
      }
      is_left = files.is_in_use() && has_begun_;
    }
    broadcast(communicator_, is_left);
    const Error told = is_left ? stream::with_resume_hint(error, name_) : error;
    throw AgreedError(told.code, told.what(), told.hint);
  }

  Communicator& communicator_;
  SharedInput& input_;
  stream::Output* output_;
  const stream::StripePlan& started_;
  const stream::Work& how_;
  std::string name_;  // of the unfinished output
  Descriptor data_;
  Descriptor journal_file_;
  std::optional<UnfinishedSink> sink_;
  std::optional<stream::StripeWork> work_;
  bool has_begun_ = false;
  std::atomic<bool> is_other_text_{false};
};

// The stamp of the source on this rank. Throws unless this rank sees the same file as rank 0.
// Device numbers are not compared, because they differ between hosts.
stream::SourceStamp own_stamp(Communicator& communicator, const SharedInput& input,
                              const stream::Work& how) {
  stream::SourceStamp first;
  on_first(communicator, [&] { first = stream::distinct_stamp(input.here(), how.cancel); });
  broadcast(communicator, first);
  stream::SourceStamp own;
  together(communicator, [&] {
    if (!communicator.is_first()) {
      // Hosts can see the same files through different file systems.
      stream::refuse_unless_change_time_is_kept(input.here());
    }
    own = input.here().stamp();
    first.device = own.device;
    if (own != first) {
      throw_other_file(input.name());
    }
  });
  return own;
}

}  // namespace

stream::Totals encrypt_resumably(Communicator& communicator, SharedInput& input,
                                 stream::Output* output, const stream::ResumableEncryption& task,
                                 const stream::Work& how) {
  on_first(communicator, [&] { stream::refuse_unless_resumable(input.here(), *output); });
  const stream::SourceStamp source = own_stamp(communicator, input, how);
  const auto check_source = [&] { stream::check_stamp(input.here(), source); };
  const auto seal = [&](stream::StripeWork& work, Range stripes, const stream::Work& inside) {
    stream::seal_stripes(work, stripes, check_source, inside);
  };
  for (bool never_continue = false;; never_continue = true) {
    stream::StartedEncryption started = {};
    on_first(communicator, [&] {
      started = stream::start_encryption(input.here(), *output->resumable(), task, source,
                                         never_continue, how);
    });
    broadcast(communicator, started.work);
    broadcast(communicator, started.input_key);
    Attempt attempt(communicator, input, output, started.work, how);
    try {
      if (const auto totals =
              attempt.run(started.input_key,
                          {started.work.extent.file_bytes(), stream::Filling::whole}, seal)) {
        return *totals;
      }
    } catch (const AgreedError& error) {
      // If the source has changed, nothing can be continued, so nothing is kept.
      bool has_changed = false;
      on_first(communicator, [&] {
        if (output->resumable()->is_in_use() && input.here().stamp() != source) {
          output->resumable()->remove();
          has_changed = true;
        }
      });
      broadcast(communicator, has_changed);
      if (has_changed) {
        throw AgreedError(error.code, error.what());
      }
      throw;
    }
  }
}

stream::Totals decrypt_resumably(Communicator& communicator, SharedInput& input,
                                 stream::Output* output, const stream::Preamble& preamble,
                                 SecretBytes input_key, const stream::Note& note,
                                 const stream::Work& how) {
  stream::StripePlan started = {};
  on_first(communicator, [&] {
    started = stream::start_decryption(input.here(), *output, preamble, input_key, note, how);
  });
  broadcast(communicator, started);
  broadcast(communicator, input_key);
  Attempt attempt(communicator, input, output, started, how);
  return *attempt.run(input_key, {started.extent.text_bytes, stream::Filling::sparse},
                      [&](stream::StripeWork& work, Range stripes, const stream::Work& inside) {
                        stream::open_stripes(work, stripes, inside);
                        input.check_unchanged();
                      });
}

}  // namespace paes::mpi
