// `paes rekey`: other recipients for a file, by a new envelope around the same input key. The
// payload stays where and what it is.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "format/cobblestone.hpp"
#include "paes/command.hpp"
#include "paes/keys.hpp"
#include "paes/process.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "stream/container.hpp"

namespace paes::cli {

namespace {

Descriptor open_locked(const std::string& path) {
  // O_NONBLOCK: a FIFO of that name must not hang us; it is refused later.
  Descriptor descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!descriptor.is_open()) {
    throw_errno(path);
  }
  if (flock(descriptor.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw Error(ErrorCode::failure, path + ": another process is changing its recipients");
    }
    throw_errno(path);
  }
  return descriptor;
}

Descriptor open_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string name = parent.empty() ? "." : parent.string();
  Descriptor folder = open_folder(name);
  if (!folder.is_open()) {
    throw_errno(name);
  }
  return folder;
}

// The one part of a file that changes in place: everything before the payload. It is replaced under
// a lock, with a synced copy of the old bytes beside the file until the new ones are synced. So a
// crash at any moment leaves either the old envelope, the new one, or the copy to go back to.
class PreambleFile {
 public:
  // Opens for writing and takes the lock. Throws Error(failure) when another process has it.
  explicit PreambleFile(const std::string& path)
      : name_(path),
        descriptor_(open_locked(path)),
        folder_(open_folder_of(leftover_path(path))),
        input_(stream::Input::of(Descriptor(fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0)), path,
                                 &cancel())) {
    if (!input_.is_regular()) {
      throw Error(ErrorCode::failure, path + ": is not a regular file");
    }
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] stream::Input& input() noexcept { return input_; }

  // Whether `input_key` is the one that the payload after `header` was made with. Throws
  // Error(corrupt) when the file ends before that.
  [[nodiscard]] bool commits_to(const container::Header& header, Bytes input_key) const {
    if (input_key.size() != container::key_bytes(header.suite)) {
      return false;
    }
    if (input_.bytes() < header.payload_offset() + cobblestone::prefix_bytes) {
      throw Error(ErrorCode::corrupt, name_ + ": ends before its payload");
    }
    std::array<std::uint8_t, cobblestone::prefix_bytes> prefix;
    input_.read_at(header.payload_offset(), MutableBytes(prefix));
    const std::array<std::uint8_t, container::header_bytes> encoded = container::encode(header);
    const Secret<cobblestone::StreamKeys> keys =
        cobblestone::derive(header.suite, input_key, Bytes(prefix).first(cobblestone::salt_bytes),
                            Bytes(encoded).first(container::context_bytes));
    return equal_constant_time(keys->commitment, Bytes(prefix).subspan(cobblestone::salt_bytes));
  }

  // Copy, write, sync, remove the copy. `before` and `after` have the same length. Throws Error
  // only when the file does not hold `after`; a copy that cannot be removed is a warning.
  void replace(Bytes before, Bytes after) {
    assert(before.size() == after.size());
    keep_copy(before);
    // The point of no return: nothing has changed yet but the copy.
    if (cancel().requested()) {
      remove_copy();
      cancel().check();
    }
    write(after);
    remove_copy();
  }

  // Writes and syncs, then removes the copy.
  void put_back(Bytes before) {
    write(before);
    remove_copy();
  }

  // The copy that an interrupted replace left, checked as far as that goes without a key. Throws
  // Error(corrupt), Error(failure) when there is none.
  [[nodiscard]] stream::Preamble read_leftover() const {
    const std::string path = leftover_path(name_);
    if (!has_leftover(name_)) {
      throw Error(ErrorCode::failure, name_ + ": nothing to put back, there is no " + path);
    }
    const auto damaged = [&] {
      return Error(ErrorCode::corrupt, path + ": is not a whole copy that rekey made",
                   "if the file opens without it, delete it");
    };
    std::optional<stream::Input> copy = stream::Input::open_regular(path, &cancel());
    if (!copy) {
      throw damaged();
    }
    try {
      stream::Preamble preamble = stream::read_preamble(*copy);
      if (copy->is_seekable() && copy->bytes() == preamble.bytes.size()) {
        return preamble;
      }
    } catch (const Error& error) {
      if (error.code != ErrorCode::corrupt) {
        throw;
      }
    }
    throw damaged();
  }

 private:
  // Output gives the copy its name only when it is complete and synced: a half-written one never
  // exists. A crash must not take the copy away while the file holds half an envelope.
  void keep_copy(Bytes before) const {
    stream::OutputOptions options;
    options.only_new = true;
    options.permissions = S_IRUSR | S_IWUSR;
    options.must_last = true;
    options.cancel = &cancel();
    stream::Output copy = stream::Output::create(leftover_path(name_), options);
    warn_of_abandoned(copy);
    copy.write(before);
    copy.commit(before.size());
  }

  // Not interruptible: between the first byte and the sync the file may hold half an envelope.
  void write(Bytes preamble) const {
    const auto failed = [&] {
      const int error = errno;
      return Error(ErrorCode::failure,
                   name_ + ": the new recipients could not be written: " + std::strerror(error),
                   leftover_hint(name_));
    };
    std::size_t done = 0;
    while (done < preamble.size()) {
      const ssize_t written = pwrite(descriptor_.number(), preamble.data() + done,
                                     preamble.size() - done, static_cast<off_t>(done));
      if (written >= 0) {
        done += static_cast<std::size_t>(written);
      } else if (errno != EINTR) {
        throw failed();
      }
    }
    if (fsync(descriptor_.number()) != 0) {
      throw failed();
    }
  }

  // The file is whole by now, so what fails here is no failure of the work.
  void remove_copy() const {
    const std::string path = leftover_path(name_);
    if (unlink(path.c_str()) != 0) {
      const int error = errno;
      print_warning(path + ": could not be removed: " + std::strerror(error));
      print_hint(name_ + " is whole without it: delete it");
    } else if (const int error = sync_folder(folder_.number(), descriptor_.number()); error != 0) {
      print_warning(path + ": may be back after a crash, because its folder could not be synced: " +
                    std::strerror(error));
      print_hint(name_ + " is whole without it: if it comes back, delete it");
    }
  }

  std::string name_;
  Descriptor descriptor_;
  Descriptor folder_;  // where the copy lies
  stream::Input input_;
};

