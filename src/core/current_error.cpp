// SPDX-License-Identifier: Apache-2.0
#include "core/current_error.hpp"

#include <exception>
#include <new>
#include <string>

namespace paes {

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::failure, "memory: not enough of it"};
  } catch (const std::exception& error) {
    return {ErrorCode::failure, std::string("internal error: ") + error.what()};
  }
}

}  // namespace paes
