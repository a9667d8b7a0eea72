// SPDX-License-Identifier: Apache-2.0
// The public header's RawCipher on top of RawKey: checks what a caller may get wrong, and spreads
// long messages and batches over threads.
#include <algorithm>
#include <string>
#include <vector>

#include "exec/thread_pool.hpp"
#include "message/cipher_name.hpp"
#include "message/padding.hpp"
#include "message/raw_key.hpp"
#include "paes/cipher.hpp"

namespace paes {

namespace {

// Below two pieces, threads cost more than they gain.
constexpr std::size_t piece_bytes = std::size_t{256} << 10;

const CipherName& raw_name(std::string_view name) {
  const CipherName& found = find_cipher_name(name);
  if (found.is_gcm()) {
    throw Error(ErrorCode::usage, "cipher: '" + found.name + "' is not a raw mode",
                "paes/gcm.hpp has it");
  }
  return found;
}

}  // namespace

struct PAES_HIDDEN RawCipher::State {
  State(const CipherName& name, Bytes key_bytes, const RawCipherOptions& options)
      : key(name.cipher, *name.mode, checked(name, key_bytes), find_kernel(name, options.kernel),
            options.unit_bytes),
        has_equal_halves(paes::has_equal_halves(*name.mode, key_bytes)),
        executor(make_thread_pool(options.threads)) {}

  static Bytes checked(const CipherName& name, Bytes key_bytes) {
    if (key_bytes.size() != name.key_bytes) {
      throw Error(ErrorCode::usage, "key: " + std::to_string(key_bytes.size()) + " bytes, " +
                                        name.name + " takes " + std::to_string(name.key_bytes));
    }
    return key_bytes;
  }

  void check(Direction direction, Bytes iv, std::size_t in_bytes, std::size_t out_bytes) const {
    if (direction == Direction::encrypt && has_equal_halves) {
      throw Error(ErrorCode::usage, "key: its two halves are equal, with which XTS protects less",
                  "make a key of two random halves");
    }
    if (iv.size() != key.iv_bytes()) {
      throw Error(ErrorCode::usage, "IV: " + std::to_string(iv.size()) + " bytes, " +
                                        std::to_string(key.iv_bytes()) + " are wanted");
    }
    if (!key.takes(in_bytes)) {
      throw Error(ErrorCode::usage,
                  "input: " + std::to_string(in_bytes) + " bytes cannot be a message of this mode");
    }
    if (in_bytes != out_bytes) {
      throw Error(ErrorCode::usage, "output: not as long as the input");
    }
  }

  void check_padded(std::size_t shorter_bytes, std::size_t longer_bytes) const {
    if (key.row().tail != Tail::padded) {
      throw Error(ErrorCode::usage, "padding: only ECB and CBC need it");
    }
    if (shorter_bytes != longer_bytes) {
      throw Error(ErrorCode::usage, "output: not as long as the padded text");
    }
  }

  void crypt(Direction direction, RawPosition& position, Bytes in, MutableBytes out) const {
    const bool spread = executor->threads() > 1 && in.size() >= 2 * piece_bytes;
    if (spread) {
      executor->start();
    }
    key.crypt(direction, position, in, out, spread ? *executor : serial_executor(),
              spread ? piece_bytes : std::max<std::size_t>(in.size(), 1));
  }

  void crypt_message(Direction direction, Bytes iv, Bytes in, MutableBytes out) const {
    check(direction, iv, in.size(), out.size());
    RawPosition position = key.start(iv);
    crypt(direction, position, in, out);
  }

  void crypt_batch(Direction direction, std::span<const Message> messages) const {
    std::vector<RawMessage> checked_messages;
    checked_messages.reserve(messages.size());
    for (const Message& message : messages) {
      check(direction, message.iv, message.in.size(), message.out.size());
      checked_messages.push_back({message.iv, message.in, message.out});
    }
    if (messages.size() > 1) {
      executor->start();
    }
    key.crypt_batch(direction, checked_messages, *executor);
  }

  RawKey key;
  bool has_equal_halves;
  std::unique_ptr<Executor> executor;
};

RawCipher::RawCipher(std::string_view name, Bytes key, const RawCipherOptions& options)
    : state_(std::make_unique<State>(raw_name(name), key, options)) {}
RawCipher::~RawCipher() = default;
RawCipher::RawCipher(RawCipher&&) noexcept = default;
RawCipher& RawCipher::operator=(RawCipher&&) noexcept = default;

std::string_view RawCipher::kernel() const noexcept { return state_->key.kernel().name; }
std::size_t RawCipher::block_bytes() const noexcept { return state_->key.block_size(); }
std::size_t RawCipher::iv_bytes() const noexcept { return state_->key.iv_bytes(); }

void RawCipher::encrypt(Bytes iv, Bytes in, MutableBytes out) const {
  state_->crypt_message(Direction::encrypt, iv, in, out);
}

void RawCipher::decrypt(Bytes iv, Bytes in, MutableBytes out) const {
  state_->crypt_message(Direction::decrypt, iv, in, out);
}

std::size_t RawCipher::padded_bytes(std::size_t text_bytes) const noexcept {
  const std::size_t padding = padding_bytes(text_bytes, block_bytes());
  return text_bytes > SIZE_MAX - padding ? SIZE_MAX : text_bytes + padding;
}

void RawCipher::encrypt_padded(Bytes iv, Bytes text, MutableBytes ciphertext) const {
  if (text.size() > SIZE_MAX - block_bytes()) {
    throw Error(ErrorCode::usage, "text: too long to be padded");
  }
  state_->check_padded(padded_bytes(text.size()), ciphertext.size());
  state_->check(Direction::encrypt, iv, ciphertext.size(), ciphertext.size());
  const std::size_t block = block_bytes();
  const std::size_t whole = text.size() / block * block;
  std::uint8_t last[16];
  const WipeOnExit wiped(last);
  std::copy(text.begin() + static_cast<std::ptrdiff_t>(whole), text.end(), last);
  write_padding(MutableBytes(last, block).subspan(text.size() - whole));
  RawPosition position = state_->key.start(iv);
  state_->crypt(Direction::encrypt, position, text.first(whole), ciphertext.first(whole));
  state_->crypt(Direction::encrypt, position, Bytes(last, block), ciphertext.subspan(whole));
}

std::optional<std::size_t> RawCipher::decrypt_padded(Bytes iv, Bytes ciphertext,
                                                     MutableBytes text) const {
  state_->check_padded(ciphertext.size(), text.size());
  state_->crypt_message(Direction::decrypt, iv, ciphertext, text);
  const std::size_t block = block_bytes();
  const auto last_bytes = text.empty() ? std::nullopt : unpadded_bytes(Bytes(text).last(block));
  if (!last_bytes) {
    wipe(text);
    return std::nullopt;
  }
  const std::size_t text_bytes = text.size() - block + *last_bytes;
  wipe(text.subspan(text_bytes));
  return text_bytes;
}

void RawCipher::encrypt_batch(std::span<const Message> messages) const {
  state_->crypt_batch(Direction::encrypt, messages);
}

void RawCipher::decrypt_batch(std::span<const Message> messages) const {
  state_->crypt_batch(Direction::decrypt, messages);
}

}  // namespace paes
