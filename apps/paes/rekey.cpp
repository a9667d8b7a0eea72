// `paes rekey`: other recipients for a file, by a new envelope around the same input key. The
// payload stays where and what it is.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "paes/command.hpp"
#include "paes/decimal.hpp"
#include "paes/keys.hpp"
#include "paes/process.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "stream/preamble_file.hpp"

namespace paes::cli {

namespace {

struct Request {
  UnlockOptions unlock;
  RecipientOptions recipients;
  PassphraseOptions new_passphrase;
  bool add = false;
  std::vector<std::size_t> remove;  // counted from 1, as inspect lists them
  bool restore = false;
  bool quiet = false;
  bool json = false;
  std::string file;
};

void check(const Request& request) {
  const bool passphrase = request.new_passphrase.given();
  const bool recipients = request.recipients.given();
  const bool removes = !request.remove.empty();
  refuse(request.restore && (request.add || removes || recipients || passphrase),
         "rekey: --restore takes no new recipients");
  refuse(!request.restore && !recipients && !passphrase && !removes, "rekey: no new recipients",
         "give -r RECIPIENT, -R FILE, --new-passphrase or --remove NUMBER");
  refuse(removes && (passphrase || (recipients && !request.add)),
         "rekey: new recipients replace all of the old ones, so there is none to remove",
         "leave out --remove, or give --add");
  refuse(passphrase && (request.add || recipients),
         "rekey: a passphrase goes alone, the age format allows no other beside it");
  refuse_several_uses_of_standard_input(request.unlock.standard_input_uses() +
                                        request.recipients.standard_input_uses() +
                                        request.new_passphrase.standard_input_uses());
}

// In order, and counted from 0.
std::vector<std::size_t> places_of(std::vector<std::size_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (std::size_t& number : numbers) {
    --number;
  }
  return numbers;
}

std::vector<std::uint8_t> new_envelope(const Request& request, Unlocker& unlocker, Bytes envelope,
                                       Bytes input_key) {
  if (request.new_passphrase.given()) {
    return age::seal_to_passphrase(request.new_passphrase.read_new(), input_key,
                                   age::written_work_factor, until_signal());
  }
  const std::vector<age::SharedRecipient> recipients = request.recipients.load();
  if (!request.remove.empty()) {
    const std::vector<std::uint8_t> kept =
        age::remove_recipients(envelope, unlocker.credentials(), places_of(request.remove));
    return recipients.empty() ? kept
                              : age::add_recipients(kept, unlocker.credentials(), recipients);
  }
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

std::size_t change_recipients(const Request& request, Unlocker& unlocker,
                              const stream::PreambleFile& file) {
  if (stream::has_leftover(request.file)) {
    throw Error(ErrorCode::failure,
                request.file + ": an interrupted rekey left " + stream::leftover_path(request.file),
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

std::size_t restore(Unlocker& unlocker, const stream::PreambleFile& file) {
  const stream::Preamble copy = file.read_leftover();
  const std::string path = stream::leftover_path(file.name());
  const SecretBytes input_key = unlocker.open(copy.envelope());
  if (!file.commits_to(copy.header, input_key)) {
    throw Error(ErrorCode::corrupt, path + ": belongs to another file, and is not put back");
  }
  const std::size_t recipients = age::summarize(copy.envelope()).stanzas.size();
  file.put_back(copy.bytes);
  return recipients;
}

int rekey_file(const Request& request) {
  check(request);
  Unlocker unlocker(request.unlock);
  const std::size_t recipients = work_on_file("rekey", request.file, request.json, [&] {
    try {
      const stream::PreambleFile file(request.file, {cancel(), leftover_hint(request.file),
                                                     print_warning_with_hint, warn_of_abandoned});
      return request.restore ? restore(unlocker, file) : change_recipients(request, unlocker, file);
    } catch (const Error& error) {
      throw about(request.file, error);
    }
  });
  if (request.json) {
    print_json({{"command", "rekey"},
                {"file", request.file},
                {"action", request.restore           ? "restored"
                           : !request.remove.empty() ? "removed"
                           : request.add             ? "added"
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
  app.add_option(
         "--remove", request->remove,
         "remove the recipient of this number, counted from 1 as inspect lists them; may be "
         "repeated")
      ->type_name("NUMBER")
      ->allow_extra_args(false)
      ->check(decimal())
      ->check(CLI::PositiveNumber);
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
