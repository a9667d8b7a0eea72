// `paes encrypt`: a fresh input key for each file, sealed in an age envelope to recipients or to a
// passphrase, and the payload after it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "format/container.hpp"
#include "paes/command.hpp"
#include "paes/keyfile.hpp"
#include "paes/keys.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "paes/sealing.hpp"
#include "paes/transfer.hpp"

namespace paes::cli {

namespace {

struct Request {
  SealOptions sealing;
  TransferOptions transfer;
};

// The key file of --new-identity: on disk before anything is encrypted to it, and removed again
// when nothing was.
class NewIdentity {
 public:
  explicit NewIdentity(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) {
      const age::X25519Identity identity = age::generate_identity();
      recipient_ = age::recipient_of(identity);
      write_new_secret_file(path_, age::identity_file_text(identity));
    }
  }
  ~NewIdentity() {
    if (recipient_ && !kept_) {
      (void)unlink(path_.c_str());
    }
  }
  NewIdentity(const NewIdentity&) = delete;
  NewIdentity& operator=(const NewIdentity&) = delete;

  [[nodiscard]] const std::optional<age::X25519Recipient>& recipient() const { return recipient_; }
  // With -f an output of that name would replace the only key that opens it.
  void refuse_as_output(const std::string& path) const {
    std::error_code error;
    if (recipient_ && std::filesystem::equivalent(path, path_, error)) {
      throw Error(ErrorCode::usage, path + ": is the file of the new key",
                  "name another file with --new-identity or -o");
    }
  }
  void keep() { kept_ = true; }
  [[nodiscard]] bool is_kept() const { return recipient_ && kept_; }

 private:
  std::string path_;
  std::optional<age::X25519Recipient> recipient_;
  bool kept_ = false;
};

std::uint64_t encrypt_afresh(const Sealer& sealer, NewIdentity& identity, stream::Input& input,
                             stream::Output& output, const stream::Options& options) {
  const stream::NewKey made = sealer.make_key();
  if (!output.is_discardable()) {
    identity.keep();  // what goes down a pipe may be kept by whoever reads it
  }
  try {
    const stream::NewPayload payload = stream::new_container(
        sealer.suite(), made.envelope, made.input_key, options.kernel, options.device_use);
    const stream::Totals totals = stream::encrypt(input, output, payload, options);
    identity.keep();
    return totals.text_bytes;
  } catch (...) {
    // The last steps, syncing the folder for one, can fail after the output is complete.
    if (output.has_its_name()) {
      identity.keep();
    }
    throw;
  }
}

stream::ResumedTotals encrypt_one(const Request& request, Sealer& sealer, NewIdentity& identity,
                                  stream::Input& input, const std::string& path,
                                  const stream::Options& options) {
  const bool resumable = is_resumable(request.transfer, input, path);
  identity.refuse_as_output(path);
  request.sealing.passphrase.refuse_as_output(path);
  request.sealing.reopen.refuse_as_output(path);
  stream::Output output = create_output(request.transfer, path, input, true, resumable);
  sealer.ask_passphrase();
  stream::ResumedTotals totals;
  if (resumable) {
    totals = stream::encrypt_resumably(input, output, sealer.resumable(), options);
  } else {
    totals.text_bytes = encrypt_afresh(sealer, identity, input, output, options);
  }
  report_written(request.transfer, output, totals);
  warn_of_leftover(path);
  if (!resumable) {
    warn_of_partial(path);
  }
  return totals;
}

int encrypt_files(Request& request) {
  const bool resume = request.transfer.resume;
  const SealOptions& sealing = request.sealing;
  sealing.check(resume, "-r RECIPIENT, -R FILE, --new-identity FILE or -p");
  settle(request.transfer, true, sealing.standard_input_uses());
  const container::Suite suite = parse_suite(sealing.suite);
  WorkChooser chooser = request.transfer.device.choose(request.transfer.notes());
  Sealer sealer(sealing, suite, resume);
  if (!sealing.new_identity.empty()) {
    start_threads(request.transfer, chooser);
  }
  NewIdentity identity(sealing.new_identity);
  if (identity.recipient()) {
    sealer.add(*identity.recipient());
  }
  Transfer transfer{"encrypt", encrypted_name, nullptr};
  transfer.work = [&](stream::Input& input, const std::string& path,
                      const stream::Options& options) {
    return encrypt_one(request, sealer, identity, input, path, options);
  };
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    if (identity.is_kept()) {
      document["identity_file"] = sealing.new_identity;
      document["public_key"] = age::to_string(*identity.recipient());
    }
  };
  const int code = run_transfer(request.transfer, chooser, transfer);
  if (identity.is_kept() && !request.transfer.quiet) {
    print_note("Public key: " + age::to_string(*identity.recipient()));
  }
  return code;
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->sealing.declare(app, "the terminal", true);
  request->transfer.declare_output(app);
  request->transfer.declare_resume(app);
  request->sealing.declare_reopen(app);
  request->transfer.declare_common(app, "transfer");
  app.add_option("FILE", request->transfer.files,
                 "files to encrypt, each to FILE.paes; - is standard input, the default");
  return [request] {
    return run_with_files("encrypt", request->transfer, [&] { return encrypt_files(*request); });
  };
}

}  // namespace

const Command command_encrypt = {"encrypt", "encrypt files", declare};

}  // namespace paes::cli
