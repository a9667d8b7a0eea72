// SPDX-License-Identifier: Apache-2.0
#include "age/hybrid_stanza.hpp"

#include "encoding/encodings.hpp"

namespace paes::age {

HybridStanza read_hybrid(const Stanza& stanza) {
  HybridStanza fields;
  const auto arguments = stanza.split_arguments();
  if (arguments.size() != 2 || !base64::decode(arguments[1], fields.encapsulation) ||
      !stanza.decode_body(fields.wrapped)) {
    throw corrupt("malformed " + std::string(hybrid_type) + " stanza");
  }
  return fields;
}

}  // namespace paes::age
