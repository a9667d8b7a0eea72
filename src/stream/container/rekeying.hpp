// SPDX-License-Identifier: Apache-2.0
// A change of recipients, and what it asks its caller for when it needs it.
#pragma once

#include <functional>

#include "age/header.hpp"

namespace paes::stream {

struct Rekeying {
  using Use = std::function<void(const age::Credentials& credentials)>;

  // Which recipients go and come. Null: all are replaced by those of `seal_to`.
  const age::RecipientChange* change = nullptr;
  // Calls `use` with what opens the file, and passes on what it throws.
  std::function<void(const Use& use)> with_credentials;
  std::function<age::SealTo()> seal_to;
  // Told what is not as it should be with a file that was written anew. May be null.
  std::function<void(const std::string& what_why)> warn = nullptr;
};

}  // namespace paes::stream
