// SPDX-License-Identifier: Apache-2.0
#include "age/plugin.hpp"

#include <algorithm>

#include "age/header.hpp"
#include "age/plugin_process.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

constexpr std::string_view recipient_prefix = "age1";
constexpr std::string_view identity_prefix = "AGE-PLUGIN-";

// Decodes Base 64 that a plugin sends as a word, as text for the user.
std::string decoded(const std::string& word) {
  std::string text(word.size() * 6 / 8, '\0');
  return base64::decode(word, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}) ? text
                                                                                           : "";
}

// Answers what a plugin may ask the user. False for any other command.
bool answer_prompt(PluginProcess& plugin, const Message& message, const Prompts& prompts) {
  const std::string& command = message.command();
  const auto answer_with = [&](const auto& ask) {
    if (ask) {
      plugin.send("ok", ask("plugin " + plugin.name() + ": " + message.text() + ": "));
    } else {
      plugin.send("fail");
    }
  };
  if (command == "msg") {
    if (prompts.show) {
      prompts.show("plugin " + plugin.name() + ": " + message.text());
    }
    plugin.send(prompts.show ? "ok" : "fail");
  } else if (command == "request-public") {
    answer_with(prompts.answer);
  } else if (command == "request-secret") {
    answer_with(prompts.passphrase);
  } else if (command == "confirm" && message.words.size() >= 2) {
    const std::string no = message.words.size() > 2 ? decoded(message.words[2]) : "";
    if (prompts.confirm) {
      const bool is_yes = prompts.confirm("plugin " + plugin.name() + ": " + message.text(),
                                          decoded(message.words[1]), no);
      plugin.send(is_yes ? "ok yes" : "ok no");
    } else {
      plugin.send("fail");
    }
  } else {
    return false;
  }
  return true;
}

// The words from `first` on, as a stanza's arguments.
std::string join_from(const std::vector<std::string>& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) {
    text += (i == first ? "" : " ") + words[i];
  }
  return text;
}

// The stanza in the message. Throws Error(failure) unless a reader would take it.
NewStanza wrapped_stanza(const PluginProcess& plugin, const Message& message) {
  if (message.words.size() < 3 || message.words[1] != "0") {
    throw plugin.failed("gives a stanza for a file that is not there");
  }
  NewStanza stanza{join_from(message.words, 2),
                   {message.body.data(), message.body.data() + message.body.size()}};
  try {
    check_new_stanza(stanza);
  } catch (const Error&) {
    throw plugin.failed("gives a malformed stanza, which nobody could open");
  }
  return stanza;
}

// Sends a command whose text is a secret, and wipes it afterwards.
void send_text(PluginProcess& plugin, std::string_view command, Bytes text) {
  std::string line;
  line.reserve(command.size() + 1 + text.size());
  line.append(command).append(" ").append(libcrypto::text_of(text));
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(line.data()), line.size()});
  plugin.send(line);
}

// Wraps for a recipient, or for an identity whose recipient only the plugin knows.
class PluginRecipient final : public RecipientKey {
 public:
  PluginRecipient(std::string_view plugin, std::string text, const Prompts& prompts)
      : plugin_(plugin), text_(std::move(text)), prompts_(prompts) {}
  PluginRecipient(std::string_view plugin, const SecretBytes& identity, const Prompts& prompts)
      : plugin_(plugin), identity_(Bytes(identity)), prompts_(prompts) {}

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& wait) const override;
  [[nodiscard]] std::string text() const override { return text_; }
  [[nodiscard]] bool is_same(const RecipientKey& other) const override {
    const auto* const plugins = dynamic_cast<const PluginRecipient*>(&other);
    return plugins != nullptr && plugin_ == plugins->plugin_ && text_ == plugins->text_ &&
           equal_constant_time(identity_, plugins->identity_);
  }

 private:
  std::string plugin_;
  std::string text_;
  SecretBytes identity_;  // empty, or used in place of the text
  Prompts prompts_;
};

class PluginIdentity final : public IdentityKey {
 public:
  PluginIdentity(std::string_view plugin, SecretBytes text, const Prompts& prompts)
      : plugin_(plugin), text_(std::move(text)), prompts_(prompts) {}

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override;
  [[nodiscard]] std::vector<SharedRecipient> recipients() const override {
    return {std::make_shared<PluginRecipient>(plugin_, text_, prompts_)};
  }
  [[nodiscard]] SecretBytes secret_text() const override { return SecretBytes(Bytes(text_)); }
  [[nodiscard]] bool may_know_a_passphrase() const noexcept override { return true; }

 private:
  std::string plugin_;
  SecretBytes text_;
  Prompts prompts_;
};

