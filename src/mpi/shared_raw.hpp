// SPDX-License-Identifier: Apache-2.0
// Raw messages by many ranks: the modes whose pieces run in parallel, and GCM as one message. The
// bytes are those that stream/raw/raw.hpp and stream/raw/raw_gcm.hpp would write in one process.
// Chained directions cannot be shared out.
#pragma once

#include "core/secret.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_file.hpp"
#include "stream/raw/raw.hpp"

namespace paes::mpi {

// What only rank 0 has read, but all ranks need: key, IV, and GCM's additional data.
struct RawSecrets {
  SecretBytes key;
  std::vector<std::uint8_t> iv;
  std::vector<std::uint8_t> aad;
};

// This function and all below are collective and throw the same Error on all ranks.
void share(Communicator& communicator, RawSecrets& secrets);

// Processes the whole message and commits the output. `task` is the same on all ranks and has no
// head. Throws Error(usage) for a chained direction.
stream::Totals crypt_raw(Communicator& communicator, SharedInput& input, SharedOutput& output,
                         const stream::RawTask& task, const stream::Work& work);

// Writes the ciphertext, then the tag of 16 bytes.
stream::Totals seal_gcm(Communicator& communicator, SharedInput& input, SharedOutput& output,
                        const GcmKey& key, Bytes iv, Bytes aad, const stream::Work& work);

// Writes nothing before the tag is checked, and hashes each piece again while decrypting it.
stream::Totals open_gcm(Communicator& communicator, SharedInput& input, SharedOutput& output,
                        const GcmKey& key, Bytes iv, Bytes aad, const stream::Work& work);

}  // namespace paes::mpi
