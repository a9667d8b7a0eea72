// SPDX-License-Identifier: Apache-2.0
// `paes inspect`: what a file says about itself without any key. Nothing of it is authenticated: it
// tells what the file claims, not what is true.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "age/envelope.hpp"
#include "cli/command.hpp"
#include "cli/encrypted_names.hpp"
#include "cli/process.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "cli/sealing.hpp"
#include "stream/container/container_file.hpp"
#include "stream/container/preamble_file.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

// Both formats are at their first version.
constexpr int format_version = 1;
static_assert(container::version == format_version);

struct Findings {
  std::string file;
  const stream::FileFormat& format;
  bool is_armored;
  std::optional<container::Header> header;  // of a container
  std::uint64_t payload_offset;             // without the armor
  age::Summary envelope;
  std::optional<std::uint64_t> file_bytes = std::nullopt;  // nothing for pipes
  std::optional<std::uint64_t> text_bytes = std::nullopt;  // nothing if no payload is this long
  bool truncated = false;
  std::optional<std::string> leftover = std::nullopt;
  std::optional<UnfinishedOutput> unfinished = std::nullopt;
};

// How many bytes are left to read.
std::uint64_t count_rest(const stream::Source& source) {
  std::vector<std::uint8_t> some(std::size_t{64} << 10);
  std::uint64_t count = 0;
  for (std::size_t got = some.size(); got == some.size(); count += got) {
    stream::check(&cancel());
    got = source.read_at(0, MutableBytes(some));
  }
  return count;
}

// A payload alone says nothing of itself: its name does, and its length.
Findings examine_bare(const std::string& file, const stream::Input& input,
                      const stream::FileFormat& format) {
  Findings found{.file = file,
                 .format = format,
                 .is_armored = false,
                 .header = std::nullopt,
                 .payload_offset = 0,
                 .envelope = {}};
  if (input.is_seekable()) {
    found.file_bytes = input.bytes();
    found.text_bytes = format.chunking.text_of(input.bytes());
    found.truncated = !found.text_bytes.has_value();
  }
  return found;
}

Findings examine(const std::string& file, const std::optional<UnfinishedOutput>& unfinished) {
  stream::Input input =
      file == "-" ? stream::Input::standard_input(&cancel()) : stream::Input::open(file, &cancel());
  const stream::FileFormat* const named = format_of_name(file);
  if (named != nullptr && named->is_bare() && stream::format_of(input) == nullptr) {
    return examine_bare(file, input, *named);
  }
  const stream::EncryptedFile encrypted(input);
  const stream::FileHead& head = encrypted.head();
  Findings found{.file = file,
                 .format = head.format(),
                 .is_armored = encrypted.is_armored(),
                 .header = std::nullopt,
                 .payload_offset = head.payload_offset(),
                 .envelope = head.summary(),
                 .leftover = stream::find_leftover(file),
                 .unfinished = unfinished};
  if (head.container() != nullptr) {
    found.header = head.container()->header;
  }
  if (input.is_seekable()) {
    found.file_bytes = input.bytes();
    const std::uint64_t payload_bytes =
        encrypted.is_armored() ? count_rest(encrypted.source())
                               : input.bytes() - std::min(input.bytes(), found.payload_offset);
    found.text_bytes = found.format.chunking.text_of(payload_bytes);
    found.truncated = !found.text_bytes.has_value();
  }
  return found;
}

// An envelope has room for thousands of recipients, and whoever wrote it names their types.
constexpr std::size_t shown_stanzas = 20;
constexpr std::size_t shown_types = 5;

// ", and 30 more of type X25519, 2 more of type other".
std::string remaining_text(std::span<const age::Summary::Stanza> stanzas) {
  std::vector<std::pair<std::string, std::size_t>> counts;  // in the order of the envelope
  std::size_t others = 0;
  for (const age::Summary::Stanza& stanza : stanzas) {
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& count) { return count.first == stanza.type; });
    if (known != counts.end()) {
      ++known->second;
    } else if (counts.size() < shown_types) {
      counts.emplace_back(stanza.type, 1);
    } else {
      ++others;
    }
  }
  std::string text;
  for (const auto& [type, count] : counts) {
    text +=
        fmt::format("{}{} more of type {}", text.empty() ? ", and " : ", ", count, printable(type));
  }
  return others == 0 ? text : text + fmt::format(", {} more of other types", others);
}

std::string stanza_text(const age::Summary& envelope) {
  const std::span<const age::Summary::Stanza> stanzas(envelope.stanzas);
  const std::size_t shown = std::min(stanzas.size(), shown_stanzas);
  std::string text;
  for (const age::Summary::Stanza& stanza : stanzas.first(shown)) {
    text += (text.empty() ? "" : ", ") + printable(stanza.type);
    if (stanza.type == age::scrypt_type) {
      text += fmt::format(" (passphrase, work factor 2^{})", stanza.work_factor);
    }
  }
  return text + remaining_text(stanzas.subspan(shown));
}

