// SPDX-License-Identifier: Apache-2.0
// The public header's calls for whole files, on top of stream/container/container_file.hpp.
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "age/envelope.hpp"
#include "library/file_work.hpp"
#include "stream/container/container_file.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/input.hpp"
#include "stream/transfer/memory_ends.hpp"

namespace paes {

FileSource::FileSource(std::shared_ptr<stream::Source> source) noexcept
    : source_(std::move(source)) {}

FileSource::FileSource(const std::string& path)
    : source_(std::make_shared<stream::Input>(stream::Input::open(path))) {}

FileSource::FileSource(const char* path)
    : FileSource(path != nullptr ? std::string(path)
                                 : throw Error(ErrorCode::usage, "path: is null")) {}

FileSource FileSource::descriptor(int number, const std::string& name) {
  return FileSource(
      std::make_shared<stream::Input>(stream::Input::of(Descriptor(number, false), name)));
}

FileSource FileSource::callback(ReadAt read_at, std::uint64_t bytes, const std::string& name) {
  return FileSource(std::make_shared<stream::CallbackSource>(std::move(read_at), bytes, name));
}

}  // namespace paes

// Qualified, because they are of the inline namespace: without it these would be other functions.

std::uint64_t paes::encrypt_file(const FileSource& from, const std::string& to,
                                 const SealFor& seal_for, const FileOptions& options) {
  stream::Source& source = FileParts::of(from);
  stream::FileCall call(options, source);
  call.expect(source.is_seekable() ? source.bytes() : 0);
  std::uint64_t text_bytes = 0;
  call.run([&](const stream::Work& work) {
    const auto output = stream::output_for(to, &source, true, options, work.cancel);
    const stream::NewPayload payload = stream::payload_for(seal_for, work);
    text_bytes = stream::encrypt_file(source, *output, payload, work).text_bytes;
    stream::warn_of(*output, options.warn);
  });
  return text_bytes;
}

std::uint64_t paes::decrypt_file(const FileSource& from, const std::string& to,
                                 const OpenWith& open_with, const FileOptions& options) {
  stream::Source& source = FileParts::of(from);
  stream::FileCall call(options, source);
  std::uint64_t text_bytes = 0;
  call.run([&](const stream::Work& work) {
    const auto output = stream::output_for(to, &source, false, options, work.cancel);
    const stream::OpenedFile file(source, open_with, work);
    call.expect(file.payload().extent.text_bytes);
    text_bytes = stream::decrypt_file(file.source(), *output, file.payload(), {}, work).text_bytes;
    stream::warn_of(*output, options.warn);
  });
  return text_bytes;
}

paes::FileVerification paes::verify_file(const FileSource& from, const OpenWith& open_with,
                                         const FileOptions& options) {
  stream::Source& source = FileParts::of(from);
  stream::FileCall call(options, source);
  stream::Verification found;
  call.run([&](const stream::Work& work) {
    const stream::OpenedFile file(source, open_with, work);
    call.expect(file.payload().extent.text_bytes);
    found = stream::verify_file(file.source(), file.payload(), work);
  });
  FileVerification result{.is_authentic = found.is_authentic(),
                          .text_bytes = found.extent.text_bytes,
                          .more_damaged_chunks = found.damage.more_chunks};
  for (const Range& chunks : found.damage.ranges) {
    const Range text = found.extent.text_of(chunks);
    result.damaged.push_back({text.first, text.end});
  }
  return result;
}

paes::FileInfo paes::inspect_file(const FileSource& from) {
  stream::Source& source = FileParts::of(from);
  if (!source.is_seekable()) {
    throw Error(ErrorCode::usage, source.name() + ": is empty or a pipe, which has no length");
  }
  const stream::EncryptedFile file(source);
  if (file.is_armored()) {
    throw Error(ErrorCode::usage, source.name() + ": is armored, and its length is in the armor",
                "remove the armor");
  }
  const stream::FileHead& head = file.head();
  const std::uint64_t offset = head.payload_offset();
  FileInfo info{.key_bits = head.key_bits(),
                .text_bytes = stream::extent_of(source, offset, head.format().chunking).text_bytes,
                .payload_offset = offset};
  for (const age::Summary::Stanza& stanza : head.summary().stanzas) {
    info.stanzas.push_back({stanza.type, stanza.work_factor});
  }
  return info;
}
