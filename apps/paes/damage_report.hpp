// What verify says of a file that is not authentic: which bytes of the plaintext and of the file,
// as lines on standard error and in JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stream/damage.hpp"

namespace paes::cli {

// Prints a line for each range where there are several; throws Error(corrupt) with the sum, and
// with the range where there is one alone.
void require_authentic(const std::string& name, const stream::Verification& found,
                       bool prints_lines);

// The member "damage" of docs/schema/transfer.schema.json, where there is some.
void add_damage(nlohmann::ordered_json& file, const stream::Verification& found);

}  // namespace paes::cli
