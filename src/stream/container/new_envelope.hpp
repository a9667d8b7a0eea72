// SPDX-License-Identifier: Apache-2.0
// Changes a file's recipients. A container gets another envelope around the same input key, in
// place. A file of age, which has no room for another header, is written anew beside the old one,
// with the same payload, and then replaces it.
#pragma once

#include <cstddef>

#include "stream/container/preamble_file.hpp"
#include "stream/container/rekeying.hpp"

namespace paes::stream {

// Returns how many recipients the file has now. Throws Error: failure when an interrupted change
// has left its copy, when the new envelope has too little room, and when a file that must be
// written anew has several names; usage for a file without recipients and for a change that makes
// no sense, before anybody is asked for a key; corrupt when the payload belongs to another
// envelope.
std::size_t rekey_file(const PreambleFile& file, const Rekeying& rekeying);

// Undoes an interrupted change, and returns how many recipients the file then has. Throws like
// PreambleFile::read_leftover, and Error(corrupt) if the copy belongs to another file.
std::size_t restore_recipients(const PreambleFile& file, const Rekeying& rekeying);

}  // namespace paes::stream
