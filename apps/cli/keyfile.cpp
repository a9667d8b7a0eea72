// SPDX-License-Identifier: Apache-2.0
#include "cli/keyfile.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "age/keys.hpp"
#include "cli/process.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "core/descriptor.hpp"
#include "core/write_all.hpp"
#include "paes/error.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/small_file.hpp"

namespace paes::cli {

void refuse_secret_as_output(const stream::FilePlace& output, const std::string& secret_file,
                             const char* what) {
  struct stat written = {};
  struct stat secret = {};
  refuse(!secret_file.empty() && output.path != "-" &&
             fstatat(output.folder, output.name().c_str(), &written, 0) == 0 &&
             stat(secret_file.c_str(), &secret) == 0 && stream::is_storage(written.st_mode) &&
             stream::identity_of(written) == stream::identity_of(secret),
         output.path + ": is the file of the " + what, "name another output");
}

SecretBytes read_key_file(const std::string& path) {
  return path == "-" ? stream::read_small_file(STDIN_FILENO, "standard input",
                                               stream::max_key_file_bytes, &cancel())
                     : stream::read_key_file(path, &cancel());
}

bool holds_hexadecimal(Bytes contents) {
  constexpr std::size_t least_digits = 16;
  std::size_t others = 0;
  std::size_t last_newline = 0;  // 1: the last byte is a newline, which is allowed
  for (const unsigned byte : contents) {
    const bool is_decimal = byte - '0' < 10U;
    const bool is_letter = (byte | 0x20U) - 'a' < 6U;
    others += static_cast<std::size_t>(!is_decimal) & static_cast<std::size_t>(!is_letter);
    last_newline = static_cast<std::size_t>(byte == '\n');
  }
  return (others == last_newline) & (contents.size() - last_newline >= least_digits);
}

void write_new_secret_file(const std::string& path, const std::function<SecretBytes()>& contents) {
  // Nothing is encrypted to a key that a crash could take away.
  const auto file =
      stream::create_output(path, {.only_new = true,
                                   .cancel = &cancel(),
                                   .warn = print_warning,
                                   .file = {.permissions = S_IRUSR | S_IWUSR, .must_last = true}});
  warn_of_abandoned(*file);
  const SecretBytes bytes = contents();
  file->write(bytes);
  file->commit(bytes.size());
  if (!file->warning().empty()) {
    print_warning(file->warning());
  }
}

void write_standard_output(Bytes contents) {
  if (!write_all(STDOUT_FILENO, contents, stop_descriptor())) {
    throw_standard_output_errno();
  }
  sync_written(STDOUT_FILENO, "standard output");
}

bool is_standard_input(const std::string& path) { return standard_input_uses({path}) == 1; }

unsigned standard_input_uses(const std::vector<std::string>& paths) {
  struct stat standard = {};
  const bool is_open = fstat(STDIN_FILENO, &standard) == 0;
  return static_cast<unsigned>(
      std::count_if(paths.begin(), paths.end(), [&](const std::string& path) {
        struct stat named = {};
        return path == "-" || (is_open && !path.empty() && stat(path.c_str(), &named) == 0 &&
                               stream::identity_of(named) == stream::identity_of(standard));
      }));
}

void refuse_several_uses_of_standard_input(unsigned uses) {
  refuse(uses > 1, "standard input: can be read for one purpose only");
}

}  // namespace paes::cli
