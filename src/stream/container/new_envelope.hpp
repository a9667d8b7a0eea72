// SPDX-License-Identifier: Apache-2.0
// Changes a container's recipients: replaces the envelope around the same input key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "age/envelope.hpp"
#include "stream/container/preamble_file.hpp"

namespace paes::stream {

// What a change of recipients asks of its caller, in this order.
struct Rekeying {
  // Throws if the change makes no sense for this envelope, before anybody is asked for a key.
  std::function<void(Bytes envelope)> check;
  std::function<age::OpenEnvelope(Bytes envelope)> open;
  std::function<std::vector<std::uint8_t>(const age::OpenEnvelope& old)> reseal;
};

// Changes the recipients and returns how many the file has now. Throws Error(failure) if an
// interrupted change has left its copy or the new envelope has too little room, Error(usage) for a
// file of age, and Error(corrupt) if the payload belongs to another envelope.
std::size_t rekey(const PreambleFile& file, const Rekeying& rekeying);

// Undoes an interrupted change, and returns how many recipients the file then has. Throws like
// PreambleFile::read_leftover, and Error(corrupt) if the copy belongs to another file.
std::size_t restore_recipients(const PreambleFile& file, const Rekeying& rekeying);

}  // namespace paes::stream
