#include "core/descriptor.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "paes/error.hpp"

namespace paes {

Descriptor::~Descriptor() {
  if (owned_ && number_ >= 0) {
    (void)close(number_);
  }
}

void throw_errno(const std::string& what) {
  const int error = errno;
  throw Error(ErrorCode::failure, what + ": " + std::strerror(error));
}

}  // namespace paes
