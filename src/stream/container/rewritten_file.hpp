// SPDX-License-Identifier: Apache-2.0
// Writes a file anew with another head before the same payload, and replaces the old file in one
// step, once the new one is synced. Whatever interrupts it, the old file or the new one is there.
#pragma once

#include <cstddef>

#include "stream/container/preamble_file.hpp"
#include "stream/container/rekeying.hpp"

namespace paes::stream {

// Returns how many recipients the file has now. Armor stays armor. Throws as rekey_file does.
std::size_t rewrite_file(const PreambleFile& file, const Rekeying& rekeying);

}  // namespace paes::stream
