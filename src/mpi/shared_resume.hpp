// SPDX-License-Identifier: Apache-2.0
// Containers by many ranks in runs that can be interrupted and continued. stream/resume/resume.hpp
// says how, and when that is safe. Rank 0 has the lock and decides; each rank syncs its own stripes
// and records them in the one journal. So any number of ranks can continue a file that one process
// began, and the reverse.
#pragma once

#include "core/secret.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_file.hpp"
#include "stream/resume/resume.hpp"

namespace paes::mpi {

// Both are collective, throw the same AgreedError on all ranks, and commit the output. `output` is
// resumable on rank 0 and null on the others, which open its files by name. The input uses
// FileAccess::posix. Only rank 0's `task`, `preamble` and `input_key` count.

stream::Totals encrypt_resumably(Communicator& communicator, SharedInput& input,
                                 stream::Output* output, const stream::ResumableEncryption& task,
                                 const stream::Work& how);

stream::Totals decrypt_resumably(Communicator& communicator, SharedInput& input,
                                 stream::Output* output, const stream::Preamble& preamble,
                                 SecretBytes input_key, const stream::Note& note,
                                 const stream::Work& how);

}  // namespace paes::mpi
