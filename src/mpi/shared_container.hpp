// SPDX-License-Identifier: Apache-2.0
// Containers by many ranks. Each rank has a run of stripes, which it reads, seals or opens, and
// writes at offsets that follow from the stripes' numbers. The bytes are those that one process
// would write.
#pragma once

#include <span>

#include "core/secret.hpp"
#include "format/container.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_file.hpp"
#include "stream/container/container_file.hpp"

namespace paes::mpi {

// What rank 0 knows about a file to encrypt. The other ranks' is ignored.
struct SharedPayload {
  container::Shape shape;
  std::vector<std::uint8_t> envelope;
  SecretBytes input_key;  // the envelope's content
};

// All are collective and throw the same Error on all ranks. Each rank has its own Work; `cancel`
// is ignored (the communicator has one), and `progress` counts the work of all ranks.

// Writes the container, and commits it.
stream::Totals encrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       SharedPayload sealed, const stream::Work& work);

// Encrypts with a chosen salt, for tests that compare bytes (see
// stream/container/container_file.hpp).
stream::Totals encrypt_with_salt(Communicator& communicator, SharedInput& input,
                                 SharedOutput& output, SharedPayload sealed, Bytes salt,
                                 const stream::Work& work);

// What rank 0 has found in a container and tells the others: header, and key in the envelope.
struct SharedHeader {
  container::Header header = {};
  SecretBytes input_key;
};

// Decrypts the payload and commits the text. Only authenticated bytes are written.
stream::Totals decrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       SharedHeader opened, const stream::Work& work);

// Authenticates everything, and writes nothing. Returns the same damage on all ranks.
[[nodiscard]] stream::Verification verify(Communicator& communicator, SharedInput& input,
                                          SharedHeader opened, const stream::Work& work);

}  // namespace paes::mpi
