// SPDX-License-Identifier: Apache-2.0
#include "stream/container/rewritten_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "core/descriptor.hpp"
#include "kernel/registry.hpp"
#include "paes/error.hpp"
#include "stream/container/file_format.hpp"
#include "stream/container/text_ends.hpp"
#include "stream/file/create_output.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

namespace {

// From the payload of the old file to that of the new one, as it is.
Layout payload_layout(const Source& from, std::uint64_t payload_offset, std::size_t head_bytes) {
  Layout layout;
  layout.in_bytes = default_piece_bytes;
  layout.out_bytes = default_piece_bytes;
  layout.in_offset = from.is_seekable() ? payload_offset : 0;
  layout.out_offset = head_bytes;
  if (from.is_seekable()) {
    layout.total_bytes = from.bytes() - payload_offset;
  }
  return layout;
}

struct stat status_of(const Input& input) {
  struct stat status = {};
  if (fstat(input.descriptor(), &status) != 0) {
    throw_errno(input.name());
  }
  return status;
}

// Another name would keep the old recipients.
void require_single_name(const Input& input) {
  const nlink_t names = status_of(input).st_nlink;
  if (names == 0) {  // since it was opened, and before it was locked
    throw Error(ErrorCode::failure, input.name() + ": another process has just replaced it",
                "try again");
  }
  if (names > 1) {
    throw Error(ErrorCode::failure,
                input.name() + ": has " + std::to_string(names) +
                    " names, and only this one would get the new recipients",
                "remove the other names, which are hard links");
  }
}

std::unique_ptr<Output> output_in_place_of(const PreambleFile& file, const Rekeying& rekeying) {
  const struct stat before = status_of(file.input());
  auto output = create_output(
      file.place(), {.overwrite = true,
                     .cancel = &file.cancel(),
                     .warn = rekeying.warn,
                     .file = {.permissions = before.st_mode & 07777, .must_last = false}});
  const bool is_mine = before.st_uid == geteuid() && before.st_gid == getegid();
  if (!is_mine && fchown(output->descriptor(), before.st_uid, before.st_gid) != 0 &&
      rekeying.warn != nullptr) {
    rekeying.warn(file.name() + ": belongs to another user from now on");
  }
  return output;
}

}  // namespace

std::size_t rewrite_file(const PreambleFile& file, const Rekeying& rekeying) {
  Input input = Input::of(Descriptor(fcntl(file.input().descriptor(), F_DUPFD_CLOEXEC, 0)),
                          file.name(), &file.cancel());
  require_single_name(input);
  const EncryptedFile encrypted(input);
  const std::vector<std::uint8_t> head = encrypted.head().rekeyed(rekeying);
  const std::unique_ptr<Output> output = output_in_place_of(file, rekeying);
  std::optional<ArmoredSink> armored;
  if (encrypted.is_armored()) {
    armored.emplace(*output);
  }
  Source& from = encrypted.source();
  Sink& to = armored ? static_cast<Sink&>(*armored) : *output;
  const Layout layout = payload_layout(from, encrypted.head().payload_offset(), head.size());
  const Transform as_it_is{.run = [](Buffer& /*buffer*/) {}};
  const Work work{.kernel = best_kernel(Cipher::aes),
                  .cancel = &file.cancel()};  // computes nothing
  output->complete([&] {
    to.write_at(0, head);
    const MovedBytes moved = transfer(from, &to, layout, as_it_is, layout.all_items(), work);
    input.check_unchanged();
    return armored ? armored->finish() : head.size() + moved.written_bytes;
  });
  if (!output->warning().empty() && rekeying.warn != nullptr) {
    rekeying.warn(output->warning());
  }
  return age::summarize(age::parse_checked(head)).stanzas.size();
}

}  // namespace paes::stream
