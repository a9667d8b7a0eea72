// SPDX-License-Identifier: Apache-2.0
// Encrypted files, for c_interface_fuzz: in memory through callbacks that may fail or give less
// than they could, and in a folder.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "fuzz/c_interface_calls.hpp"

namespace paes::fuzz {

namespace {

using Reader = Owned<paes_reader, paes_reader_close>;
using Writer = Owned<paes_writer, paes_writer_free>;
using Source = Owned<paes_source, paes_source_free>;
using SealFor = Owned<paes_seal_for, paes_seal_for_free>;
using OpenWith = Owned<paes_open_with, paes_open_with_free>;
using Cancel = Owned<paes_cancel, paes_cancel_free>;

constexpr std::size_t chunk = PAES_FILE_CHUNK_BYTES;
constexpr unsigned key_kinds = 3;

// Where paths lead, and keys that all inputs share: making them takes longer than a step.
struct Ground {
  std::string folder;
  std::vector<SealFor> seal_for;
  std::vector<OpenWith> open_with;

  Ground() {
    char name[] = "/tmp/paes-fuzz-XXXXXX";
    char in_memory[] = "/dev/shm/paes-fuzz-XXXXXX";
    const char* const made = mkdtemp(in_memory) != nullptr ? in_memory : mkdtemp(name);
    require(made != nullptr, "a folder");
    folder = made;
    for (unsigned kind = 0; kind < key_kinds; ++kind) {
      paes_seal_for* sealing = nullptr;
      paes_open_with* opening = nullptr;
      require(is_ok(paes_seal_for_new(&sealing)) && is_ok(paes_open_with_new(&opening)), "keys");
      seal_for.emplace_back(sealing);
      open_with.emplace_back(opening);
      const Buffer key = pattern(kind * 16, 7, 20);
      if (kind != 0) {
        require(
            is_ok(paes_seal_for_set_key(sealing, key.data(), key.size(), key.data(), kind)) &&
                is_ok(paes_open_with_set_key(opening, key.data(), key.size(), key.data(), kind)),
            "a key of one's own");
        continue;
      }
      paes_identity* identity = nullptr;
      char recipient[PAES_RECIPIENT_BYTES];
      require(is_ok(paes_identity_generate(&identity)) &&
                  is_ok(paes_identity_recipient(identity, recipient, sizeof recipient)) &&
                  is_ok(paes_seal_for_add_recipient(sealing, recipient)) &&
                  is_ok(paes_open_with_add_identity(opening, identity)) &&
                  is_ok(paes_open_with_set_max_work_factor(opening, 6)) &&
                  is_ok(paes_open_with_set_passphrase(opening, "paes", 4)),
              "an identity");
      paes_identity_free(identity);
    }
  }
  ~Ground() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

Ground& ground() {
  static Ground one;
  return one;
}

// A file in memory, and what is known of it.
struct Store {
  Buffer bytes;
  Buffer sealed;  // as it was when it was complete; empty before
  std::size_t text_bytes = 0;
  unsigned kind = 0;
  std::size_t longest_read = 0;          // 0: any
  std::atomic<int> calls_to_failure{0};  // 0: none fails
  bool lies = false;                     // says that it read more than it was asked for

  [[nodiscard]] bool fails() { return calls_to_failure != 0 && --calls_to_failure == 0; }
  [[nodiscard]] bool is_intact() const { return !sealed.empty() && bytes == sealed; }
};

std::int64_t read_store(void* user, std::uint64_t offset, std::uint8_t* to, std::size_t to_bytes) {
  auto& store = *static_cast<Store*>(user);
  if (store.fails()) {
    return store.lies ? INT64_MAX : -9;
  }
  std::size_t bytes = offset < store.bytes.size() ? store.bytes.size() - offset : 0;
  bytes = std::min(bytes, to_bytes);
  bytes = store.longest_read != 0 ? std::min(bytes, store.longest_read) : bytes;
  std::memcpy(to, store.bytes.data() + (bytes != 0 ? offset : 0), bytes);
  return static_cast<std::int64_t>(bytes);
}

int write_store(void* user, const std::uint8_t* bytes, std::size_t byte_count) {
  auto& store = *static_cast<Store*>(user);
  if (store.fails()) {
    return 4;
  }
  store.bytes.insert(store.bytes.end(), bytes, bytes + byte_count);
  return 0;
}

int count_progress(void* user, std::uint64_t /*done*/, std::uint64_t /*total*/) {
  return *static_cast<int*>(user);
}

Buffer text_of(const Store& store) { return pattern(store.text_bytes, 0, 21); }

}  // namespace

struct Files::State {
  std::vector<std::unique_ptr<Store>> stores;  // readers and writers refer to them
  Reader reader;
  Store* reader_store = nullptr;
  Writer writer;
  Store* writer_store = nullptr;  // null: it has a path
  std::set<std::size_t> chunks;   // that write_at has written
  std::size_t written_bytes = 0;
  bool writer_failed = false;
  int is_stopped = 0;
  Cancel cancel;

