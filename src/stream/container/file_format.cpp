// SPDX-License-Identifier: Apache-2.0
#include "stream/container/file_format.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "format/container.hpp"
#include "paes/error.hpp"
#include "stream/container/preamble.hpp"
#include "stream/container/text_ends.hpp"

namespace paes::stream {

#define PAES_FORMAT(name) extern const FileFormat format_##name;
#include "stream/container/formats.def"
#undef PAES_FORMAT

namespace {

constexpr const FileFormat* formats[] = {
#define PAES_FORMAT(name) &format_##name,
#include "stream/container/formats.def"
#undef PAES_FORMAT
};

// Converts UTF-16 of either byte order to ASCII. Other characters become question marks.
std::vector<std::uint8_t> ascii_of_utf_16(Bytes text) {
  std::vector<std::uint8_t> ascii;
  for (; text.size() >= 2; text = text.subspan(2)) {
    ascii.push_back(text[1] == 0 ? text[0] : text[0] == 0 ? text[1] : std::uint8_t{'?'});
  }
  return ascii;
}

// Whether these are the first bytes of an encrypted file that a program has written as UTF-16:
// PowerShell before version 7.4 does that to everything that passes its > and |.
bool is_utf_16(Bytes first_bytes) {
  const bool has_mark = first_bytes.size() >= 2 && first_bytes[0] + first_bytes[1] == 0xff + 0xfe &&
                        first_bytes[0] >= 0xfe && first_bytes[1] >= 0xfe;
  std::vector<std::uint8_t> ascii = ascii_of_utf_16(first_bytes.subspan(has_mark ? 2 : 0));
  // The first byte of a container is not ASCII, and encodings have different characters for it.
  if (!ascii.empty() && ascii[0] == '?') {
    ascii[0] = container::magic[0];
  }
  return format_of(ascii) != nullptr;
}

}  // namespace

std::vector<std::uint8_t> FileHead::rekeyed(const Rekeying& /*rekeying*/) const {
  throw Error(ErrorCode::usage, "a file of this format is not written anew for other recipients");
}

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

const FileFormat* format_of(Bytes first_bytes) noexcept {
  const bool is_armored = age::is_armored(first_bytes);
  const auto* const found =
      std::find_if(std::begin(formats), std::end(formats), [&](const FileFormat* format) {
        return is_armored ? format->has_armor
                          : !format->is_bare() && format->is_format_of(first_bytes);
      });
  return found == std::end(formats) ? nullptr : *found;
}

const FileFormat* format_of(const Source& source) {
  std::array<std::uint8_t, max_magic_bytes> first_bytes;
  return source.is_seekable()
             ? format_of(Bytes(first_bytes).first(stream::read_head(source, first_bytes)))
             : nullptr;
}

bool has_whole_head(Source& source) {
  if (format_of(source) == nullptr) {
    return false;
  }
  try {
    const EncryptedFile file(source);
    (void)file.head().summary();
    std::vector<std::uint8_t> rest(file.is_armored() ? std::size_t{64} << 10 : 0);
    for (std::size_t got = rest.size(); got != 0;) {
      got = file.source().read_at(0, MutableBytes(rest));
    }
    return true;
  } catch (const Error& error) {
    if (error.code != ErrorCode::corrupt) {
      throw;
    }
    return false;
  }
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
    const FileFormat* const format = format_of(source_->peek(max_magic_bytes));
    if (format == nullptr && is_utf_16(first_bytes)) {
      throw Error(ErrorCode::corrupt, "is UTF-16 text: PowerShell's > has changed it, perhaps",
                  "name the output with -o, and copy files as binary");
    }
    // The first row refuses files that no row recognises.
    head_ = (format != nullptr ? format : formats[0])->read_head(*source_);
  } catch (const Error& error) {
    // The formats do not know file names; errors of the input itself already begin with one.
    const std::string what = error.what();
    if (error.code != ErrorCode::corrupt || what.starts_with(input.name() + ":")) {
      throw;
    }
    throw Error(error.code, input.name() + ": " + what, error.hint);
  }
}

EncryptedFile::~EncryptedFile() = default;

}  // namespace paes::stream
