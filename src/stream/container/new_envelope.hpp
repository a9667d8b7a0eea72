// SPDX-License-Identifier: Apache-2.0
// Other recipients for a container: a new envelope around the same input key, in the place of the
// old one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "age/envelope.hpp"
#include "stream/container/preamble_file.hpp"

namespace paes::stream {

// What a change of recipients asks its caller for, in this order.
struct Rekeying {
  // Throws where the change makes no sense for this envelope, before anybody is asked for a key.
  std::function<void(Bytes envelope)> check;
  std::function<age::OpenEnvelope(Bytes envelope)> open;
  std::function<std::vector<std::uint8_t>(const age::OpenEnvelope& old)> reseal;
};

// Returns how many recipients the file has now. Throws Error: failure when an interrupted change
// has left its copy and when the new envelope has too little room, usage for a file of age, corrupt
// when the payload belongs to another envelope.
std::size_t rekey(const PreambleFile& file, const Rekeying& rekeying);

// Puts back what an interrupted change left, and returns how many recipients the file has then.
// Throws as PreambleFile::read_leftover does, and Error(corrupt) when that is another file's.
std::size_t restore_recipients(const PreambleFile& file, const Rekeying& rekeying);

}  // namespace paes::stream
