// `paes keygen`: a new key pair in age's own format, so that age reads it too.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "paes/command.hpp"
#include "paes/keyfile.hpp"
#include "paes/keys.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

struct Request {
  std::string output = "-";
  bool json = false;
};

void warn_if_others_can_read_standard_output() {
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
      (status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    print_warning("standard output: other users can read this file, which gets a secret key");
  }
}

int make_key(const Request& request) {
  refuse(request.json && request.output == "-",
         "keygen: --json needs -o, or the key would stand in the JSON");
  const age::X25519Identity identity = age::generate_identity();
  const std::string public_key = age::to_string(age::recipient_of(identity));
  const SecretBytes text = age::identity_file_text(identity);
  if (request.output != "-") {
    work_on_file("keygen", request.output, request.json,
                 [&] { write_new_secret_file(request.output, text); });
    if (request.json) {
      print_json({{"command", "keygen"}, {"file", request.output}, {"public_key", public_key}});
      return exit_done;
    }
  } else {
    warn_if_others_can_read_standard_output();
    write_standard_output(text);
  }
  if (request.output != "-" || isatty(STDOUT_FILENO) == 0) {
    print_note("Public key: " + public_key);
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  app.add_option("-o,--output", request->output,
                 "where to keep the key, mode 0600, never over a file that exists; - is standard "
                 "output, the default")
      ->type_name("FILE");
  app.add_flag("--json", request->json, "print JSON (docs/schema/keygen.schema.json)");
  return [request] { return make_key(*request); };
}

}  // namespace

const Command command_keygen = {"keygen", "make a key pair", declare};

}  // namespace paes::cli
