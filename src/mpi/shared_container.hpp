// SPDX-License-Identifier: Apache-2.0
// Containers by many ranks: each has a run of stripes, which it reads, seals or opens, and writes
// at offsets that follow from their numbers. The bytes are those that one process writes.
#pragma once

#include <span>

#include "core/secret.hpp"
#include "format/container.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_file.hpp"
#include "stream/container/container_file.hpp"

namespace paes::mpi {

// What rank 0 knows of a file to be encrypted; on the other ranks none of it is looked at.
struct Sealed {
  container::Shape shape;
  std::vector<std::uint8_t> envelope;
  SecretBytes input_key;  // what the envelope holds
};

// All are collective, and throw the same Error on all ranks. Each rank has work of its own;
// `cancel` is not looked at (the communicator has one), and `progress` follows the work of all.

// Writes the container, and commits it.
stream::Totals encrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       Sealed sealed, const stream::Work& work);

// The same with a chosen salt, for tests that compare bytes (stream/container/container_file.hpp
// says more).
stream::Totals encrypt_with_salt(Communicator& communicator, SharedInput& input,
                                 SharedOutput& output, Sealed sealed, Bytes salt,
                                 const stream::Work& work);

// What rank 0 has found in a container that others only need to be told: its header, and the key
// that its envelope held.
struct Opened {
  container::Header header = {};
  SecretBytes input_key;
};

// Opens the payload and commits the text; only authenticated bytes are written.
stream::Totals decrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       Opened opened, const stream::Work& work);

// Authenticates everything and writes nothing. Returns the same damage on all ranks.
[[nodiscard]] stream::Verification verify(Communicator& communicator, SharedInput& input,
                                          Opened opened, const stream::Work& work);

}  // namespace paes::mpi
