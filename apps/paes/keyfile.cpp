#include "paes/keyfile.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "paes/process.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "stream/output.hpp"
#include "stream/wait.hpp"

namespace paes::cli {

SecretBytes read_small_file(int descriptor, const std::string& name, std::size_t max_bytes) {
  constexpr std::size_t first_capacity_bytes = 4096;
  // One byte above the cap is enough to know that there is too much.
  SecretBytes contents(std::min(first_capacity_bytes, max_bytes + 1));
  std::size_t filled = 0;
  for (;;) {
    refuse(filled > max_bytes, name + ": longer than " + std::to_string(max_bytes) + " bytes");
    if (filled == contents.size()) {
      SecretBytes larger(std::min(filled * 4, max_bytes + 1));
      std::memcpy(larger.data(), contents.data(), filled);
      contents = std::move(larger);
    }
    stream::wait_ready(descriptor, POLLIN, &cancel(), nullptr);
    const ssize_t got = read(descriptor, contents.data() + filled, contents.size() - filled);
    if (got == 0) {
      contents.truncate(filled);
      return contents;
    }
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR && errno != EAGAIN) {
      throw_errno(name);
    }
  }
}

SecretBytes read_small_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!descriptor.is_open()) {
    throw_errno(path);
  }
  return read_small_file(descriptor.number(), path, max_bytes);
}

void refuse_secret_as_output(const std::string& output, const std::string& secret_file,
                             const char* what) {
  struct stat written = {};
  struct stat secret = {};
  refuse(output != "-" && stat(output.c_str(), &written) == 0 &&
             stat(secret_file.c_str(), &secret) == 0 && stream::is_storage(written.st_mode) &&
             stream::identity_of(written) == stream::identity_of(secret),
         output + ": is the file of the " + what, "name another output with -o");
}

void write_new_secret_file(const std::string& path, Bytes contents) {
  stream::OutputOptions options;
  options.only_new = true;
  options.permissions = S_IRUSR | S_IWUSR;
  options.must_last = true;  // nothing is encrypted to a key that a crash could take away
  options.cancel = &cancel();
  stream::Output file = stream::Output::create(path, options);
  warn_of_abandoned(file);
  file.write(contents);
  file.commit(contents.size());
  if (!file.warning().empty()) {
    print_warning(file.warning());
  }
}

void write_standard_output(Bytes contents) {
  while (!contents.empty()) {
    const ssize_t written = write(STDOUT_FILENO, contents.data(), contents.size());
    if (written >= 0) {
      contents = contents.subspan(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw_standard_output_errno();
    }
  }
  sync_written(STDOUT_FILENO, "standard output");
}

bool is_standard_input(const std::string& path) {
  struct stat named = {};
  struct stat standard = {};
  return !path.empty() && stat(path.c_str(), &named) == 0 && fstat(STDIN_FILENO, &standard) == 0 &&
         stream::identity_of(named) == stream::identity_of(standard);
}

unsigned standard_input_uses(const std::vector<std::string>& paths) {
  return static_cast<unsigned>(std::count_if(paths.begin(), paths.end(), is_standard_input));
}

void refuse_several_uses_of_standard_input(unsigned uses) {
  refuse(uses > 1, "standard input: can be read for one purpose only");
}

}  // namespace paes::cli
