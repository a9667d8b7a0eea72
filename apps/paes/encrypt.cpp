// `paes encrypt`: a fresh input key for each file, sealed in an age envelope to recipients or to a
// passphrase, and the payload behind it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "format/container.hpp"
#include "paes/command.hpp"
#include "paes/keyfile.hpp"
#include "paes/keys.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "paes/resume.hpp"
#include "paes/sealing.hpp"
#include "paes/transfer.hpp"

namespace paes::cli {

namespace {

struct Request {
  RecipientOptions recipients;
  PassphraseOptions passphrase;
  ReopenOptions reopen;
  std::string new_identity;
  std::string suite = "aes-256-gcm";
  TransferOptions transfer;
};

// The key file of --new-identity: on disk before anything is encrypted to it, and removed again
// when nothing was.
class NewIdentity {
 public:
  explicit NewIdentity(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) {
      const age::Identity identity = age::generate_identity();
      recipient_ = age::recipient_of(identity);
      write_new_secret_file(path_, identity_file_text(identity));
    }
  }
  ~NewIdentity() {
    if (recipient_ && !kept_) {
      (void)unlink(path_.c_str());
    }
  }
  NewIdentity(const NewIdentity&) = delete;
  NewIdentity& operator=(const NewIdentity&) = delete;

  [[nodiscard]] const std::optional<age::Recipient>& recipient() const { return recipient_; }
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
  std::optional<age::Recipient> recipient_;
  bool kept_ = false;
};

std::uint64_t encrypt_one(const Request& request, container::Suite suite, Sealer& sealer,
                          NewIdentity& identity, stream::Input& input, const std::string& path,
                          const stream::Options& options) {
  identity.refuse_as_output(path);
  request.passphrase.refuse_as_output(path);
  stream::Output output =
      create_output(request.transfer, path, input, stream::encrypted_mode(input));
  if (sealer.recipients.empty() && sealer.passphrase.empty()) {
    sealer.passphrase = request.passphrase.read_new();
  }
  const stream::NewKey made = make_key(suite, sealer);
  if (!output.is_discardable()) {
    identity.keep();  // what goes down a pipe may be kept by whoever reads it
  }
  std::uint64_t text_bytes = 0;
  try {
    text_bytes =
        stream::encrypt(input, output, suite, made.envelope, made.input_key, options).text_bytes;
  } catch (...) {
    // The last steps, syncing the folder for one, can fail after the output is complete.
    if (output.has_its_name()) {
      identity.keep();
    }
    throw;
  }
  identity.keep();
  warn_about(output);
  warn_of_leftover(path);
  warn_of_partial(path);
  return text_bytes;
}

stream::ResumedTotals encrypt_resumably(const Request& request, container::Suite suite,
                                        Sealer& sealer, Reopener& reopener, stream::Input& input,
                                        const std::string& path, const stream::Options& options) {
  request.passphrase.refuse_as_output(path);
  request.reopen.refuse_as_output(path);
  stream::Output output =
      create_output(request.transfer, path, input, stream::encrypted_mode(input), true);
  if (sealer.recipients.empty() && sealer.passphrase.empty()) {
    sealer.passphrase = request.passphrase.read_new();
  }
  const std::vector<std::uint8_t> settings = reopener.settings();
  const stream::ResumedTotals totals = stream::encrypt_resumably(
      input, output,
      {suite, settings, [&](Bytes envelope) { return reopener.open(envelope); },
       [&] { return make_key(suite, sealer); }, warn_of_restart},
      options);
  if (!request.transfer.quiet) {
    print_kept(output, totals);
  }
  warn_about(output);
  warn_of_leftover(path);
  return totals;
}

int encrypt_files(Request& request) {
  check_recipients(request.recipients.given() || !request.new_identity.empty(),
                   request.passphrase.given(), "-r RECIPIENT, -R FILE, --new-identity FILE or -p");
  if (request.transfer.resume && !request.new_identity.empty()) {
    throw Error(ErrorCode::usage, "resume: does not go with --new-identity",
                "make the key first: paes keygen -o FILE");
  }
  check_resume(request.transfer.resume, request.reopen, request.passphrase.given());
  settle(request.transfer, true,
         request.passphrase.standard_input_uses() + request.recipients.standard_input_uses() +
             request.reopen.standard_input_uses());
  const container::Suite suite = parse_suite(request.suite);
  WorkChooser chooser = request.transfer.device.choose(request.transfer.notes());
  Sealer sealer;
  sealer.recipients = request.recipients.load();
  Reopener reopener(request.reopen, sealer.recipients, sealer.passphrase);
  if (request.transfer.resume) {
    reopener.check_opens();
  }
  // Nobody types one for an input or output that cannot be; see encrypt_one.
  if (request.passphrase.has_source()) {
    sealer.passphrase = request.passphrase.read_new();
  }
  if (!request.new_identity.empty()) {
    start_threads(request.transfer, chooser);
  }
  NewIdentity identity(request.new_identity);
  if (identity.recipient()) {
    sealer.recipients.push_back(*identity.recipient());
  }
  Transfer transfer{"encrypt", encrypted_name, nullptr, nullptr};
  std::uint64_t resumed_bytes = 0;
  transfer.work = [&](stream::Input& input, const std::string& path,
                      const stream::Options& options) {
    resumed_bytes = 0;
    if (request.transfer.resume && is_resumable(input, path)) {
      const stream::ResumedTotals totals =
          encrypt_resumably(request, suite, sealer, reopener, input, path, options);
      resumed_bytes = totals.kept_text_bytes;
      return totals.text_bytes;
    }
    return encrypt_one(request, suite, sealer, identity, input, path, options);
  };
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    if (identity.is_kept()) {
      document["identity_file"] = request.new_identity;
      document["public_key"] = age::to_string(*identity.recipient());
    }
  };
  if (request.transfer.resume) {
    transfer.more_of_file = [&](auto& file) { file["resumed_bytes"] = resumed_bytes; };
  }
  const int code = run_transfer(request.transfer, chooser, transfer);
  if (identity.is_kept() && !request.transfer.quiet) {
    print_note("Public key: " + age::to_string(*identity.recipient()));
  }
  return code;
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->recipients.declare(app);
  app.add_flag("-p,--passphrase", request->passphrase.ask,
               "encrypt to a passphrase, asked for at the terminal; goes alone");
  request->passphrase.declare(app, "", "encrypt to the passphrase in this file");
  app.add_option("--new-identity", request->new_identity,
                 "make a key pair, keep it in this new file, and encrypt to it")
      ->type_name("FILE");
  app.add_option("--suite", request->suite, "aes-256-gcm or aes-128-gcm")
      ->type_name("NAME")
      ->capture_default_str();
  request->transfer.declare_output(app);
  request->transfer.declare_resume(app);
  request->reopen.declare(app);
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
