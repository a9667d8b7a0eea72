// SPDX-License-Identifier: Apache-2.0
// `paes encrypt`: a fresh input key for each file, sealed in an age envelope to recipients or to a
// passphrase, and the payload after it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>

#include "age/x25519.hpp"
#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/file_run.hpp"
#include "cli/key_options.hpp"
#include "cli/keyfile.hpp"
#include "cli/option_list.hpp"
#include "cli/own_key.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "cli/sealing.hpp"
#include "format/container.hpp"
#include "stream/container/chunk_cipher.hpp"

namespace paes::cli {

namespace {

struct EncryptCommand {
  SealOptions sealing;
  OwnKeyOptions own_key;
  TransferOptions transfer;
  std::string format;  // empty: what goes with the keys
  bool is_armored = false;
  bool has_suite = false;
  bool has_reserve = false;

  [[nodiscard]] stream::Encoding encoding() const noexcept {
    return is_armored ? stream::Encoding::armored : stream::Encoding::binary;
  }
};

// Throws Error(usage) for an unknown name and for options that the format does not have.
const stream::FileFormat& parse_format(const EncryptCommand& command) {
  const bool has_own_key = command.own_key.is_given();
  const stream::FileFormat& format = stream::find_format(!command.format.empty() ? command.format
                                                         : has_own_key           ? "cobblestone"
                                                                                 : "paes");
  const std::string name = format.name;
  const std::string why = ": cannot be combined with --format " + name;
  refuse(format.is_bare() && !has_own_key, "format: a file of " + name + " has no recipients",
         "give --key-file FILE or --key-fd N");
  refuse(!format.is_bare() && has_own_key, "key" + why,
         "leave out --format, or give -r RECIPIENT in place of the key");
  refuse(!format.has_shape && command.has_suite, "suite" + why, "leave out one of them");
  refuse(!format.has_shape && command.has_reserve, "reserve" + why, "leave out one of them");
  refuse(!format.is_resumable && command.transfer.resume, "resume" + why, "leave out one of them");
  refuse(command.is_armored && command.transfer.resume,
         "resume: cannot be combined with --armor: text cannot be continued",
         "leave out one of them");
  refuse(!format.has_armor && command.is_armored, "armor" + why, "add --format age");
  return format;
}

// The key file of --new-identity: on disk before anything is encrypted to it, and removed again
// when nothing was.
class NewIdentity {
 public:
  explicit NewIdentity(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) {
      const age::SharedIdentity identity = age::generate_x25519();
      write_new_secret_file(path_, [&] { return age::identity_file_text(*identity); });
      recipient_ = identity->recipients().front();
    }
  }
  ~NewIdentity() {
    if (recipient_ != nullptr && !kept_) {
      (void)unlink(path_.c_str());
    }
  }
  NewIdentity(const NewIdentity&) = delete;
  NewIdentity& operator=(const NewIdentity&) = delete;

  // Null: no new identity was asked for.
  [[nodiscard]] const age::SharedRecipient& recipient() const { return recipient_; }
  // With -f an output of that name would replace the only key that opens it.
  void refuse_as_output(const stream::FilePlace& output) const {
    if (recipient_ != nullptr) {
      refuse_secret_as_output(output, path_, "new key");
    }
  }
  // Any thread may call it.
  void keep() { kept_ = true; }
  [[nodiscard]] bool is_kept() const { return recipient_ != nullptr && kept_; }

 private:
  std::string path_;
  age::SharedRecipient recipient_;
  std::atomic<bool> kept_{false};
};

// What the files of a run are encrypted with.
struct NewKeys {
  Sealer sealer;
  NewIdentity identity;
  std::optional<OwnKey> own;  // in place of the others

  explicit NewKeys(const EncryptCommand& command)
      : sealer(command.sealing, command.sealing.shape()), identity(command.sealing.new_identity) {
    if (identity.recipient() != nullptr) {
      sealer.add(identity.recipient());
    }
    if (command.own_key.is_given()) {
      own = command.own_key.read();
    }
  }

