// SPDX-License-Identifier: Apache-2.0
// paes/file.h on top of paes/file.hpp: sources, whole files, readers and writers.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "library/c/file_handles.hpp"
#include "paes/file.h"

using paes::c::bytes_at;
using paes::c::cancel_of;
using paes::c::code_of;
using paes::c::given;
using paes::c::make_handle;
using paes::c::options_of;

static_assert(PAES_FILE_CHUNK_BYTES == paes::file_chunk_bytes);

std::shared_ptr<paes::Cancel> paes::c::cancel_of(const paes_file_options* options) noexcept {
  return options != nullptr && options->cancel != nullptr ? options->cancel->cancel : nullptr;
}

paes::FileOptions paes::c::options_of(const paes_file_options* options) {
  FileOptions wanted;
  if (options == nullptr) {
    return wanted;
  }
  wanted.threads = options->threads == PAES_EVERY_PROCESSOR ? 0 : options->threads;
  wanted.kernel = kernel_of(options->kernel);
  wanted.device = device_of(options->device);
  wanted.piece_bytes = options->piece_bytes != 0 ? options->piece_bytes : wanted.piece_bytes;
  wanted.overwrite = options->overwrite != 0;
  wanted.cancel = cancel_of(options).get();
  if (options->progress != nullptr) {
    wanted.progress = [report = options->progress, user = options->progress_user](
                          std::uint64_t done_bytes, std::uint64_t total_bytes) {
      if (report(user, done_bytes, total_bytes) != 0) {
        throw Error(ErrorCode::failure, "progress: its callback stopped the work");
      }
    };
  }
  if (options->warning != nullptr) {
    wanted.warn = [tell = options->warning, user = options->warning_user](
                      const std::string& what_why) { tell(user, what_why.c_str()); };
  }
  return wanted;
}

int paes_cancel_new(paes_cancel** cancel) {
  return make_handle(cancel, "cancel", [] { return std::make_shared<paes::Cancel>(); });
}

void paes_cancel_free(paes_cancel* cancel) { delete cancel; }

void paes_cancel_request(paes_cancel* cancel) {
  if (cancel != nullptr) {
    cancel->cancel->request();
  }
}

int paes_cancel_is_requested(const paes_cancel* cancel) {
  return cancel != nullptr && cancel->cancel->requested() ? 1 : 0;
}

int paes_source_open(const char* path, paes_source** source) {
  return make_handle(source, "source", [&] { return paes::FileSource(given(path, "path")); });
}

int paes_source_descriptor(int descriptor, const char* name, paes_source** source) {
  return make_handle(source, "source",
                     [&] { return paes::FileSource::descriptor(descriptor, given(name, "name")); });
}

int paes_source_callback(paes_read_at read_at, void* user, uint64_t bytes, const char* name,
                         paes_source** source) {
  return make_handle(source, "source", [&] {
    const std::string called = given(name, "name");
    return paes::FileSource::callback(
        [read = given(read_at, "read_at"), user, called](std::uint64_t offset,
                                                         std::span<std::uint8_t> to) {
          const std::int64_t got = read(user, offset, to.data(), to.size());
          if (got < 0) {
            throw paes::Error(
                paes::ErrorCode::failure,
                called + ": the callback that reads it failed with " + std::to_string(got));
          }
          return static_cast<std::size_t>(got);
        },
        bytes, called);
  });
}

void paes_source_free(paes_source* source) { delete source; }

int paes_encrypt_file(const paes_source* from, const char* to, const paes_seal_for* seal_for,
                      const paes_file_options* options, uint64_t* text_bytes) {
  return code_of([&] {
    const std::uint64_t done = paes::encrypt_file(
        *given(from, "from"), given(to, "to"), *given(seal_for, "seal_for"), options_of(options));
    if (text_bytes != nullptr) {
      *text_bytes = done;
    }
  });
}

int paes_decrypt_file(const paes_source* from, const char* to, const paes_open_with* open_with,
                      const paes_file_options* options, uint64_t* text_bytes) {
  return code_of([&] {
    const std::uint64_t done = paes::decrypt_file(
        *given(from, "from"), given(to, "to"), *given(open_with, "open_with"), options_of(options));
    if (text_bytes != nullptr) {
      *text_bytes = done;
    }
  });
}