struct Request {
  UnlockOptions unlock;
  RecipientOptions recipients;
  PassphraseOptions new_passphrase;
  bool add = false;
  bool restore = false;
  bool quiet = false;
  bool json = false;
  std::string file;
};

void check(const Request& request) {
  const bool passphrase = request.new_passphrase.given();
  const bool recipients = request.recipients.given();
  refuse(request.restore && (request.add || recipients || passphrase),
         "rekey: --restore takes no new recipients");
  refuse(!request.restore && !recipients && !passphrase, "rekey: no new recipients",
         "give -r RECIPIENT, -R FILE or --new-passphrase");
  refuse(passphrase && (request.add || recipients),
         "rekey: a passphrase goes alone, the age format allows no other beside it");
  refuse_several_uses_of_standard_input(request.unlock.standard_input_uses() +
                                        request.recipients.standard_input_uses() +
                                        request.new_passphrase.standard_input_uses());
}

std::vector<std::uint8_t> new_envelope(const Request& request, Unlocker& unlocker, Bytes envelope,
                                       Bytes input_key) {
  if (request.new_passphrase.given()) {
    return age::seal_to_passphrase(request.new_passphrase.read_new(), input_key,
                                   age::written_work_factor, until_signal());
  }
  const std::vector<age::Recipient> recipients = request.recipients.load();
  return request.add ? age::add_recipients(envelope, unlocker.credentials(), recipients)
                     : age::seal_to_recipients(recipients, input_key);
}