  [[nodiscard]] static std::string path(const char* name) { return ground().folder + "/" + name; }

  ~State() {
    writer.reset();
    (void)unlink(path("written").c_str());
    (void)unlink(path("out").c_str());
  }

  paes_file_options options(Decisions& decisions) {
    paes_file_options made = {};
    made.threads = decisions.one_in(32) ? 2 : 1;
    made.kernel = decisions.one_in(16) ? "bitslice" : nullptr;
    made.piece_bytes = decisions.one_in(4) ? decisions.number(3 * chunk) : 0;
    made.overwrite = 1;
    if (decisions.one_in(16)) {
      paes_cancel* cancelled = nullptr;
      require(is_ok(paes_cancel_new(&cancelled)), "a cancel");
      cancel.reset(cancelled);
      made.cancel = cancelled;
      if (decisions.one_in(2)) {
        paes_cancel_request(cancelled);
      }
    }
    if (decisions.one_in(32)) {
      is_stopped = decisions.one_in(2) ? 1 : 0;
      made.progress = count_progress;
      made.progress_user = &is_stopped;
    }
    return made;
  }

  Store& any_store(Decisions& decisions) {
    if (stores.empty()) {
      stores.push_back(std::make_unique<Store>());
    }
    return *stores[decisions.number(stores.size())];
  }

  static Source source_of(Store& store) {
    paes_source* made = nullptr;
    (void)answer(paes_source_callback(read_store, &store, store.bytes.size(), "store", &made));
    return Source(made);
  }

  void create(Decisions& decisions) {
    const unsigned kind = static_cast<unsigned>(decisions.number(key_kinds));
    const paes_seal_for* const seal_for =
        decisions.one_in(16) ? nullptr : ground().seal_for[kind].get();
    const paes_file_options how = options(decisions);
    paes_writer* made = nullptr;
    chunks.clear();
    written_bytes = 0;
    writer_failed = in_order = false;
    writer_store = nullptr;
    writer.reset();
    if (decisions.one_in(3)) {
      (void)answer(paes_writer_create(path("written").c_str(), seal_for, &how, &made));
    } else {
      stores.push_back(std::make_unique<Store>());
      writer_store = stores.back().get();
      writer_store->kind = kind;
      writer_store->calls_to_failure = decisions.one_in(8) ? static_cast<int>(decisions.byte()) : 0;
      (void)answer(paes_writer_callback(write_store, writer_store, seal_for, &how, &made));
    }
    require(made == nullptr || seal_for != nullptr, "no writer for nobody");
    writer.reset(made);
    writer_kind = kind;
  }

  void write(Decisions& decisions) {
    const Buffer text =
        pattern(decisions.one_in(2) ? decisions.number(2 * chunk + 9) : decisions.number(300),
                written_bytes, 21);
    const int code = answer(paes_writer_write(writer.get(), text.data(), text.size()));
    if (code == PAES_OK) {
      require(!writer_failed && chunks.empty(), "no write after a failure or write_at");
      written_bytes += text.size();
      in_order = true;
    } else {
      writer_failed = writer_failed || code != PAES_USAGE;
    }
  }

  void write_at(Decisions& decisions) {
    const std::size_t first = decisions.number(5);
    const std::size_t count = decisions.number(3);
    const std::size_t part = decisions.one_in(4) ? decisions.number(chunk) : 0;
    const std::size_t offset = first * chunk + (decisions.one_in(16) ? 1 : 0);
    const Buffer text = pattern(count * chunk + part, offset, 21);
    const int code = answer(paes_writer_write_at(writer.get(), offset, text.data(), text.size()));
    if (code != PAES_OK) {
      writer_failed = writer_failed || code != PAES_USAGE;
      return;
    }
    require(!writer_failed && !in_order && writer_store == nullptr && offset % chunk == 0,
            "write_at where it can be");
    for (std::size_t i = first; i * chunk < offset + text.size(); ++i) {
      require(chunks.insert(i).second, "each chunk is written once");
    }
    written_bytes = std::max(written_bytes, text.empty() ? 0 : offset + text.size());
  }

