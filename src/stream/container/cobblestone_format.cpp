// SPDX-License-Identifier: Apache-2.0
// A payload alone, under a key that its owner keeps: Cobblestone without anything of ours. Nothing
// in such a file tells its format.
#include "stream/container/file_format.hpp"

namespace paes::stream {

extern const FileFormat format_cobblestone = {.name = "cobblestone",
                                              .suffix = ".cobblestone",
                                              .chunking = cobblestone::chunking,
                                              .has_shape = false,
                                              .kernel = "",
                                              .why_cpu_alone = "",
                                              .is_resumable = false,
                                              .is_rekeyed_in_place = false,
                                              .has_armor = false,
                                              .is_format_of = nullptr,
                                              .read_head = nullptr,
                                              .new_payload = nullptr};

}  // namespace paes::stream
