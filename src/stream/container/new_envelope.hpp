// SPDX-License-Identifier: Apache-2.0
// Changes a container's recipients: replaces the envelope around the same input key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "age/envelope.hpp"
#include "stream/container/preamble_file.hpp"

namespace paes::stream {

// A change of recipients, and what it asks its caller for when it needs it.
struct Rekeying {
  // Which recipients go and come. Null: all are replaced by those of `seal_to`.
  const age::RecipientChange* change = nullptr;
  std::function<age::OpenEnvelope(Bytes envelope)> open;
  std::function<age::SealTo()> seal_to;
};

// Returns how many recipients the file has now. Throws Error: failure when an interrupted change
// has left its copy and when the new envelope has too little room, usage for a file of age and for
// a change that makes no sense, before anybody is asked for a key, corrupt when the payload belongs
// to another envelope.
std::size_t rekey_file(const PreambleFile& file, const Rekeying& rekeying);

// Undoes an interrupted change, and returns how many recipients the file then has. Throws like
// PreambleFile::read_leftover, and Error(corrupt) if the copy belongs to another file.
std::size_t restore_recipients(const PreambleFile& file, const Rekeying& rekeying);

}  // namespace paes::stream
