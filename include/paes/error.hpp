// SPDX-License-Identifier: Apache-2.0
// The one exception type of paes. For example, a damaged file throws Error(corrupt) and a senseless
// request Error(usage). A forged message does not throw: it is a [[nodiscard]] result of Gcm and
// SealedContext.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "paes/export.h"

namespace paes {
inline namespace v0 {

// These are also the exit codes of the command line (see paes(1), EXIT STATUS).
enum class ErrorCode : int {
  failure = 1,    // I/O, resources, everything without a code of its own
  usage = 2,      // the request makes no sense: options, names, sizes
  corrupt = 3,    // the input is damaged, truncated or not a file of paes or age
  wrong_key = 4,  // nothing given opens the file: identities, passphrase, or own key and context
};

// what() is one line, "WHAT: WHY". `hint` says what the user can do about it, or is empty.
class PAES_API Error : public std::runtime_error {
 public:
  Error(ErrorCode error_code, const std::string& what_why, std::string hint_text = {})
      : std::runtime_error(what_why), code(error_code), hint(std::move(hint_text)) {}

  ErrorCode code;
  std::string hint;
};

}  // namespace v0
}  // namespace paes
