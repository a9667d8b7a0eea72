#include "paes/sealing.hpp"

#include "paes/error.hpp"
#include "paes/passphrase.hpp"

namespace paes::cli {

container::Suite parse_suite(const std::string& name) {
  if (name == "aes-256-gcm") {
    return container::Suite::cobblestone_256;
  }
  if (name == "aes-128-gcm") {
    return container::Suite::cobblestone_128;
  }
  throw Error(ErrorCode::usage, "suite: unknown name '" + name + "'",
              "there are: aes-256-gcm, aes-128-gcm");
}

void check_recipients(bool has_recipient, bool has_passphrase, const std::string& ways) {
  if (has_recipient && has_passphrase) {
    throw Error(ErrorCode::usage,
                "recipients: a passphrase goes alone, the age format allows no other beside it",
                "leave out -p or the recipients");
  }
  if (!has_recipient && !has_passphrase) {
    throw Error(ErrorCode::usage, "recipients: nobody could decrypt the output", "give " + ways);
  }
}

std::vector<std::uint8_t> Sealer::seal(Bytes key) const {
  return recipients.empty()
             ? age::seal_to_passphrase(passphrase, key, age::written_work_factor, until_signal())
             : age::seal_to_recipients(recipients, key);
}

stream::NewKey make_key(container::Suite suite, const Sealer& sealer) {
  stream::NewKey made{SecretBytes(container::key_bytes(suite)), {}};
  random_bytes(made.input_key);
  made.envelope = sealer.seal(made.input_key);
  return made;
}

}  // namespace paes::cli
