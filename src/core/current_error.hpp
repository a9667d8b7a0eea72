// Every way to fail as an Error, so that each program and each rank says it in the same words.
#pragma once

#include "paes/error.hpp"

namespace paes {

// What a catch block is handling. Whatever is no std::exception goes on as it is.
[[nodiscard]] Error current_error();

}  // namespace paes