  void commit() {
    std::uint64_t bytes = 0;
    const int code = answer(paes_writer_commit(writer.get(), &bytes));
    if (code == PAES_OK) {
      require(!writer_failed && bytes == written_bytes, "as much as was written");
      require(in_order || chunks.empty() || *chunks.rbegin() + 1 == chunks.size(), "no gap");
      Store* made = writer_store;
      if (made == nullptr) {
        stores.push_back(std::make_unique<Store>());
        made = stores.back().get();
        made->kind = writer_kind;
        made->bytes = contents(path("written"));
      }
      made->sealed = made->bytes;
      made->text_bytes = written_bytes;
      made->calls_to_failure = 0;
      is_usage(paes_writer_commit(writer.get(), nullptr));
    }
    writer.reset();
    in_order = false;
  }

  static Buffer contents(const std::string& from) {
    Buffer all(std::filesystem::file_size(from));
    const int file = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = ::read(file, all.data(), all.size());
    (void)::close(file);
    require(got == static_cast<ssize_t>(all.size()), "a file is read");
    return all;
  }

  void open(Decisions& decisions) {
    Store& store = any_store(decisions);
    const unsigned kind =
        decisions.one_in(8) ? static_cast<unsigned>(decisions.number(key_kinds)) : store.kind;
    const paes_file_options how = options(decisions);
    const bool may_fail = store.calls_to_failure != 0;
    const Source source = source_of(store);
    paes_reader* made = nullptr;
    const int code =
        answer(paes_reader_open(source.get(), ground().open_with[kind].get(), &how, &made));
    require((code == PAES_OK) == (made != nullptr), "a reader or a failure");
    reader.reset(made);
    reader_store = &store;
    if (code == PAES_OK) {
      require(!store.sealed.empty() && kind == store.kind, "nothing else opens");
      require(paes_reader_size(made) == store.text_bytes, "a cut file does not open");
    } else {
      require(!store.is_intact() || kind != store.kind || may_fail || how.cancel != nullptr,
              "an intact file opens");
    }
  }

  void read(Decisions& decisions) {
    if (reader == nullptr) {
      std::size_t got = 7;
      is_usage(paes_reader_read_at(nullptr, 0, nullptr, 0, &got));
      return;
    }
    Store& store = *reader_store;
    const Buffer text = text_of(store);
    const std::size_t offset = decisions.number(store.text_bytes + 100);
    Buffer to(decisions.one_in(2) ? decisions.number(3 * chunk) : decisions.number(300), 0xee);
    std::size_t got = 7;
    const bool may_fail = store.calls_to_failure != 0;
    const int code = answer(paes_reader_read_at(reader.get(), offset, to.data(), to.size(), &got));
    if (code != PAES_OK) {
      require(is_zero(to) && got == 0, "zeros after a failure");
      require(code != PAES_CORRUPT || !store.is_intact(), "what is intact is authentic");
      require(code != PAES_FAILURE || may_fail || !store.is_intact() || cancel != nullptr,
              "what is intact is read");
      return;
    }
    const std::size_t end = std::min(text.size(), offset + to.size());
    require(got == (offset < end ? end - offset : 0), "as much as there is");
    require(got == 0 || std::memcmp(to.data(), text.data() + offset, got) == 0,
            "what was written reads back");
  }

  void change(Decisions& decisions) {
    Store& store = any_store(decisions);
    store.longest_read = decisions.one_in(4) ? decisions.number(2000) : 0;
    store.calls_to_failure = decisions.one_in(4) ? static_cast<int>(decisions.number(8)) : 0;
    store.lies = decisions.one_in(8);
    // What a writer has not ended is left alone.
    if (&store == writer_store && writer != nullptr) {
      return;
    }
    switch (decisions.number(4)) {
      case 0:
        if (!store.bytes.empty()) {
          const std::size_t at = decisions.number(store.bytes.size());
          store.bytes[at] ^= static_cast<std::uint8_t>(1U << decisions.number(8));
        }
        break;
      case 1:
        store.bytes.resize(decisions.number(store.bytes.size() + 20));
        break;
      case 2:
        store.bytes = store.sealed.empty() ? decisions.rest() : store.sealed;
        break;
      default:
        break;
    }
  }

