#include "mpi/resume.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "core/descriptor.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/container.hpp"
#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "stream/change_time.hpp"

namespace paes::mpi {

namespace {

using stream::Extent;

// What rank 0 has decided, for all to work by; the key travels beside it.
struct Decided {
  container::Suite suite;
  stream::PayloadPrefix prefix;
  Extent extent;
  stream::JournalHeader header;
  bool continues;
};

// The unfinished output and its journal as this rank has them open.
class UnfinishedFiles {
 public:
  // Collective.
  UnfinishedFiles(Communicator& communicator, stream::Output* output,
                  const stream::JournalHeader& header)
      : communicator_(communicator) {
    std::string journal_name;
    if (output != nullptr) {
      name_ = std::filesystem::absolute(output->resumable()->partial_name()).string();
      journal_name = std::filesystem::absolute(output->resumable()->journal_name()).string();
    }
    broadcast(communicator, name_);
    broadcast(communicator, journal_name);
    together(communicator, [&] {
      if (output != nullptr) {
        data_ = Descriptor(output->resumable()->partial(), false);
        journal_ = Descriptor(output->resumable()->journal(), false);
      } else {
        data_ = find(name_);
        journal_ = find(journal_name);
        check_header(journal_name, header);
      }
      written_.emplace(stream::Input::of(Descriptor(data_.number(), false), name_, nullptr));
      sink_.emplace(data_.number(), name_);
    });
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int data() const noexcept { return data_.number(); }
  [[nodiscard]] int journal() const noexcept { return journal_.number(); }
  [[nodiscard]] const stream::Source& written() const noexcept { return *written_; }
  [[nodiscard]] stream::Sink& sink() noexcept { return *sink_; }

  // Collective.
  void sync() {
    together(communicator_, [&] {
      if (fdatasync(data_.number()) != 0) {
        throw_errno(name_);
      }
    });
  }

 private:
  static Descriptor find(const std::string& path) {
    Descriptor found = stream::open_own_file(AT_FDCWD, path, path);
    if (!found.is_open()) {
      throw Error(ErrorCode::failure, path + ": is not here what it is on rank 0", shared_hint);
    }
    return found;
  }

  // It is this work's and no other's: what it says of the work is authenticated.
  void check_header(const std::string& name, const stream::JournalHeader& header) const {
    stream::JournalHeader found = {};
    if (pread(journal_.number(), found.data(), found.size(), 0) !=
            static_cast<ssize_t>(found.size()) ||
        found != header) {
      throw Error(ErrorCode::failure, name + ": is another file here than on rank 0", shared_hint);
    }
  }

  Communicator& communicator_;
  std::string name_;
  Descriptor data_;
  Descriptor journal_;
  std::optional<stream::Input> written_;
  std::optional<DescriptorSink> sink_;
};

// One attempt at the work that was decided upon.
class Attempt {
 public:
  using WorkOn = std::function<void(const stream::StripeWork& work, const Range& stripes,
                                    const UnfinishedFiles& files, const stream::Options& options)>;