WrappedKey PluginRecipient::wrap(Bytes file_key, const WaitReady& wait) const {
  PluginProcess plugin(plugin_, "recipient-v1", wait);
  if (identity_.empty()) {
    plugin.send("add-recipient " + text_);
  } else {
    send_text(plugin, "add-identity", identity_);
  }
  plugin.send("wrap-file-key", file_key);
  plugin.send("extension-labels");
  plugin.send("done");
  WrappedKey wrapped;
  std::size_t stanza_bytes = 0;
  for (;;) {
    const Message message = plugin.receive();
    if (answer_prompt(plugin, message, prompts_)) {
      continue;
    }
    if (message.command() == "recipient-stanza") {
      wrapped.stanzas.push_back(wrapped_stanza(plugin, message));
      stanza_bytes += wrapped.stanzas.back().arguments.size() + wrapped.stanzas.back().body.size();
      if (stanza_bytes > max_header_bytes) {
        throw plugin.failed("gives more stanzas than a header holds");
      }
      plugin.send("ok");
    } else if (message.command() == "labels") {
      wrapped.labels.assign(message.words.begin() + 1, message.words.end());
      std::sort(wrapped.labels.begin(), wrapped.labels.end());
      plugin.send("ok");
    } else if (message.command() == "error") {
      plugin.send("ok");
      throw plugin.failed(message.text());
    } else if (message.command() == "done") {
      break;
    } else {
      plugin.send("unsupported");
    }
  }
  if (wrapped.stanzas.empty()) {
    throw plugin.failed("has wrapped nothing");
  }
  return wrapped;
}

std::optional<SecretBytes> PluginIdentity::unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const {
  PluginProcess plugin(plugin_, "identity-v1", effort.wait());
  send_text(plugin, "add-identity", text_);
  for (const Stanza& stanza : stanzas) {
    std::vector<std::uint8_t> body(stanza.body_bytes());
    if (!stanza.decode_body(body)) {
      throw corrupt("malformed stanza body");
    }
    plugin.send("recipient-stanza 0 " + std::string(stanza.arguments), body);
  }
  plugin.send("done");
  std::optional<SecretBytes> file_key;
  std::string error;
  for (;;) {
    const Message message = plugin.receive();
    if (answer_prompt(plugin, message, prompts_)) {
      continue;
    }
    if (message.command() == "file-key") {
      if (message.words.size() != 2 || message.words[1] != "0" ||
          message.body.size() != file_key_bytes || file_key) {
        throw plugin.failed("gives a file key that is none");
      }
      file_key.emplace(Bytes(message.body));
      plugin.send("ok");
    } else if (message.command() == "error") {
      error = message.text();
      plugin.send("ok");
    } else if (message.command() == "done") {
      break;
    } else {
      plugin.send("unsupported");
    }
  }
  if (!file_key && !error.empty()) {
    throw plugin.failed(error);
  }
  return file_key;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '+';
  });
}

// Bech32 ends its human-readable part with the last '1'.
std::string_view human_part_of(std::string_view text) {
  const std::size_t end = text.rfind('1');
  return end == std::string_view::npos ? "" : text.substr(0, end);
}

void check_spelling(std::string_view text, std::string_view human_part, std::string_view plugin,
                    const std::string& name) {
  SecretBytes data(std::max<std::size_t>(bech32::data_bytes_of(text, human_part), 1));
  data.truncate(bech32::data_bytes_of(text, human_part));
  if (!is_name(plugin) || bech32::decode(text, human_part, data) != bech32::Decoded::good) {
    throw Error(ErrorCode::usage, name + ": is a plugin's key with a typing error");
  }
}

SharedRecipient parse_plugin_recipient(std::string_view text, const std::string& name,
                                       const Prompts& prompts) {
  const std::string_view human_part = human_part_of(text);
  const std::string_view plugin = human_part.substr(recipient_prefix.size());
  check_spelling(text, human_part, plugin, name);
  return plugin_recipient(plugin, std::string(text), prompts);
}

char to_small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
char to_capital(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c; }

SharedIdentity parse_plugin_identity(std::string_view text, const std::string& name,
                                     const Prompts& prompts) {
  const std::string_view human_part = human_part_of(text);
  if (human_part.size() <= identity_prefix.size() || !human_part.ends_with('-')) {
    throw Error(ErrorCode::usage, name + ": is a plugin's key with a typing error");
  }
  std::string plugin(
      human_part.substr(identity_prefix.size(), human_part.size() - identity_prefix.size() - 1));
  check_spelling(text, human_part, plugin, name);
  std::transform(plugin.begin(), plugin.end(), plugin.begin(), to_small);
  return plugin_identity(plugin, SecretBytes(libcrypto::bytes_of(text)), prompts);
}

// "age1NAME1...". age's own keys have only one '1'.
bool claims_recipient(std::string_view text) {
  return text.starts_with(recipient_prefix) && text.rfind('1') > recipient_prefix.size();
}

}  // namespace

SharedRecipient plugin_recipient(std::string_view plugin, std::string text,
                                 const Prompts& prompts) {
  return std::make_shared<PluginRecipient>(plugin, std::move(text), prompts);
}

SharedIdentity plugin_identity(std::string_view plugin, SecretBytes text, const Prompts& prompts) {
  return std::make_shared<PluginIdentity>(plugin, std::move(text), prompts);
}

SharedIdentity plugin_identity_without_data(const std::string& plugin, const Prompts& prompts) {
  if (!is_name(plugin)) {
    throw Error(ErrorCode::usage, "plugin '" + plugin + "': is not the name of a plugin");
  }
  std::string human_part = std::string(identity_prefix) + plugin + "-";
  std::transform(human_part.begin(), human_part.end(), human_part.begin(), to_capital);
  SecretBytes text(bech32::text_length(human_part, 0));
  bech32::encode(human_part, {}, text);
  return plugin_identity(plugin, std::move(text), prompts);
}

extern const KeyKind kind_plugin = {
    claims_recipient, parse_plugin_recipient,
    [](std::string_view text) { return text.starts_with(identity_prefix); }, parse_plugin_identity};

}  // namespace paes::age
