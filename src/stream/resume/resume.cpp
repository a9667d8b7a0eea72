// SPDX-License-Identifier: Apache-2.0
#include "stream/resume/resume.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "age/age_payload.hpp"
#include "stream/container/chunk_cipher.hpp"
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
Totals run_and_commit(Input& input, Output& output, const StripePlan& started, Bytes key,
                      const Need& need, const Work& how,
                      const std::function<void(StripeWork& work)>& work_on) {
  ResumableFiles& files = *output.resumable();
  std::optional<StripeWork> work;
  try {
    work.emplace(started, key, input, output, files.journal(), files.partial(),
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

const Chunking& chunking_of(const std::optional<container::Suite>& suite) noexcept {
  return suite ? cobblestone::chunking : age::chunking;
}

std::size_t key_bytes(const std::optional<container::Suite>& suite) noexcept {
  return suite ? container::key_bytes(*suite) : age::file_key_bytes;
}

// Only a container commits to its key. An age file's header has authenticated the key already.
bool commits_to(const std::optional<container::Suite>& suite, const PayloadPrefix& prefix,
                Bytes key, const Work& how) {
  return !suite || equal_constant_time(ChunkCipher(*suite, key, container::context(*suite),
                                                   salt_of(prefix), how.kernel)
                                           .commitment(),
                                       Bytes(prefix).subspan(cobblestone::salt_bytes));
}

// What stands between the head and chunk 0. Throws Error(corrupt) at an early end.
PayloadPrefix read_prefix_at(const Source& source, const PayloadPlace& payload) {
  if (payload.suite) {
    return read_prefix(source, payload.offset);
  }
  PayloadPrefix prefix = {};
  const MutableBytes nonce = MutableBytes(prefix).first(age::payload_nonce_bytes);
  if (source.read_at(payload.offset, nonce) != nonce.size()) {
    throw_truncated(source.name());
  }
  return prefix;
}

Bytes prefix_bytes(const std::optional<container::Suite>& suite, const PayloadPrefix& prefix) {
  return Bytes(prefix).first(chunking_of(suite).prefix_bytes);
}

// What an earlier run left, as far as it can be read without a key.
struct EarlierRun {
  PayloadPlace payload;
  std::vector<std::uint8_t> head;  // everything before chunk 0
  Range envelope;                  // of the head: what opens with a recipient's key
  PayloadPrefix prefix;
};

std::optional<EarlierRun> read_left(const ResumableFiles& files) {
  try {
    Input partial = Input::of(Descriptor(files.partial(), false), files.partial_name());
    if (!partial.is_seekable()) {
      return std::nullopt;
    }
    const EncryptedFile file(partial);
    if (file.is_armored()) {
      return std::nullopt;
    }
    EarlierRun left{PayloadPlace(file.head()), {}, {}, {}};
    left.prefix = read_prefix_at(partial, left.payload);
    left.envelope = {0, left.payload.offset};
    if (const Preamble* const preamble = file.head().container()) {
      left.envelope = {container::header_bytes,
                       container::header_bytes + preamble->header.envelope_bytes};
    }
    left.head.resize(static_cast<std::size_t>(left.payload.offset));
    if (partial.read_at(0, MutableBytes(left.head)) != left.head.size()) {
      return std::nullopt;
    }
    const Bytes prefix = prefix_bytes(left.payload.suite, left.prefix);
    left.head.insert(left.head.end(), prefix.begin(), prefix.end());
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
  const std::optional<container::Suite>& suite = left->payload.suite;
  if (suite.has_value() != task.shape.has_value()) {
    return not_because("it is of another format");
  }
  if (suite && *suite != task.shape->suite) {
    return not_because("it is of another suite");
  }
  std::optional<SecretBytes> key =
      task.open(Bytes(left->head).subspan(left->envelope.first, left->envelope.count()));
  if (!key) {
    return not_because("no identity or passphrase given opens it");
  }
  if (key->size() != key_bytes(suite)) {
    return not_because("it is damaged");
  }
  const Extent extent{left->payload.offset, input.bytes(), chunking_of(suite)};
  const JournalFacts facts{JournalKind::encrypt, extent.text_bytes, source,
                           left->head,           task.settings,     extent.chunking};
  const std::string why_not = JournalKey(*key, key_salt(suite, left->prefix))
                                  .difference(*files.found(), facts, input.name());
  if (!why_not.empty()) {
    return not_because(why_not);
  }
  if (!commits_to(suite, left->prefix, *key, how) || files.partial_bytes() != extent.file_bytes()) {
    return not_because("it is damaged");
  }
  files.take_up();
  return StartedEncryption{{suite, left->prefix, extent, *files.found(), true}, std::move(*key)};
}

// The head of a new output. Fills the prefix: its random part, and what a container commits with.
std::vector<std::uint8_t> new_head(const ResumableEncryption& task, const NewKey& fresh,
                                   PayloadPrefix& prefix, std::uint64_t& payload_offset,
                                   const Work& how) {
  prefix = {};
  if (!task.shape) {
    random_bytes(MutableBytes(prefix).first(age::payload_nonce_bytes));
    const Bytes nonce = prefix_bytes(std::nullopt, prefix);
    payload_offset = fresh.envelope.size();
    std::vector<std::uint8_t> head = fresh.envelope;
    head.insert(head.end(), nonce.begin(), nonce.end());
    return head;
  }
  const MutableBytes salt = MutableBytes(prefix).first(cobblestone::salt_bytes);
  random_bytes(salt);
  const container::Header header = container::layout(*task.shape, fresh.envelope.size());
  const ChunkCipher cipher(task.shape->suite, fresh.input_key,
                           container::context(task.shape->suite), salt, how.kernel);
  std::copy_n(cipher.commitment().begin(), cobblestone::commitment_bytes,
              prefix.begin() + cobblestone::salt_bytes);
  payload_offset = header.payload_offset();
  return encode_head(header, fresh.envelope, salt, cipher.commitment());
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
  const std::optional<container::Suite> suite =
      task.shape ? std::optional(task.shape->suite) : std::nullopt;
  const Chunking& chunking = chunking_of(suite);
  check_chunk_limit(input.name(), chunking.chunks_of(input.bytes()), chunking);
  std::string why = input.name() + " is not what was encrypted before";
  if (!never_continue && files.was_interrupted()) {
    if (auto started = take_up(input, files, task, source, how, why)) {
      return std::move(*started);
    }
  }
  tell_afresh(task.note, files, why);
  NewKey fresh = task.make();
  PayloadPrefix prefix;
  Extent extent{0, input.bytes(), chunking};
  const std::vector<std::uint8_t> head = new_head(task, fresh, prefix, extent.payload_offset, how);
  const JournalHeader journal_header =
      JournalKey(fresh.input_key, key_salt(suite, prefix))
          .header({JournalKind::encrypt, extent.text_bytes, source, head, task.settings, chunking});
  files.start(journal_header, extent.stripes(), extent.file_bytes(), head);
  return {{suite, prefix, extent, journal_header, false}, std::move(fresh.input_key)};
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

StripePlan start_decryption(const Input& input, Output& output, const PayloadPlace& payload,
                            Bytes key, const Note& note, const Work& how) {
  refuse_unless_resumable(input, output);
  ResumableFiles& files = *output.resumable();
  const std::optional<container::Suite>& suite = payload.suite;
  const Extent extent = extent_of(input, payload.offset, chunking_of(suite));
  const PayloadPrefix prefix = read_prefix_at(input, payload);
  if (suite) {
    check_commitment(
        input.name(),
        ChunkCipher(*suite, key, container::context(*suite), salt_of(prefix), how.kernel), prefix);
  }
  check_last_chunk(input, *cipher_of(suite, prefix, key, how), extent);
  // Without the recipients, who may have changed: context and prefix bind key and text.
  const Bytes context = suite ? container::context(*suite) : Bytes();
  std::vector<std::uint8_t> head(context.begin(), context.end());
  const Bytes own_prefix = prefix_bytes(suite, prefix);
  head.insert(head.end(), own_prefix.begin(), own_prefix.end());
  const JournalKey journal_key(key, key_salt(suite, prefix));
  const JournalFacts facts{JournalKind::decrypt, extent.text_bytes, {}, head, {}, extent.chunking};
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

Totals decrypt_resumably(Input& input, Output& output, const PayloadPlace& payload, Bytes key,
                         const Note& note, const Work& how) {
  input.expect_sequential();
  const StripePlan started = start_decryption(input, output, payload, key, note, how);
  const auto open = [&](StripeWork& work) {
    open_stripes(work, {0, work.extent.stripes()}, how);
    input.check_same_size();
  };
  return run_and_commit(input, output, started, key, {started.extent.text_bytes, Filling::sparse},
                        how, open);
}

}  // namespace paes::stream