  [[nodiscard]] stream::NewPayload new_payload(const stream::FileFormat& format,
                                               const stream::Work& work) const {
    if (own) {
      return stream::new_bare_payload(own->key, own->context, work);
    }
    return sealer.sealed(
        [&](const age::SealTo& to) { return format.new_payload(to, sealer.shape(), work); });
  }
};

stream::Totals encrypt_afresh(const EncryptCommand& command, NewKeys& keys, stream::Input& input,
                              stream::Output& output, const stream::Work& work) {
  NewIdentity& identity = keys.identity;
  const stream::NewPayload payload = keys.new_payload(parse_format(command), work);
  if (!output.is_discardable()) {
    identity.keep();  // what goes down a pipe may be kept by whoever reads it
  }
  try {
    const stream::Totals totals =
        stream::encrypt_file(input, output, payload, work, command.encoding());
    if (output.unnamed() == nullptr) {
      identity.keep();
    }
    return totals;
  } catch (...) {
    // The last steps, syncing the folder for one, can fail after the output is complete.
    if (output.has_its_name()) {
      identity.keep();
    }
    throw;
  }
}

WrittenOutput encrypt_one(const EncryptCommand& command, NewKeys& keys, const FileTask& task) {
  const stream::FileFormat& format = parse_format(command);
  task.outcome.take(format);
  const stream::FilePlace& output_place = task.output;
  refuse(command.transfer.expected_bytes && task.input.is_storage(),
         task.input.name() + ": its size is known, so --size says nothing", "leave out --size");
  const bool resumable = is_resumable(command.transfer, task.input, output_place.path);
  keys.identity.refuse_as_output(output_place);
  command.sealing.refuse_as_output(output_place);
  command.own_key.refuse_as_output(output_place);
  std::unique_ptr<stream::Output> output =
      create_output(command.transfer, output_place, task.input,
                    {.encrypts = true, .is_resumable = resumable, .is_grouped = task.is_grouped});
  if (!keys.own) {
    keys.sealer.ask_passphrase();
  }
  const stream::Totals totals =
      resumable
          ? stream::encrypt_resumably(
                task.input, *output,
                format.has_shape ? keys.sealer.resumable() : keys.sealer.resumable_age(), task.work)
          : encrypt_afresh(command, keys, task.input, *output, task.work);
  const bool looks_for_remains = may_have_remains(*output);
  WrittenOutput written = hand_on(command.transfer, std::move(output), totals);
  if (looks_for_remains) {
    warn_of_leftover(output_place);
    if (!resumable) {
      warn_of_partial(output_place);
    }
  }
  return written;
}

int encrypt_files(EncryptCommand& command) {
  const bool resume = command.transfer.resume;
  const SealOptions& sealing = command.sealing;
  const stream::FileFormat& format = parse_format(command);
  const NameOutput name_output = [&format](const std::string& name) {
    return encrypted_name(name, format);
  };
  refuse(command.transfer.expected_bytes &&
             (command.transfer.files.size() > 1 || command.transfer.inputs.are_listed()),
         "size: --size is that of one pipe, but there may be several inputs", "leave out --size");
  command.own_key.check(sealing.is_given());
  if (!command.own_key.is_given()) {
    sealing.check(resume, "-r RECIPIENT, -R FILE, -i IDENTITY, --new-identity FILE or -p");
  }
  FileList list = settle(command.transfer, InputKind::plain, name_output,
                         sealing.standard_input_uses() + command.own_key.standard_input_uses());
  WorkChooser chooser =
      command.transfer.device.choose(format.why_cpu_alone, command.transfer.notes());
  if (!sealing.new_identity.empty()) {
    start_threads(list, chooser);
  }
  NewKeys keys(command);
  NewIdentity& identity = keys.identity;
  Transfer transfer{"encrypt", name_output, InputKind::plain,
                    [&](const FileTask& task) { return encrypt_one(command, keys, task); }};
  transfer.layout = [](const stream::Work& work) {
    return stream::sealing_layout(0, std::nullopt, work);
  };
  transfer.has_named = [&] { identity.keep(); };
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    if (identity.is_kept()) {
      document["identity_file"] = sealing.new_identity;
      document["public_key"] = identity.recipient()->text();
    }
    command.own_key.add_id(document);
  };
  const int code = run_transfer(command.transfer, chooser, transfer, std::move(list));
  if (identity.is_kept() && !command.transfer.quiet) {
    print_note("Public key: " + identity.recipient()->text());
  }
  return code;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const stream::FileFormat* const format : stream::file_formats()) {
    names.emplace_back(format->name);
  }
  return names;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<EncryptCommand>();
  command->sealing.declare(app, "the terminal", true);
  command->own_key.declare(app);
  app.add_option("--format", command->format,
                 "the format of the new file (default: paes, and cobblestone with --key-file); age "
                 "itself opens a file of age")
      ->type_name(join_choices(format_names()));
  app.add_flag("-a,--armor", command->is_armored, "with --format age: write text (ASCII armor)");
  app.add_flag("-e")->group("");  // beside -d of decrypt
  command->transfer.declare_output(app);
  takes_bytes(app.add_option("--size", command->transfer.expected_bytes,
                             "about how many bytes a pipe will bring, for the progress line")
                  ->type_name("BYTES"));
  command->transfer.inputs.declare(app, true);
  command->transfer.declare_resume(app);
  command->sealing.declare_reopen(app);
  command->transfer.declare_common(app, "transfer");
  app.add_option("FILE", command->transfer.files,
                 "files to encrypt, each to FILE and the suffix of its format; - is standard "
                 "input, the default");
  app.get_option("--suite")->each([command](const std::string&) { command->has_suite = true; });
  app.get_option("--reserve")->each([command](const std::string&) { command->has_reserve = true; });
  return [command] {
    return run_with_files("encrypt", command->transfer, [&] { return encrypt_files(*command); });
  };
}

}  // namespace

extern const Command command_encrypt = {"encrypt", "encrypt files", declare};

}  // namespace paes::cli
