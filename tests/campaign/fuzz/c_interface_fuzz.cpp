// SPDX-License-Identifier: Apache-2.0
// A program that uses the C interface: each input is a row of calls with their arguments, nulls
// among them. What was written reads back, damage never gives wrong bytes, refusals write nothing,
// and every code is one that the headers name. AddressSanitizer finds what is not freed.
#include "fuzz/c_interface_calls.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace paes::fuzz;
  Decisions decisions(data, bytes);
  Files files;
  Keystreams keystreams;
  for (int steps = 0; steps < 48 && !decisions.is_over(); ++steps) {
    switch (decisions.number(8)) {
      case 0:
        gcm_step(decisions);
        break;
      case 1:
        cipher_step(decisions);
        break;
      case 2:
      case 3:
        keystreams.step(decisions);
        break;
      default:
        files.step(decisions);
    }
  }
  return 0;
}
