#include "stream/file_format.hpp"

#include <algorithm>

#include "paes/error.hpp"
#include "stream/text_ends.hpp"

namespace paes::stream {

#define PAES_FORMAT(name) extern const FileFormat format_##name;
#include "stream/formats.def"
#undef PAES_FORMAT

namespace {

constexpr const FileFormat* formats[] = {
#define PAES_FORMAT(name) &format_##name,
#include "stream/formats.def"
#undef PAES_FORMAT
};

// A file that no format knows is for the first one to refuse.
const FileFormat& format_of(Bytes first_bytes) noexcept {
  for (const FileFormat* const format : formats) {
    if (format->is_format_of(first_bytes)) {
      return *format;
    }
  }
  return *formats[0];
}

}  // namespace

std::span<const FileFormat* const> file_formats() noexcept { return formats; }

const FileFormat& find_format(const std::string& name) {
  std::string names;
  for (const FileFormat* const format : formats) {
    if (name == format->name) {
      return *format;
    }
    names += (names.empty() ? "there are: " : ", ") + std::string(format->name);
  }
  throw Error(ErrorCode::usage, "format: unknown name '" + name + "'", names);
}

bool is_encrypted(Bytes first_bytes) noexcept {
  return age::is_armored(first_bytes) || std::any_of(std::begin(formats), std::end(formats),
                                                     [first_bytes](const FileFormat* format) {
                                                       return format->is_format_of(first_bytes);
                                                     });
}

EncryptedFile::EncryptedFile(Source& input) : plain_(input) {
  Source* from = &plain_;
  const Bytes first_bytes = plain_.peek(max_magic_bytes);
  if (age::is_armored(first_bytes)) {
    armored_ = std::make_unique<ArmoredSource>(plain_);
    from = armored_.get();
  }
  source_ = std::make_unique<PeekedSource>(*from);
  try {
    head_ = format_of(source_->peek(max_magic_bytes)).read_head(*source_);
  } catch (const Error& error) {
    // The formats know no file names; errors of the input itself begin with one already.
    const std::string what = error.what();
    if (error.code != ErrorCode::corrupt || what.starts_with(input.name() + ":")) {
      throw;
    }
    throw Error(error.code, input.name() + ": " + what, error.hint);
  }
}

EncryptedFile::~EncryptedFile() = default;

}  // namespace paes::stream