int paes_verify_file(const paes_source* from, const paes_open_with* open_with,
                     const paes_file_options* options, paes_verification* result) {
  return code_of([&] {
    if (result != nullptr) {
      *result = {};
    }
    const paes::FileVerification found = paes::verify_file(
        *given(from, "from"), *given(open_with, "open_with"), options_of(options));
    if (result != nullptr) {
      result->is_authentic = found.is_authentic ? 1 : 0;
      result->text_bytes = found.text_bytes;
      result->more_damaged_chunks = found.more_damaged_chunks;
      for (const paes::FileVerification::Damaged& range : found.damaged) {
        if (result->damaged_count < std::size(result->damaged)) {
          result->damaged[result->damaged_count++] = {range.first, range.end};
        }
      }
    }
    if (!found.is_authentic) {
      throw paes::Error(paes::ErrorCode::corrupt, "file: a part of it is damaged or forged");
    }
  });
}

int paes_inspect_file(const paes_source* from, paes_file_info* info, paes_stanza* stanzas,
                      size_t max_stanzas) {
  return code_of([&] {
    *given(info, "info") = {};
    const std::span<paes_stanza> places = bytes_at(stanzas, max_stanzas, "stanzas");
    const paes::FileInfo found = paes::inspect_file(*given(from, "from"));
    *info = {found.key_bits, found.text_bytes, found.payload_offset, found.stanzas.size()};
    const std::size_t count = std::min(places.size(), found.stanzas.size());
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = {};
      places[i].work_factor = found.stanzas[i].work_factor;
      found.stanzas[i].type.copy(places[i].type, sizeof places[i].type - 1);
    }
  });
}

int paes_reader_open(const paes_source* from, const paes_open_with* open_with,
                     const paes_file_options* options, paes_reader** reader) {
  return make_handle(reader, "reader", [&] {
    return paes_reader{
        cancel_of(options),
        paes::Reader(*given(from, "from"), *given(open_with, "open_with"), options_of(options))};
  });
}

void paes_reader_close(paes_reader* reader) { delete reader; }

uint64_t paes_reader_size(const paes_reader* reader) {
  return reader != nullptr ? reader->reader.size() : 0;
}

int paes_reader_read_at(const paes_reader* reader, uint64_t offset, uint8_t* to, size_t to_bytes,
                        size_t* read_bytes) {
  const int code = code_of([&] {
    *given(read_bytes, "read_bytes") = 0;
    *read_bytes = given(reader, "reader")->reader.read_at(offset, bytes_at(to, to_bytes, "to"));
  });
  if (code != PAES_OK && to != nullptr) {
    std::fill_n(to, to_bytes, std::uint8_t{0});
  }
  return code;
}

int paes_writer_create(const char* path, const paes_seal_for* seal_for,
                       const paes_file_options* options, paes_writer** writer) {
  return make_handle(writer, "writer", [&] {
    return paes_writer{cancel_of(options),
                       paes::Writer(std::string(given(path, "path")), *given(seal_for, "seal_for"),
                                    options_of(options))};
  });
}

int paes_writer_callback(paes_write write, void* user, const paes_seal_for* seal_for,
                         const paes_file_options* options, paes_writer** writer) {
  return make_handle(writer, "writer", [&] {
    auto pass_on = [take = given(write, "write"), user](std::span<const std::uint8_t> bytes) {
      const int code = take(user, bytes.data(), bytes.size());
      if (code != 0) {
        throw paes::Error(
            paes::ErrorCode::failure,
            "writer: the callback that takes its bytes failed with " + std::to_string(code));
      }
    };
    return paes_writer{cancel_of(options),
                       paes::Writer(paes::Writer::Write(std::move(pass_on)),
                                    *given(seal_for, "seal_for"), options_of(options))};
  });
}

void paes_writer_free(paes_writer* writer) { delete writer; }

int paes_writer_write(paes_writer* writer, const uint8_t* text, size_t text_bytes) {
  return code_of(
      [&] { given(writer, "writer")->writer.write(bytes_at(text, text_bytes, "text")); });
}

int paes_writer_write_at(paes_writer* writer, uint64_t offset, const uint8_t* text,
                         size_t text_bytes) {
  return code_of([&] {
    given(writer, "writer")->writer.write_at(offset, bytes_at(text, text_bytes, "text"));
  });
}

int paes_writer_commit(paes_writer* writer, uint64_t* text_bytes) {
  return code_of([&] {
    const std::uint64_t done = given(writer, "writer")->writer.commit();
    if (text_bytes != nullptr) {
      *text_bytes = done;
    }
  });
}
