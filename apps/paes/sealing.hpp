// For whom a file is encrypted: the suite by its name, and new keys in envelopes for recipients or
// a passphrase.
#pragma once

#include <string>
#include <vector>

#include "format/age.hpp"
#include "format/container.hpp"
#include "stream/resume.hpp"

namespace paes::cli {

// Throws Error(usage) that lists the names.
[[nodiscard]] container::Suite parse_suite(const std::string& name);

// Throws Error(usage) where nobody could open the output, or an envelope cannot be made so. `ways`
// are the program's options that would do, for the hint.
void check_recipients(bool has_recipient, bool has_passphrase, const std::string& ways);

struct Sealer {
  std::vector<age::Recipient> recipients;
  SecretBytes passphrase;  // without recipients

  [[nodiscard]] std::vector<std::uint8_t> seal(Bytes key) const;
};

[[nodiscard]] stream::NewKey make_key(container::Suite suite, const Sealer& sealer);

}  // namespace paes::cli
