// SPDX-License-Identifier: Apache-2.0
#include "cli/own_key.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "cli/help_page.hpp"
#include "cli/keyfile.hpp"
#include "cli/option_list.hpp"
#include "cli/report.hpp"
#include "encoding/encodings.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t no_key_has_so_many_bytes = 4096;
constexpr std::size_t key_lengths[] = {16, 32};

struct Encoding {
  const char* name;
  std::string_view said;  // in a message
  // True if `text` stands for as many bytes as `key` has, which then has them.
  bool (*decode)(std::string_view text, MutableBytes key);
};

bool decode_raw(std::string_view bytes, MutableBytes key) {
  if (bytes.size() != key.size()) {
    return false;
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return true;
}

// Key managers print padding, others leave it out.
bool decode_base64(std::string_view text, MutableBytes key) {
  if (text.size() % 4 == 0) {
    text.remove_suffix(text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0);
  }
  return base64::decode(text, key);
}

constexpr Encoding encodings[] = {
    {"raw", "raw bytes", decode_raw},
    {"hex", "hexadecimal digits", hexadecimal::decode},
    {"base64", "Base 64", decode_base64},
};

std::vector<std::string> encoding_names() {
  std::vector<std::string> names;
  for (const Encoding& encoding : encodings) {
    names.emplace_back(encoding.name);
  }
  return names;
}

// The line end that editors and shells add to a text.
std::string_view without_line_end(std::string_view text) {
  text.remove_suffix(text.ends_with("\r\n") ? 2 : text.ends_with('\n') ? 1 : 0);
  return text;
}

}  // namespace

void OwnKeyOptions::declare(CLI::App& app, const std::string& prefix) {
  prefix_ = prefix;
  const OptionGroup keys(app, keys_group);
  source_.declare(app, prefix + "key",
                  prefix.empty()
                      ? "in place of recipients and identities: the key in this file, of "
                        "16 or 32 bytes"
                      : "encrypt anew, under the key in this file, of 16 or 32 bytes",
                  "that key, from this open file descriptor");
  app.add_option(option("key-encoding"), encoding_, "how that key is written")
      ->type_name(join_choices(encoding_names()))
      ->capture_default_str();
  app.add_option(option("key-context"), context_,
                 "what that key is used for; a file opens with the context that it was made with")
      ->type_name("TEXT");
  app.add_option(option("key-id"), id_, "what you call that key, for --json")->type_name("TEXT");
}

void OwnKeyOptions::refuse_as_output(const stream::FilePlace& output) const {
  source_.refuse_as_output(output, "key");
}

void OwnKeyOptions::check(bool has_others) const {
  refuse(!is_given() && (encoding_ != "raw" || !context_.empty() || !id_.empty()),
         "key: " + option("key-encoding") + ", " + option("key-context") + " and " +
             option("key-id") + " say something of a key, and none is given",
         "give " + option("key-file") + " FILE or " + option("key-fd") + " N");
  refuse(is_given() && has_others,
         prefix_ + "key: cannot be combined with recipients, identities and passphrases",
         "leave out " + option("key-file") + " or the others");
}

OwnKey OwnKeyOptions::read() const {
  const auto* const encoding =
      std::find_if(std::begin(encodings), std::end(encodings),
                   [this](const Encoding& one) { return one.name == encoding_; });
  if (encoding == std::end(encodings)) {
    throw Error(ErrorCode::usage, prefix_ + "key-encoding: unknown name '" + encoding_ + "'",
                "there are: raw, hex, base64");
  }
  const SecretBytes read = source_.read(no_key_has_so_many_bytes);
  std::string_view text(reinterpret_cast<const char*>(read.data()), read.size());
  if (encoding->decode != decode_raw) {
    text = without_line_end(text);
  } else if (holds_hexadecimal(read)) {
    print_warning(source_.name() +
                  ": holds hexadecimal digits, which are the key's bytes as they "
                  "stand without " +
                  option("key-encoding") + " hex");
  }
  OwnKey own{{}, {context_.begin(), context_.end()}};
  for (const std::size_t bytes : key_lengths) {
    own.key = SecretBytes(bytes);
    if (encoding->decode(text, own.key)) {
      return own;
    }
  }
  throw Error(ErrorCode::usage,
              source_.name() + ": is no key of 16 or 32 bytes as " + std::string(encoding->said),
              option("key-encoding") + " says how the key is written: raw, hex or base64");
}

void OwnKeyOptions::add_id(nlohmann::ordered_json& document) const {
  if (!id_.empty()) {
    document["key_id"] = id_;
  }
}

}  // namespace paes::cli
