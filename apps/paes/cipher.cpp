// `paes cipher`: one message in a raw mode of AES or 3DES, or in GCM, for data that other programs
// made or will read. No format of ours, no authentication but GCM's; keys and IVs are the caller's.
#include <CLI/CLI.hpp>
#include <array>

#include "format/openssl_salted.hpp"
#include "message/cipher_name.hpp"
#include "message/raw_limits.hpp"
#include "mode/gcm.hpp"
#include "mode/xts.hpp"
#include "paes/command.hpp"
#include "paes/decimal.hpp"
#include "paes/keyfile.hpp"
#include "paes/passphrase.hpp"
#include "paes/process.hpp"
#include "paes/report.hpp"
#include "paes/transfer.hpp"
#include "stream/raw.hpp"

namespace paes::cli {

namespace {

struct Request {
  std::string name;
  bool decrypt = false;
  std::string key_file;
  std::string iv;
  bool no_pad = false;
  std::string aad_file;
  std::optional<std::size_t> unit_bytes;
  bool legacy = false;
  bool openssl = false;
  std::optional<std::uint32_t> iterations;
  PassphraseOptions passphrase;
  std::string file = "-";
  TransferOptions transfer;

  [[nodiscard]] Direction direction() const {
    return decrypt ? Direction::decrypt : Direction::encrypt;
  }
};

struct Secrets {
  SecretBytes key;
  std::vector<std::uint8_t> iv;
};

bool is_mode(const CipherName& name, Mode mode) { return name.mode == mode; }

// Why no engine could do it; empty where one could.
std::string why_cpu_alone(const Request& request, const CipherName& name) {
  if (name.is_gcm()) {
    return "";
  }
  const ModeRow& row = row_of(*name.mode);
  if (formula_of(row.operation(request.direction())).is_chained()) {
    return name.name + (request.decrypt ? " decrypts" : " encrypts") + " one block after the other";
  }
  if (row.has_units && !request.unit_bytes) {
    return name.name + " without --unit is one data unit";
  }
  if (row.has_units && *request.unit_bytes % block_bytes != 0) {
    return "a data unit of " + std::to_string(*request.unit_bytes) + " bytes has a partial block";
  }
  return "";
}

// Modes that take whole blocks.
bool can_pad(const CipherName& name) {
  return !name.is_gcm() && row_of(*name.mode).tail == Tail::padded;
}

void refuse(bool is_wrong, const std::string& what_why, const std::string& hint = {}) {
  if (is_wrong) {
    throw Error(ErrorCode::usage, what_why, hint);
  }
}

void check_openssl(const Request& request, const CipherName& name) {
  if (!request.openssl) {
    refuse(request.passphrase.given(), "passphrase: only --openssl makes a key of one",
           "give --key FILE");
    refuse(request.iterations.has_value(), "--iter: belongs to --openssl");
    return;
  }
  refuse(!request.key_file.empty() || !request.iv.empty(),
         "--openssl: makes key and IV from the passphrase", "leave out --key and --iv");
  const bool is_known = !name.is_gcm() && !is_mode(name, Mode::xts) &&
                        !(name.cipher == Cipher::des_ede3 && is_mode(name, Mode::ctr));
  refuse(!is_known, "--openssl: openssl enc has no " + name.name);
}

void check(const Request& request, const CipherName& name) {
  check_openssl(request, name);
  refuse(!request.openssl && request.key_file.empty(), "key: none is given",
         "--key names a file of " + std::to_string(name.key_bytes) + " raw bytes");
  refuse(request.no_pad && !can_pad(name), "--no-pad: " + name.name + " has no padding");
  refuse(!request.aad_file.empty() && !name.is_gcm(), "--aad: only GCM authenticates anything");
  refuse(request.unit_bytes && (name.is_gcm() || !row_of(*name.mode).has_units),
         "--unit: only XTS has data units");
  refuse(request.unit_bytes &&
             (*request.unit_bytes < block_bytes || *request.unit_bytes > xts::max_unit_bytes),
         "--unit: a data unit has 16 bytes to 16 MiB (2^20 blocks)");
  refuse(name.cipher == Cipher::des_ede3 && !request.decrypt && !request.legacy,
         name.name + ": NIST disallows encryption with 3DES after 2023",
         "use AES; where it must be, --legacy encrypts all the same");
}

std::vector<std::uint8_t> parse_iv(const std::string& hex, const CipherName& name) {
  const std::size_t bytes = name.iv_bytes();
  const std::string wanted = name.name + " takes " + std::to_string(bytes) + " bytes, " +
                             std::to_string(2 * bytes) + " hexadecimal digits";
  refuse(bytes == 0 && !hex.empty(), "--iv: " + name.name + " takes none");
  refuse(bytes != 0 && hex.empty(), "--iv: is missing", wanted);
  const auto digit = [&](char c) -> unsigned {
    const char lower = static_cast<char>(c | 0x20);
    const bool is_decimal = c >= '0' && c <= '9';
    refuse(!is_decimal && !(lower >= 'a' && lower <= 'f'), "--iv: is not hexadecimal", wanted);
    return static_cast<unsigned>(is_decimal ? c - '0' : lower - 'a' + 10);
  };
  refuse(hex.size() != 2 * bytes, "--iv: has " + std::to_string(hex.size()) + " digits", wanted);
  std::vector<std::uint8_t> iv;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    iv.push_back(static_cast<std::uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return iv;
}

// One line of nothing else, which chance makes of no key. All bytes are looked at alike: how long
// it takes tells nothing of a key.
bool holds_hexadecimal(Bytes contents) {
  constexpr std::size_t least_digits = 16;
  std::size_t others = 0;
  std::size_t last_newline = 0;  // 1 where the last byte is one, which may be there
  for (const unsigned byte : contents) {
    const bool is_decimal = byte - '0' < 10U;
    const bool is_letter = (byte | 0x20U) - 'a' < 6U;
    others += static_cast<std::size_t>(!is_decimal) & static_cast<std::size_t>(!is_letter);
    last_newline = static_cast<std::size_t>(byte == '\n');
  }
  return (others == last_newline) & (contents.size() - last_newline >= least_digits);
}

// Looks at all bytes, wherever it finds the one.
bool holds(Bytes secret, std::uint8_t wanted) {
  bool found = false;
  for (const std::uint8_t byte : secret) {
    found |= byte == wanted;
  }
  return found;
}

SecretBytes read_key(const Request& request, const CipherName& name) {
  constexpr std::size_t no_key_has_so_many_bytes = 4096;
  const std::string wanted =
      name.name + " takes a key of " + std::to_string(name.key_bytes) + " raw bytes";
  SecretBytes key;
  try {
    key = read_small_file(request.key_file, no_key_has_so_many_bytes);
  } catch (const Error& error) {
    throw Error(error.code, error.what(), error.code == ErrorCode::usage ? wanted : error.hint);
  }
  const bool is_hex = holds_hexadecimal(key);
  refuse(key.size() != name.key_bytes,
         request.key_file + ": has " + std::to_string(key.size()) + " bytes",
         is_hex ? wanted + "; it holds hexadecimal digits: xxd -r -p makes bytes of them" : wanted);
  if (is_hex) {
    print_warning(request.key_file +
                  ": holds hexadecimal digits, which are the key's bytes as they stand");
  }
  if (name.mode && has_equal_halves(*name.mode, key)) {
    const std::string what_why =
        request.key_file + ": its two halves are equal, with which XTS protects less";
    refuse(!request.decrypt, what_why, "make a key of random bytes");
    print_warning(what_why);
  }
  return key;
}

std::vector<std::uint8_t> read_aad(const std::string& path) {
  constexpr std::size_t max_bytes = std::size_t{64} << 20;
  constexpr std::size_t step_bytes = std::size_t{64} << 10;
  stream::Input input = stream::Input::open(path, &cancel());
  std::vector<std::uint8_t> aad;
  // All at once: growing would need twice the memory, and what is not used is never touched.
  aad.reserve(max_bytes + step_bytes);
  for (std::size_t got = step_bytes; got == step_bytes;) {
    const std::size_t filled = aad.size();
    aad.resize(filled + step_bytes);
    got = input.read(MutableBytes(aad).subspan(filled));
    aad.resize(filled + got);
    refuse(aad.size() > max_bytes, path + ": longer than 64 MiB");
  }
  return aad;
}

Secrets read_secrets(const Request& request, const CipherName& name) {
  Secrets secrets;
  if (!request.openssl) {
    secrets.iv = parse_iv(request.iv, name);
    secrets.key = read_key(request, name);
  }
  return secrets;
}

// openssl enc takes an empty one, so there may be such files.
SecretBytes read_passphrase(const Request& request) {
  SecretBytes passphrase =
      request.decrypt ? request.passphrase.read_existing() : request.passphrase.read_new();
  constexpr std::size_t openssl_bytes = 1023;
  if (holds(passphrase, '\n')) {
    print_warning("passphrase: has several lines, of which openssl's -pass file: takes the first");
  }
  if (holds(passphrase, '\0')) {
    print_warning("passphrase: has a NUL byte, before which openssl's -pass file: stops");
  }
  if (passphrase.size() > openssl_bytes) {
    print_warning("passphrase: has " + std::to_string(passphrase.size()) +
                  " bytes, of which openssl's -pass file: takes at most " +
                  std::to_string(openssl_bytes));
  }
  return passphrase;
}

// Salted__ and the salt: of the input, or new.
std::array<std::uint8_t, openssl_salted::head_bytes> salted_head(const Request& request,
                                                                 stream::Input& input) {
  std::array<std::uint8_t, openssl_salted::head_bytes> head;
  if (request.decrypt) {
    const std::size_t got = stream::read_head(input, head);
    (void)openssl_salted::parse(Bytes(head).first(got));
    return head;
  }
  openssl_salted::Salt salt;
  random_bytes(salt);
  return openssl_salted::encode(salt);
}

// Asks for the passphrase itself, so that it is gone when its work is done.
void derive_from(Bytes head, const Request& request, const CipherName& name, Secrets& secrets) {
  const SecretBytes derived =
      openssl_salted::derive(read_passphrase(request), openssl_salted::parse(head),
                             request.iterations.value_or(openssl_salted::default_iterations),
                             name.key_bytes + name.iv_bytes(), until_signal());
  const Bytes all = derived;
  secrets.key = SecretBytes(all.first(name.key_bytes));
  secrets.iv.assign(all.begin() + static_cast<std::ptrdiff_t>(name.key_bytes), all.end());
}

std::uint64_t crypt_file(const Request& request, const CipherName& name, Secrets& secrets,
                         Bytes aad, stream::Input& input, const std::string& path,
                         const stream::Options& options) {
  if (request.decrypt) {
    refuse_terminal(input);
  }
  if (!request.key_file.empty()) {
    refuse_secret_as_output(path, request.key_file, "key");
  }
  if (!request.aad_file.empty()) {
    refuse_secret_as_output(path, request.aad_file, "AAD");
  }
  request.passphrase.refuse_as_output(path);
  std::array<std::uint8_t, openssl_salted::head_bytes> head;
  if (request.openssl) {
    head = salted_head(request, input);
  }
  stream::Output output = create_output(
      path, input, request.decrypt ? stream::decrypted_mode(input) : stream::encrypted_mode(input),
      request.transfer.overwrite);
  if (request.openssl) {
    // Nobody types a passphrase for an input or output that cannot be.
    derive_from(head, request, name, secrets);
  }
  stream::Totals totals;
  if (name.is_gcm()) {
    const GcmKey key(secrets.key, options.kernel, options.engine_use);
    totals = request.decrypt ? stream::open_gcm(input, output, key, secrets.iv, aad, options)
                             : stream::seal_gcm(input, output, key, secrets.iv, aad, options);
  } else {
    const RawKey key(name.cipher, *name.mode, secrets.key, options.kernel,
                     request.unit_bytes.value_or(0), options.engine_use);
    const bool is_limited = name.cipher == Cipher::des_ede3 && !request.decrypt;
    totals = stream::crypt_raw(input, output,
                               {.key = key,
                                .direction = request.direction(),
                                .iv = secrets.iv,
                                .pads = can_pad(name) && !request.no_pad,
                                .max_blocks = is_limited ? max_des_blocks : 0,
                                .head = request.openssl ? Bytes(head) : Bytes()},
                               options);
  }
  warn_about(output);
  return totals.text_bytes;
}

int crypt(Request& request) {
  const CipherName& name = find_cipher_name(request.name);
  request.transfer.files = {request.file};
  if (request.transfer.output.empty()) {
    request.transfer.output = "-";
  }
  check(request, name);
  settle(request.transfer, true,
         request.passphrase.standard_input_uses() +
             standard_input_uses({request.key_file, request.aad_file}));
  Engines engines =
      request.transfer.engine.choose(name, why_cpu_alone(request, name), request.transfer.notes());
  Secrets secrets = read_secrets(request, name);
  const std::vector<std::uint8_t> aad =
      request.aad_file.empty() ? std::vector<std::uint8_t>() : read_aad(request.aad_file);
  if (request.legacy && name.cipher == Cipher::des_ede3 && !request.decrypt &&
      !request.transfer.quiet) {
    print_note("paes: " + name.name + ": NIST disallows encryption with 3DES after 2023");
  }
  Transfer transfer{"cipher", [](const std::string&) { return std::string("-"); }, nullptr,
                    nullptr};
  transfer.work = [&](stream::Input& input, const std::string& path,
                      const stream::Options& options) {
    return crypt_file(request, name, secrets, aad, input, path, options);
  };
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    document["cipher"] = name.name;
    document["direction"] = request.decrypt ? "decrypt" : "encrypt";
  };
  return run_transfer(request.transfer, engines, transfer);
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  app.add_option("NAME", request->name,
                 "aes-128, aes-192 or aes-256 with -ecb, -cbc, -cfb, -ofb, -ctr or -gcm; "
                 "aes-128-xts, aes-256-xts; des-ede3 with -ecb, -cbc, -cfb, -ofb or -ctr")
      ->required();
  app.add_flag("-d,--decrypt", request->decrypt, "decrypt");
  app.add_option("--key", request->key_file, "the key: a file of exactly its bytes, raw")
      ->type_name("FILE");
  app.add_option("--iv", request->iv, "the IV or first counter block; all modes but ECB need one")
      ->type_name("HEX");
  app.add_flag("--no-pad", request->no_pad, "ECB, CBC: whole blocks, no padding");
  app.add_option("--aad", request->aad_file, "GCM: what is authenticated beside the text")
      ->type_name("FILE");
  app.add_option("--unit", request->unit_bytes,
                 "XTS: bytes of a data unit, whose numbers count up from --iv")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->transform(decimal());
  app.add_flag(
      "--legacy", request->legacy,
      "encrypt with 3DES, which NIST disallows; at most 2^20 blocks (8 MiB), padding included");
  app.add_flag("--openssl", request->openssl,
               "files of openssl enc -pbkdf2: key and IV from a passphrase, a salt in front");
  request->passphrase.declare(app, "", "--openssl: the passphrase in this file");
  app.add_option("--iter", request->iterations, "--openssl: iterations of PBKDF2; 10000")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(std::uint32_t{1}, openssl_salted::max_iterations));
  request->transfer.declare_output(app);
  request->transfer.declare_common(app, "transfer");
  app.add_option("FILE", request->file,
                 "the file, to standard output unless -o is given; - is standard input, the "
                 "default");
  app.footer(
      "Modes other than GCM authenticate nothing: whoever can change the output changes the text "
      "unnoticed. 'paes encrypt' is for everything that needs no such mode.");
  return [request] { return crypt(*request); };
}

}  // namespace

const Command command_cipher = {"cipher", "one message in a raw mode, for other programs' data",
                                declare};

}  // namespace paes::cli