void print_text(const Findings& found) {
  std::string text = fmt::format("{}\n", printable(shown_name(found.file)));
  const auto line = [&text](const char* name, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", name, value);
  };
  if (found.header) {
    const container::Header& header = *found.header;
    line("format", fmt::format("paes {}, suite {} ({})", format_version,
                               static_cast<unsigned>(header.suite), name_of(header.suite)));
    line("envelope", fmt::format("{} bytes of {} there is room for", header.envelope_bytes,
                                 header.envelope_room()));
  } else {
    line("format", fmt::format("{} {}{}", found.format.name, format_version,
                               found.is_armored ? ", armored" : ""));
  }
  line("recipients", found.format.is_bare() ? "none: its owner keeps the key"
                                            : fmt::format("{}: {}", found.envelope.stanzas.size(),
                                                          stanza_text(found.envelope)));
  line("payload", fmt::format("at {}", found.payload_offset) +
                      (found.header ? fmt::format(", page {}", found.header->payload_page) : "") +
                      (found.is_armored ? " of the file without armor" : ""));
  if (found.text_bytes) {
    line("plaintext", fmt::format("{} bytes in {} chunks (not authenticated)", *found.text_bytes,
                                  found.format.chunking.chunks_of(*found.text_bytes)));
  }
  if (found.unfinished) {
    line("length", "unfinished: " + found.unfinished->progress() + " (not authenticated)");
  } else if (found.truncated) {
    line("length", "truncated or extended: no payload is this long");
  } else if (found.file_bytes) {
    line("length", "complete, as far as a length can tell (not authenticated)");
  } else {
    line("length", "unknown: not a regular file");
  }
  print_result(text);
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json describe(const Findings& found) {
  ordered_json recipients = ordered_json::array();
  for (const age::Summary::Stanza& stanza : found.envelope.stanzas) {
    recipients.push_back({{"type", stanza.type}});
    if (stanza.type == age::scrypt_type) {
      recipients.back()["work_factor"] = stanza.work_factor;
    }
  }
  ordered_json chunks;
  if (found.text_bytes) {
    chunks = found.format.chunking.chunks_of(*found.text_bytes);
  }
  // null for a file that is no container
  const auto of_container = [&](const auto& member) {
    return found.header ? ordered_json(member(*found.header)) : ordered_json();
  };
  ordered_json unfinished;
  if (found.unfinished) {
    const stream::JournalClaims& claims = found.unfinished->claims;
    unfinished = {{"work", claims.work == stream::JournalKind::encrypt ? "encrypt" : "decrypt"},
                  {"text_bytes", claims.text_bytes},
                  {"complete_text_bytes", claims.complete_text_bytes}};
  }
  return {
      {"command", "inspect"},
      {"file", found.file},
      {"format", found.format.name},
      {"armored", found.is_armored},
      {"version", format_version},
      {"suite", of_container([](const auto& header) { return name_of(header.suite); })},
      {"envelope_bytes", of_container([](const auto& header) { return header.envelope_bytes; })},
      {"envelope_room_bytes",
       of_container([](const auto& header) { return header.envelope_room(); })},
      {"recipients", recipients},
      {"payload_offset", found.payload_offset},
      {"file_bytes", or_null(found.file_bytes)},
      {"text_bytes", or_null(found.text_bytes)},
      {"chunks", chunks},
      {"truncated", found.file_bytes ? ordered_json(found.truncated) : ordered_json()},
      {"authenticated", false},
      {"leftover", found.leftover ? ordered_json(*found.leftover) : ordered_json()},
      {"unfinished", unfinished}};
}

// An unfinished output of --resume is not yet a paes file, or does not have its final name yet.
Error with_hint(const std::string& file, const std::optional<UnfinishedOutput>& unfinished,
                const Error& error) {
  if (!unfinished) {
    return with_leftover_hint(file, error);
  }
  const bool is_decryption = unfinished->claims.work == stream::JournalKind::decrypt;
  return {error.code, error.what(),
          unfinished->partial + " is the unfinished output of " +
              (is_decryption ? "a decryption" : "an encryption") + ", of which " +
              unfinished->progress() + ": " + unfinished->hint()};
}

int inspect_file(const std::string& file, bool json) {
  const std::optional<UnfinishedOutput> unfinished = find_unfinished(file);
  const Findings found = work_on_file("inspect", file, json, [&] {
    try {
      return examine(file, unfinished);
    } catch (const Error& error) {
      throw with_hint(file, unfinished, about(shown_name(file), error));
    }
  });
  warn_of_leftover(file);
  if (json) {
    print_json(describe(found));
  } else {
    print_text(found);
  }
  if (unfinished) {
    throw Error(ErrorCode::corrupt, file + ": unfinished, " + unfinished->progress(),
                unfinished->hint());
  }
  if (found.truncated) {
    throw Error(ErrorCode::corrupt,
                shown_name(file) + ": truncated or extended, no payload is this long");
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  struct InspectCommand {
    std::string file;
    bool json = false;
  };
  const auto command = std::make_shared<InspectCommand>();
  app.add_flag("--json", command->json, "print JSON (docs/schema/inspect.schema.json)");
  app.add_option("FILE", command->file, "the file to look at; - is standard input")->required();
  return [command] { return inspect_file(command->file, command->json); };
}

}  // namespace

extern const Command command_inspect = {"inspect",
                                        "show what a file says about itself, without a key",
                                        declare, nullptr, Operands::encrypted_files};

}  // namespace paes::cli