  void whole(Decisions& decisions) {
    Store& store = any_store(decisions);
    paes_file_options how = options(decisions);
    const paes_open_with* const with = ground().open_with[store.kind].get();
    const bool can = store.is_intact() && store.calls_to_failure == 0 && how.cancel == nullptr &&
                     how.progress == nullptr;
    const Source source = source_of(store);
    const std::string out = path("out");
    if (decisions.one_in(2)) {
      paes_verification found;
      std::memset(&found, 1, sizeof found);
      const int code = answer(paes_verify_file(source.get(), with, &how, &found));
      require((code == PAES_OK) == (found.is_authentic == 1), "PAES_OK is authentic");
      require(code != PAES_OK || store.is_intact(), "what is not intact is not authentic");
      require(code == PAES_OK || !can, "an intact file is authentic");
      require(found.damaged_count <= PAES_MAX_DAMAGED, "not more than there is room for");
      std::uint64_t last = 0;
      for (std::size_t i = 0; i < found.damaged_count; ++i) {
        require(found.damaged[i].first >= last && found.damaged[i].end >= found.damaged[i].first &&
                    found.damaged[i].end <= found.text_bytes,
                "ranges of the text in order");
        last = found.damaged[i].end;
      }
      return;
    }
    std::uint64_t bytes = 0;
    (void)unlink(out.c_str());
    const int code = answer(paes_decrypt_file(source.get(), out.c_str(), with, &how, &bytes));
    require(code == PAES_OK || !can, "an intact file is decrypted");
    require((code == PAES_OK) == std::filesystem::exists(out), "a file or a failure");
    require(code != PAES_OK || (bytes == store.text_bytes && contents(out) == text_of(store)),
            "what was written is decrypted");
  }

  void inspect(Decisions& decisions) {
    Store& store = any_store(decisions);
    const bool may_fail = store.calls_to_failure != 0;
    const Source source = source_of(store);
    paes_file_info info;
    paes_stanza stanzas[3];
    const std::size_t room = decisions.number(4);
    if (is_ok(paes_inspect_file(source.get(), &info, stanzas, room))) {
      require(info.key_bits == 128 || info.key_bits == 256, "AES has two keys here");
      require(info.text_bytes <= store.bytes.size(), "no more text than file");
      for (std::size_t i = 0; i < std::min(room, info.stanza_count); ++i) {
        require(std::memchr(stanzas[i].type, 0, sizeof stanzas[i].type) != nullptr, "a string");
      }
    } else {
      require(!store.is_intact() || store.kind != 0 || may_fail, "an intact file is inspected");
    }
  }

  // A text to a file and back, all in one.
  void encrypt(Decisions& decisions) {
    Store text;
    text.bytes = pattern(decisions.number(3 * chunk), 0, 21);
    text.longest_read = decisions.one_in(4) ? decisions.number(5000) : 0;
    text.calls_to_failure = decisions.one_in(8) ? static_cast<int>(decisions.number(5)) : 0;
    const unsigned kind = static_cast<unsigned>(decisions.number(key_kinds));
    const paes_file_options how = options(decisions);
    const bool can = text.calls_to_failure == 0 && how.cancel == nullptr && how.progress == nullptr;
    const Source source = source_of(text);
    std::uint64_t bytes = 0;
    (void)unlink(path("out").c_str());
    const int code = answer(paes_encrypt_file(source.get(), path("out").c_str(),
                                              ground().seal_for[kind].get(), &how, &bytes));
    require(code == PAES_OK || !can, "a text is encrypted");
    if (code == PAES_OK) {
      require(bytes == text.bytes.size(), "all of it");
      stores.push_back(std::make_unique<Store>());
      Store& made = *stores.back();
      made.bytes = made.sealed = contents(path("out"));
      made.kind = kind;
      made.text_bytes = bytes;
    }
  }

  unsigned writer_kind = 0;
  bool in_order = false;
};

Files::Files() : state_(std::make_unique<State>()) {}
Files::~Files() = default;

void Files::step(Decisions& decisions) {
  switch (decisions.number(16)) {
    case 0:
    case 1:
      return state_->create(decisions);
    case 2:
    case 3:
      return state_->write(decisions);
    case 4:
    case 5:
      return state_->write_at(decisions);
    case 6:
      return state_->commit();
    case 7:
    case 8:
      return state_->open(decisions);
    case 9:
    case 10:
      return state_->read(decisions);
    case 11:
      return state_->change(decisions);
    case 12:
      return state_->whole(decisions);
    case 13:
      return state_->inspect(decisions);
    default:
      return state_->encrypt(decisions);
  }
}

}  // namespace paes::fuzz
