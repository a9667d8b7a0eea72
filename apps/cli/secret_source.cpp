// SPDX-License-Identifier: Apache-2.0
#include "cli/secret_source.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/decimal.hpp"
#include "cli/keyfile.hpp"
#include "cli/process.hpp"
#include "paes/error.hpp"
#include "stream/file/small_file.hpp"

namespace paes::cli {

void SecretSource::declare(CLI::App& app, const std::string& name, const std::string& in_file,
                           const std::string& in_descriptor) {
  CLI::Option* const file =
      app.add_option("--" + name + "-file", file_, in_file)->type_name("FILE");
  app.add_option("--" + name + "-fd", descriptor_, in_descriptor)
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::NonNegativeNumber)
      ->excludes(file);
}

std::string SecretSource::name() const {
  return descriptor_ ? fmt::format("descriptor {}", *descriptor_) : file_;
}

unsigned SecretSource::standard_input_uses() const {
  return descriptor_ == 0 || is_standard_input(file_) ? 1 : 0;
}

void SecretSource::refuse_as_output(const stream::FilePlace& output, const char* what) const {
  refuse_secret_as_output(output, file_, what);
}

SecretBytes SecretSource::read(std::size_t max_bytes) const {
  if (!descriptor_) {
    return stream::read_small_file(file_, max_bytes, &cancel());
  }
  // All descriptors that paes opens close on exec, and inherited ones never do. So a wrong number
  // cannot make paes read one of its own.
  if ((fcntl(*descriptor_, F_GETFD) & FD_CLOEXEC) != 0 ||
      (fcntl(*descriptor_, F_GETFL) & O_ACCMODE) == O_WRONLY) {
    throw Error(ErrorCode::failure, name() + ": is not open for reading");
  }
  return stream::read_small_file(*descriptor_, name(), max_bytes, &cancel());
}

}  // namespace paes::cli
