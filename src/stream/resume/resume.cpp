// SPDX-License-Identifier: Apache-2.0
#include "stream/resume/resume.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "stream/file/change_time.hpp"

namespace paes::stream {

namespace {

void tell_afresh(const Note& note, const ResumableFiles& files, const std::string& why) {
  if (files.was_interrupted() && note) {
    note(files.partial_name() + ": starting afresh, because " + why);
  }
}

// Does the chosen work and commits it. After a failure the files stay for the next run, unless no
// stripe has been recorded.
Totals run_and_commit(Input& input, Output& output, const StripePlan& started, Bytes input_key,
                      const Need& need, const Work& how,
                      const std::function<void(StripeWork& work)>& work_on) {
  ResumableFiles& files = *output.resumable();
  std::optional<StripeWork> work;
  try {
    work.emplace(started, input_key, input, output, files.journal(), files.partial(),
                 files.partial_name(), how);
    output.expect(need);
    work_on(*work);
    work->journal.stop();
    output.commit(need.bytes);
    return {started.extent.text_bytes, work->kept_text_bytes.load()};
  } catch (const OtherTextWritten&) {
    throw;
  } catch (const Error& error) {
    if (work) {
      work->journal.keep();
    }
    if (!files.is_in_use()) {
      throw;
    }
    if (!started.continues && (!work || work->journal.recorded() == 0)) {
      files.remove();
      throw;
    }
    throw with_resume_hint(error, files.partial_name());
  }
}

// What an earlier run left, as far as it can be read without a key.
struct EarlierRun {
  Preamble preamble;
  PayloadPrefix prefix;
};

std::optional<EarlierRun> read_left(const ResumableFiles& files) {
  try {
    const Input partial = Input::of(Descriptor(files.partial(), false), files.partial_name());
    EarlierRun left{read_preamble(partial), {}};
    if (!partial.is_seekable()) {
      return std::nullopt;
    }
    left.prefix = read_prefix(partial, left.preamble.header.payload_offset());
    return left;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The earlier run's work if this run can continue it; otherwise empty, and `why` says why not.
std::optional<StartedEncryption> take_up(const Input& input, ResumableFiles& files,
                                         const ResumableEncryption& task, const SourceStamp& source,
                                         const Work& how, std::string& why) {
  const auto not_because = [&why](const std::string& reason) -> std::optional<StartedEncryption> {
    why = reason;
    return std::nullopt;
  };
  if (!files.found()) {
    return not_because("its journal is damaged");
  }
  const std::optional<EarlierRun> left = read_left(files);
  if (!left) {
    return not_because("its beginning is damaged");
  }
  if (left->preamble.header.suite != task.shape.suite) {
    return not_because("it is of another suite");
  }
  std::optional<SecretBytes> key = task.open(left->preamble.envelope());
  if (!key) {
    return not_because("no identity or passphrase given opens it");
  }
  if (key->size() != container::key_bytes(task.shape.suite)) {
    return not_because("it is damaged");
  }
  const Bytes salt = salt_of(left->prefix);
  const ChunkCipher cipher(task.shape.suite, *key, container::context(task.shape.suite), salt,
                           how.kernel);
  const Extent extent{left->preamble.header.payload_offset(), input.bytes()};
  std::vector<std::uint8_t> head = left->preamble.bytes;
  head.insert(head.end(), left->prefix.begin(), left->prefix.end());
  const JournalFacts facts{JournalKind::encrypt, extent.text_bytes, source, head, task.settings};
  const std::string why_not =
      JournalKey(*key, salt).difference(*files.found(), facts, input.name());
  if (!why_not.empty()) {
    return not_because(why_not);
  }
  if (!equal_constant_time(cipher.commitment(),
                           Bytes(left->prefix).subspan(cobblestone::salt_bytes)) ||
      files.partial_bytes() != extent.file_bytes()) {
    return not_because("it is damaged");
  }
  files.take_up();
  return StartedEncryption{{task.shape.suite, left->prefix, extent, *files.found(), true},
                           std::move(*key)};
}

void wait_for_later_stamps(const SourceStamp& source, const Cancel* cancel) {
  using std::chrono::milliseconds;
  // File systems with coarse stamps use whole multiples of 10 ms. Others use the system's ticks,
  // which are at most 10 ms.
  const bool is_coarse = source.changed_ns % 10'000'000 == 0;
  const milliseconds granularity = is_coarse ? milliseconds(2000) : milliseconds(100);
  const auto changed =
      std::chrono::seconds(source.changed_s) + std::chrono::nanoseconds(source.changed_ns);
  const auto age = std::chrono::system_clock::now().time_since_epoch() - changed;
  // A change in the future has the time of a file server's clock; then it waits.
  if (age > granularity) {
    return;
  }
  pollfd stop = {cancel != nullptr ? cancel->descriptor() : -1, POLLIN, 0};
  const auto end = std::chrono::steady_clock::now() + granularity;
  for (auto left = granularity; left.count() > 0;
       left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now())) {
    (void)poll(&stop, 1, static_cast<int>(left.count()));
    check(cancel);
  }
}

}  // namespace

void refuse_unless_resumable(const Input& input, Output& output) {
  if (!input.is_regular() || !input.is_seekable()) {
    throw Error(ErrorCode::usage, input.name() + ": is not a regular file, which --resume needs");
  }
  if (output.resumable() == nullptr) {
    throw Error(ErrorCode::usage, output.name() + ": is not a regular file, which --resume needs",
                "name the output with -o");
  }
}

Error with_resume_hint(const Error& error, const std::string& partial_name) {
  const std::string hint =
      "what is done is kept in " + partial_name + ": run the same command again to continue";
  return {error.code, error.what(), error.hint.empty() ? hint : error.hint + "; " + hint};
}

void check_stamp(const Input& input, const SourceStamp& source) {
  if (input.stamp() != source) {
    throw Error(ErrorCode::failure, input.name() + ": changed while it was read");
  }
}

SourceStamp distinct_stamp(const Input& input, const Cancel* cancel) {
  refuse_unless_change_time_is_kept(input);
  const SourceStamp source = input.stamp();
  wait_for_later_stamps(source, cancel);
  check_stamp(input, source);
  return source;
}

StartedEncryption start_encryption(const Input& input, ResumableFiles& files,
                                   const ResumableEncryption& task, const SourceStamp& source,
                                   bool never_continue, const Work& how) {
  check_chunk_limit(input.name(), cobblestone::chunking.chunks_of(input.bytes()));
  std::string why = input.name() + " is not what was encrypted before";
  if (!never_continue && files.was_interrupted()) {
    if (auto started = take_up(input, files, task, source, how, why)) {
      return std::move(*started);
    }
  }
  tell_afresh(task.note, files, why);
  NewKey fresh = task.make();
  PayloadPrefix prefix;
  const MutableBytes salt = MutableBytes(prefix).first(cobblestone::salt_bytes);
  random_bytes(salt);
  const container::Header header = container::layout(task.shape, fresh.envelope.size());
  const ChunkCipher cipher(task.shape.suite, fresh.input_key, container::context(task.shape.suite),
                           salt, how.kernel);
  std::copy_n(cipher.commitment().begin(), cobblestone::commitment_bytes,
              prefix.begin() + cobblestone::salt_bytes);
  const std::vector<std::uint8_t> head =
      encode_head(header, fresh.envelope, salt, cipher.commitment());
  const Extent extent{header.payload_offset(), input.bytes()};
  const JournalHeader journal_header =
      JournalKey(fresh.input_key, salt)
          .header({JournalKind::encrypt, extent.text_bytes, source, head, task.settings});
  files.start(journal_header, extent.stripes(), extent.file_bytes(), head);
  return {{task.shape.suite, prefix, extent, journal_header, false}, std::move(fresh.input_key)};
}

Totals encrypt_resumably(Input& input, Output& output, const ResumableEncryption& task,
                         const Work& how) {
  refuse_unless_resumable(input, output);
  ResumableFiles& files = *output.resumable();
  const SourceStamp source = distinct_stamp(input, how.cancel);
  input.expect_sequential();
  for (bool never_continue = false;; never_continue = true) {
    const StartedEncryption started =
        start_encryption(input, files, task, source, never_continue, how);
    const auto check_source = [&] { check_stamp(input, source); };
    const auto seal = [&](StripeWork& work) {
      seal_stripes(work, {0, work.extent.stripes()}, check_source, how);
    };
    try {
      return run_and_commit(input, output, started.work, started.input_key,
                            {started.work.extent.file_bytes(), Filling::whole}, how, seal);
    } catch (const OtherTextWritten&) {
      continue;
    } catch (const Error& error) {
      // If the source has changed, the work cannot be continued, and its files are removed.
      if (files.is_in_use() && input.stamp() != source) {
        files.remove();
        throw Error(error.code, error.what());
      }
      throw;
    }
  }
}

StripePlan start_decryption(const Input& input, Output& output, const Preamble& preamble,
                            Bytes input_key, const Note& note, const Work& how) {
  refuse_unless_resumable(input, output);
  ResumableFiles& files = *output.resumable();
  const container::Suite suite = preamble.header.suite;
  const Extent extent = extent_of(input, preamble.header.payload_offset());
  const PayloadPrefix prefix = read_prefix(input, preamble.header.payload_offset());
  const ChunkCipher cipher(suite, input_key, container::context(suite), salt_of(prefix),
                           how.kernel);
  check_commitment(input.name(), cipher, prefix);
  check_last_chunk(input, cipher, extent);
  // Without the envelope, which may have been rekeyed: context and prefix bind key and text.
  std::vector<std::uint8_t> head(preamble.bytes.begin(),
                                 preamble.bytes.begin() + container::context_bytes);
  head.insert(head.end(), prefix.begin(), prefix.end());
  const JournalKey journal_key(input_key, salt_of(prefix));
  const JournalFacts facts{JournalKind::decrypt, extent.text_bytes, {}, head, {}};
  if (files.was_interrupted()) {
    std::string why = !files.found() ? "its journal is damaged"
                                     : journal_key.difference(*files.found(), facts, input.name());
    if (why.empty() && files.partial_bytes() != extent.text_bytes) {
      why = "it is damaged";
    }
    if (why.empty()) {
      files.take_up();
      return {suite, prefix, extent, *files.found(), true};
    }
    tell_afresh(note, files, why);
  }
  const JournalHeader header = journal_key.header(facts);
  files.start(header, extent.stripes(), extent.text_bytes);
  return {suite, prefix, extent, header, false};
}

Totals decrypt_resumably(Input& input, Output& output, const Preamble& preamble, Bytes input_key,
                         const Note& note, const Work& how) {
  input.expect_sequential();
  const StripePlan started = start_decryption(input, output, preamble, input_key, note, how);
  const auto open = [&](StripeWork& work) {
    open_stripes(work, {0, work.extent.stripes()}, how);
    input.check_same_size();
  };
  return run_and_commit(input, output, started, input_key,
                        {started.extent.text_bytes, Filling::sparse}, how, open);
}

}  // namespace paes::stream
