// SPDX-License-Identifier: Apache-2.0
#include "stream/file/output.hpp"

#include <unistd.h>

#include <utility>

#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

Output::Output(std::string name, const OutputOptions& options)
    : cancel_(options.cancel), warn_(options.warn), name_(std::move(name)) {}

bool Output::is_terminal() const noexcept { return !is_seekable() && isatty(descriptor()) == 1; }

void Output::expect(const Need& need) {
  need_ = need;
  look_for_room(need);
}

void Output::check_room_there(const Need& need, std::uint64_t taken_bytes) const {
  const std::string warning = check_room(name_, descriptor(), need, taken_bytes);
  if (!warning.empty() && warn_) {
    warn_(warning);
  }
}

void Output::write(std::span<const iovec> from) {
  const std::uint64_t end = position_ + bytes_of(from);
  write_at(position_, from);
  position_ = end;
}

void Output::write(Bytes from) {
  const iovec one = {const_cast<std::uint8_t*>(from.data()), from.size()};
  write(std::span(&one, 1));
}

void Output::complete(const std::function<std::uint64_t()>& write_all) {
  if (!is_seekable()) {
    enlarge_pipe(descriptor());
  }
  std::uint64_t bytes = 0;
  try {
    bytes = write_all();
  } catch (const Error& error) {
    if (is_discardable() || position_ == 0) {
      throw;
    }
    const std::string what = std::string(error.what()) + "; " + std::to_string(position_) +
                             " bytes before that were already written to " + name_;
    if (dynamic_cast<const ClosedOutput*>(&error) != nullptr) {
      throw ClosedOutput(error.code, what, error.hint);
    }
    throw Error(error.code, what, error.hint);
  }
  commit(bytes);
}

void Output::fail_to_write(std::uint64_t before_bytes) const {
  throw write_error(name_, descriptor(), need_, before_bytes);
}

}  // namespace paes::stream
