// `paes-mpi encrypt`: rank 0 makes the key and its envelope; each rank encrypts a run of stripes.
#include <CLI/CLI.hpp>

#include "message/cipher_name.hpp"
#include "mpi/container.hpp"
#include "mpi/resume.hpp"
#include "paes-mpi/job.hpp"
#include "paes-mpi/ranks.hpp"
#include "paes/keys.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "paes/resume.hpp"
#include "paes/sealing.hpp"

namespace paes::cli {

namespace {

struct Request {
  RecipientOptions recipients;
  PassphraseOptions passphrase;
  ReopenOptions reopen;
  std::string suite = "aes-256-gcm";
  JobOptions job;
};

std::uint64_t encrypt_file(const Request& request, container::Suite suite, Sealer& sealer,
                           mpi::SharedInput& input, const std::string& path,
                           const stream::Options& options) {
  mpi::SharedOutput output(ranks(), path, output_options(request.job, input, true),
                           request.job.file_access());
  warn_of_abandoned(output);
  mpi::Sealed sealed{suite, {}, {}};
  on_first([&] {
    // Nobody types a passphrase for an input or output that cannot be.
    if (sealer.recipients.empty() && sealer.passphrase.empty()) {
      sealer.passphrase = request.passphrase.read_new();
    }
    stream::NewKey made = make_key(suite, sealer);
    sealed.envelope = std::move(made.envelope);
    sealed.input_key = std::move(made.input_key);
  });
  const stream::Totals totals = mpi::encrypt(ranks(), input, output, std::move(sealed), options);
  if (output.made() != nullptr) {
    warn_about(*output.made());
    warn_of_leftover(path);
    warn_of_partial(path);
  }
  return totals.text_bytes;
}

stream::ResumedTotals encrypt_resumably(const Request& request, container::Suite suite,
                                        Sealer& sealer, std::optional<Reopener>& reopener,
                                        mpi::SharedInput& input, const std::string& path,
                                        const stream::Options& options) {
  std::optional<stream::Output> output;  // on rank 0, as what follows
  std::vector<std::uint8_t> settings;
  on_first([&] {
    request.reopen.refuse_as_output(path);
    output.emplace(create_output(request.job.transfer, path, input.here(),
                                 stream::encrypted_mode(input.here()), true));
    if (sealer.recipients.empty() && sealer.passphrase.empty()) {
      sealer.passphrase = request.passphrase.read_new();
    }
    settings = reopener->settings();
  });
  const stream::ResumedTotals totals = mpi::encrypt_resumably(
      ranks(), input, output ? &*output : nullptr,
      {suite, settings, [&](Bytes envelope) { return reopener->open(envelope); },
       [&] { return make_key(suite, sealer); }, warn_of_restart},
      options);
  if (output) {
    if (!request.job.transfer.quiet) {
      print_kept(*output, totals);
    }
    warn_about(*output);
    warn_of_leftover(path);
  }
  return totals;
}

int encrypt(Request& request) {
  container::Suite suite = {};
  Sealer sealer;
  std::optional<Reopener> reopener;  // on rank 0
  const std::string path = request.job.output_or(encrypted_name(request.job.file));
  settle(request.job, request.passphrase.standard_input_uses() +
                          request.recipients.standard_input_uses() +
                          request.reopen.standard_input_uses());
  on_first([&] {
    check_recipients(request.recipients.given(), request.passphrase.given(),
                     "-r RECIPIENT, -R FILE or -p; paes keygen makes keys");
    check_resume(request.job.transfer.resume, request.reopen, request.passphrase.given());
    suite = parse_suite(request.suite);
    sealer.recipients = request.recipients.load();
    reopener.emplace(request.reopen, sealer.recipients, sealer.passphrase);
    if (request.job.transfer.resume) {
      reopener->check_opens();
    }
    if (request.passphrase.has_source()) {
      sealer.passphrase = request.passphrase.read_new();
    }
    request.passphrase.refuse_as_output(path);
  });
  WorkChooser chooser = choose_work(request.job, find_cipher_name("aes-256-gcm"));
  const Job job{
      "encrypt", path,
      [&](mpi::SharedInput& input, const std::string& output, const stream::Options& options) {
        return encrypt_file(request, suite, sealer, input, output, options);
      }};
  return run_job(
      request.job, chooser, job,
      [&](mpi::SharedInput& input, const std::string& output, const stream::Options& options) {
        return encrypt_resumably(request, suite, sealer, reopener, input, output, options);
      });
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->recipients.declare(app);
  app.add_flag("-p,--passphrase", request->passphrase.ask,
               "encrypt to a passphrase, asked for at the terminal of rank 0; goes alone");
  request->passphrase.declare(app, "", "encrypt to the passphrase in this file");
  app.add_option("--suite", request->suite, "aes-256-gcm or aes-128-gcm")
      ->type_name("NAME")
      ->capture_default_str();
  request->job.declare_output(app);
  request->job.transfer.declare_resume(app);
  request->reopen.declare(app);
  request->job.declare(app);
  return [request] {
    return run_with_file("encrypt", request->job, [&] { return encrypt(*request); });
  };
}

}  // namespace

const Command mpi_command_encrypt = {"encrypt", "encrypt a file", declare};

}  // namespace paes::cli