  Attempt(Communicator& communicator, SharedInput& input, stream::Output* output,
          const Decided& decided, Bytes key, const stream::Options& options)
      : communicator_(communicator),
        input_(input),
        output_(output),
        decided_(decided),
        options_(options),
        files_(communicator, output, decided.header) {
    together(communicator, [&] {
      cipher_.emplace(decided.suite, key, stream::salt_of(decided.prefix), options.kernel,
                      options.device_use);
      journal_key_.emplace(key, stream::salt_of(decided.prefix));
      journal_.emplace(*journal_key_, decided.header, files_.journal(), files_.data(),
                       files_.name());
    });
  }
  ~Attempt() { communicator_.at_signal(nullptr); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Commits. False where other text was written under these nonces before; the files are then as
  // they were.
  bool run(const stream::Need& need, const WorkOn& work_on) {
    communicator_.at_signal([this] { keep(); });
    try {
      together(communicator_, [&] {
        if (output_ != nullptr) {
          output_->expect(need);
        }
      });
      together(communicator_, options_.progress,
               [&](const Touch& touch) { run_own(touch, work_on); });
      files_.sync();
      together(communicator_, [&] {
        if (output_ != nullptr) {
          output_->commit(need.bytes);
        }
      });
      return true;
    } catch (const Agreed& error) {
      keep();
      std::array<std::int64_t, 2> sums = {is_other_text_.load() ? 1 : 0,
                                          static_cast<std::int64_t>(journal_->recorded())};
      communicator_.sum(sums);
      if (sums[0] != 0) {
        return false;
      }
      throw_what_is_left(error, sums[1] != 0);
    }
  }

  // Collective.
  [[nodiscard]] std::uint64_t kept_text_bytes() const {
    std::array<std::int64_t, 1> kept = {static_cast<std::int64_t>(kept_.load())};
    communicator_.sum(kept);
    return static_cast<std::uint64_t>(kept[0]);
  }

 private:
  void run_own(const Touch& touch, const WorkOn& work_on) {
    const stream::StripeWork work{*cipher_,      decided_.extent,
                                  *journal_,     input_,
                                  files_.sink(), decided_.continues ? &files_.written() : nullptr,
                                  kept_};
    const Range stripes =
        share_of(decided_.extent.stripes(), communicator_.ranks(), communicator_.rank());
    try {
      work_on(work, stripes, files_, touch.in_place_of(options_));
    } catch (const stream::OtherTextWritten&) {
      is_other_text_.store(true);
      throw;
    }
  }

  // What is complete is synced and recorded. What could not be is done again.
  void keep() noexcept {
    try {
      journal_->flush();
    } catch (...) {
    }
  }

  // Rank 0 removes files of which nothing can be continued; else the error says how to go on.
  [[noreturn]] void throw_what_is_left(const Error& error, bool recorded) {
    bool is_left = false;
    if (output_ != nullptr) {
      stream::ResumableFiles& files = *output_->resumable();
      if (files.is_in_use() && !decided_.continues && !recorded) {
        files.remove();
      }
      is_left = files.is_in_use();
    }
    broadcast(communicator_, is_left);
    const Error told = is_left ? stream::with_resume_hint(error, files_.name()) : error;
    throw Agreed(told.code, told.what(), told.hint);
  }

  Communicator& communicator_;
  SharedInput& input_;
  stream::Output* output_;
  const Decided& decided_;
  const stream::Options& options_;
  UnfinishedFiles files_;
  std::optional<stream::ChunkCipher> cipher_;
  std::optional<stream::JournalKey> journal_key_;
  std::optional<stream::Journal> journal_;
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<bool> is_other_text_{false};
};

// Collective. Of files that could not be worked on nothing is left but what there was before.
void begin(std::optional<Attempt>& attempt, Communicator& communicator, SharedInput& input,
           stream::Output* output, const Decided& decided, Bytes key,
           const stream::Options& options) {
  try {
    attempt.emplace(communicator, input, output, decided, key, options);
  } catch (const Agreed&) {
    if (output != nullptr && !decided.continues) {
      output->resumable()->remove();
    }
    throw;
  }
}

// The source as this rank sees it, when it is what rank 0 sees. Numbers of devices are each host's
// own.
stream::SourceStamp own_stamp(Communicator& communicator, const SharedInput& input,
                              const stream::Options& options) {
  stream::SourceStamp first;
  together(communicator, [&] {
    if (communicator.is_first()) {
      first = stream::distinct_stamp(input.here(), options.cancel);
    }
  });
  broadcast(communicator, first);
  stream::SourceStamp own;
  together(communicator, [&] {
    if (!communicator.is_first()) {
      // Hosts can have the same files by different file systems.
      stream::refuse_unless_change_time_is_kept(input.here());
    }
    own = input.here().stamp();
    first.device = own.device;
    if (own != first) {
      throw Error(ErrorCode::failure, input.name() + ": is another file here than on rank 0",
                  shared_hint);
    }
  });
  return own;
}

}  // namespace

stream::ResumedTotals encrypt_resumably(Communicator& communicator, SharedInput& input,
                                        stream::Output* output,
                                        const stream::ResumableEncryption& task,
                                        const stream::Options& options) {
  together(communicator, [&] {
    if (output != nullptr) {
      stream::refuse_unless_resumable(input.here(), *output);
    }
  });
  const stream::SourceStamp source = own_stamp(communicator, input, options);
  const auto check_source = [&] { stream::check_stamp(input.here(), source); };
  for (bool never_continue = false;; never_continue = true) {
    Decided decided = {};
    SecretBytes key;
    together(communicator, [&] {
      if (output != nullptr) {
        stream::StartedEncryption started = stream::start_encryption(
            input.here(), *output->resumable(), task, source, never_continue, options);
        decided = {task.suite, started.prefix, started.extent, started.header, started.continues};
        key = std::move(started.input_key);
      }
    });
    broadcast(communicator, decided);
    share_key(communicator, decided.suite, key);
    std::optional<Attempt> attempt;
    begin(attempt, communicator, input, output, decided, key, options);
    try {
      const bool is_done =
          attempt->run({decided.extent.file_bytes(), stream::Filling::whole},
                       [&](const stream::StripeWork& work, const Range& stripes,
                           const UnfinishedFiles& files, const stream::Options& inside) {
                         stream::seal_stripes(files.name(), work, stripes, check_source, inside);
                         check_source();
                       });
      if (is_done) {
        return {decided.extent.text_bytes, attempt->kept_text_bytes()};
      }
    } catch (const Agreed& error) {
      // Nothing of a source that changed can be continued, hence nothing is left.
      bool has_changed = false;
      together(communicator, [&] {
        if (output != nullptr && output->resumable()->is_in_use() &&
            input.here().stamp() != source) {
          output->resumable()->remove();
          has_changed = true;
        }
      });
      broadcast(communicator, has_changed);
      if (has_changed) {
        throw Agreed(error.code, error.what());
      }
      throw;
    }
  }
}

stream::ResumedTotals decrypt_resumably(Communicator& communicator, SharedInput& input,
                                        stream::Output* output, const stream::Preamble& preamble,
                                        SecretBytes input_key, const stream::Note& note,
                                        const stream::Options& options) {
  Decided decided = {};
  together(communicator, [&] {
    if (output == nullptr) {
      return;
    }
    stream::refuse_unless_resumable(input.here(), *output);
    const Extent extent = stream::extent_of(input.here(), preamble.header);
    const stream::PayloadPrefix prefix = stream::read_prefix(input.here(), preamble.header);
    const stream::ChunkCipher cipher(preamble.header.suite, input_key, stream::salt_of(prefix),
                                     options.kernel);
    stream::check_commitment(input.name(), cipher, prefix);
    stream::check_last_chunk(input.here(), cipher, extent);
    const stream::Started started = stream::start_decryption(
        input.here(), *output->resumable(), preamble, prefix, extent, input_key, note);
    decided = {preamble.header.suite, prefix, extent, started.header, started.continues};
  });
  broadcast(communicator, decided);
  share_key(communicator, decided.suite, input_key);
  std::optional<Attempt> attempt;
  begin(attempt, communicator, input, output, decided, input_key, options);
  (void)attempt->run({decided.extent.text_bytes, stream::Filling::sparse},
                     [&](const stream::StripeWork& work, const Range& stripes,
                         const UnfinishedFiles& files, const stream::Options& inside) {
                       stream::open_stripes(work, stripes, stream::hole_maker(files.data()),
                                            inside);
                       input.check_unchanged();
                     });
  return {decided.extent.text_bytes, attempt->kept_text_bytes()};
}

}  // namespace paes::mpi