// The same place for the payload, whatever the new envelope's length.
container::Header new_header(const std::string& name, const container::Header& before,
                             std::size_t envelope_bytes) {
  if (envelope_bytes > before.envelope_room() || envelope_bytes > container::max_envelope_bytes) {
    throw Error(ErrorCode::failure,
                name + ": the new envelope has " + std::to_string(envelope_bytes) +
                    " bytes, and there is room for " + std::to_string(before.envelope_room()),
                "write a new file: paes decrypt, then paes encrypt");
  }
  container::Header after = before;
  after.envelope_bytes = static_cast<std::uint32_t>(envelope_bytes);
  return after;
}

std::size_t change_recipients(const Request& request, Unlocker& unlocker, PreambleFile& file) {
  if (has_leftover(request.file)) {
    throw Error(ErrorCode::failure,
                request.file + ": an interrupted rekey left " + leftover_path(request.file),
                leftover_hint(request.file));
  }
  const stream::Preamble before = stream::read_preamble(file.input());
  const SecretBytes input_key = unlocker.open(before.envelope());
  if (!file.commits_to(before.header, input_key)) {
    throw Error(ErrorCode::corrupt,
                request.file + ": its payload was not made with its envelope's key");
  }
  const std::vector<std::uint8_t> envelope =
      new_envelope(request, unlocker, before.envelope(), input_key);
  const container::Header header = new_header(request.file, before.header, envelope.size());
  const std::vector<std::uint8_t> after = container::encode_preamble(header, envelope);
  const std::size_t recipients = age::summarize(envelope).stanzas.size();
  file.replace(before.bytes, after);
  return recipients;
}

std::size_t restore(Unlocker& unlocker, PreambleFile& file) {
  const stream::Preamble copy = file.read_leftover();
  const std::string path = leftover_path(file.name());
  const SecretBytes input_key = unlocker.open(copy.envelope());
  if (!file.commits_to(copy.header, input_key)) {
    throw Error(ErrorCode::corrupt, path + ": belongs to another file, and is not put back");
  }
  const std::size_t recipients = age::summarize(copy.envelope()).stanzas.size();
  file.put_back(copy.bytes);
  return recipients;
}

// Errors from the formats do not know the file's name.
Error about(const std::string& name, const Error& error) {
  const std::string text = error.what();
  return text.rfind(name, 0) == 0 ? error : Error(error.code, name + ": " + text, error.hint);
}

int rekey_file(const Request& request) {
  check(request);
  Unlocker unlocker(request.unlock);
  std::size_t recipients = 0;
  try {
    PreambleFile file(request.file);
    recipients =
        request.restore ? restore(unlocker, file) : change_recipients(request, unlocker, file);
  } catch (const Error& error) {
    if (request.json) {
      print_json_failure("rekey", request.file, about(request.file, error));
    }
    throw about(request.file, error);
  }
  if (request.json) {
    print_json({{"command", "rekey"},
                {"file", request.file},
                {"action", request.restore ? "restored"
                           : request.add   ? "added"
                                           : "replaced"},
                {"recipients", recipients}});
  } else if (!request.quiet && request.restore) {
    print_note("paes: " + request.file + ": the old recipients are back");
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->unlock.declare(app);
  request->recipients.declare(app);
  app.add_flag("--add", request->add, "keep the recipients that are there and add these");
  app.add_flag("--new-passphrase", request->new_passphrase.ask,
               "change to a passphrase, asked for at the terminal");
  request->new_passphrase.declare(app, "new-", "change to the passphrase in this file");
  app.add_flag("--restore", request->restore,
               "put back what an interrupted rekey kept beside the file");
  app.add_flag("-q,--quiet", request->quiet, "say nothing but errors and warnings");
  app.add_flag("--json", request->json, "print JSON (docs/schema/rekey.schema.json)");
  app.add_option("FILE", request->file, "the file whose recipients change")->required();
  return [request] { return rekey_file(*request); };
}

}  // namespace

const Command command_rekey = {"rekey", "change who can decrypt a file, without rewriting it",
                               declare};

}  // namespace paes::cli
