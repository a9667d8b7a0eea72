// SPDX-License-Identifier: Apache-2.0
// The keystream engine, for c_interface_fuzz: whatever was computed ahead, the bytes are those of
// counter mode and of AES-GCM.
#include <string>

#include "fuzz/c_interface_calls.hpp"

namespace paes::fuzz {

namespace {

using Engine = Owned<paes_keystream_engine, paes_keystream_engine_free>;
using Key = Owned<paes_keystream_key, paes_keystream_key_free>;
using Context = Owned<paes_keystream_context, paes_keystream_close>;
using Sealed = Owned<paes_sealed_context, paes_sealed_close>;
using Cipher = Owned<paes_cipher, paes_cipher_free>;
using Gcm = Owned<paes_gcm, paes_gcm_free>;

constexpr std::size_t text_limit = 20000;

// Adds a number to one of so many last bytes, big-endian.
Buffer counted(Buffer first, std::size_t counter_bytes, std::uint64_t count) {
  for (std::size_t i = first.size(); i-- > first.size() - counter_bytes;) {
    count += first[i];
    first[i] = static_cast<std::uint8_t>(count);
    count >>= 8;
  }
  return first;
}

const Buffer key_bytes = pattern(32, 0, 8);

}  // namespace

struct Keystreams::State {
  Engine engine;
  bool has_begun = false;
  Key key;
  Key gcm_key;
  Context context;
  Sealed sealed;
  Buffer first_counter;
  Buffer first_nonce;
  Buffer used;  // a byte for each of the context's text: 1 where it was encrypted
  std::vector<std::uint8_t> sent;  // the same for messages
  std::size_t limit = 0;
  unsigned contexts = 0;

  void make_engine(Decisions& decisions) {
    paes_keystream_options options = {};
    options.workers = decisions.one_in(32) ? 1 : 0;
    options.budget_bytes = decisions.one_in(2) ? decisions.number(std::size_t{1} << 21) : 0;
    options.chunk_bytes = decisions.one_in(2) ? std::size_t{1} << decisions.number(18) : 0;
    paes_keystream_engine* made = nullptr;
    (void)answer(paes_keystream_engine_new(decisions.one_in(8) ? nullptr : &options, &made));
    engine.reset(made);  // contexts and keys of the one before live on
  }

  void make_key(Decisions& decisions, std::size_t which) {
    static constexpr const char* names[] = {"aes-256-ctr", "aes-256-gcm", "aes-256-cbc"};
    paes_keystream_key* made = nullptr;
    const int code = answer(paes_keystream_key_new(
        engine.get(), names[which], key_bytes.data(), decisions.one_in(16) ? 31 : 32,
        decisions.one_in(2) ? "bitslice" : nullptr, &made));
    require(engine != nullptr || code == PAES_USAGE, "no key without an engine");
    require(which != 2 || code != PAES_OK, "no key of another mode");
    (which == 0 ? key : gcm_key).reset(made);
  }

  // What most inputs need before they get anywhere.
  void begin(Decisions& decisions) {
    make_engine(decisions);
    make_key(decisions, 0);
    make_key(decisions, 1);
    open(decisions);
    open_sealed(decisions);
    has_begun = true;
  }

  void open(Decisions& decisions) {
    paes_keystream_context_options options = {};
    options.window_chunks = decisions.one_in(8)   ? PAES_NO_WINDOW
                            : decisions.one_in(2) ? static_cast<unsigned>(decisions.number(300))
                                                  : 0;
    options.first_chunk = decisions.number(20);
    options.stride = static_cast<std::int64_t>(decisions.number(5)) - 2;
    options.limit_bytes = decisions.one_in(4) ? decisions.number(text_limit) : 0;
    // No two contexts share counters.
    const Buffer first = counted(pattern(16, 1, 9), 12, std::uint64_t{++contexts} << 32);
    paes_keystream_context* made = nullptr;
    (void)answer(paes_keystream_open(engine.get(), (decisions.one_in(16) ? gcm_key : key).get(),
                                     first.data(), decisions.one_in(16) ? 8 : 16, &options, &made));
    context.reset(made);
    first_counter = first;
    used.assign(2 * text_limit, 0);
    limit = options.limit_bytes != 0 ? options.limit_bytes : used.size();
  }

  void open_sealed(Decisions& decisions) {
    paes_sealed_context_options options = {};
    options.window_messages = decisions.one_in(2) ? static_cast<unsigned>(decisions.number(40)) : 0;
    options.stride = static_cast<std::int64_t>(decisions.number(3)) - 1;
    const Buffer first = counted(pattern(12, 2, 10), 4, ++contexts * std::uint64_t{4096});
    paes_sealed_context* made = nullptr;
    (void)answer(paes_sealed_open(engine.get(), (decisions.one_in(16) ? key : gcm_key).get(),
                                  first.data(), &options, &made));
    sealed.reset(made);
    first_nonce = first;
    sent.assign(256, 0);
  }

  [[nodiscard]] Buffer by_counter_mode(std::size_t offset, const Buffer& text) const {
    paes_cipher* made = nullptr;
    require(is_ok(paes_cipher_new("aes-256-ctr", key_bytes.data(), 32, nullptr, &made)),
            "a cipher");
    const Cipher cipher(made);
    const Buffer iv = counted(first_counter, 16, offset / 16);
    Buffer padded(offset % 16 + text.size());
    std::copy(text.begin(), text.end(), padded.begin() + static_cast<std::ptrdiff_t>(offset % 16));
    require(is_ok(paes_cipher_encrypt(cipher.get(), iv.data(), 16, padded.data(), padded.data(),
                                      padded.size())),
            "counter mode");
    padded.erase(padded.begin(), padded.begin() + static_cast<std::ptrdiff_t>(offset % 16));
    return padded;
  }

  void encrypt(Decisions& decisions) {
    const std::size_t offset = decisions.number(text_limit);
    const Buffer text =
        pattern(decisions.one_in(4) ? decisions.number(text_limit) : decisions.number(200), 0, 11);
    Buffer out(text.size(), 0xee);
    const auto begin = used.begin() + static_cast<std::ptrdiff_t>(context ? offset : 0);
    const auto end = context ? begin + static_cast<std::ptrdiff_t>(text.size()) : begin;
    const bool is_fresh = context != nullptr && std::count(begin, end, 1) == 0 &&
                          (text.empty() || offset + text.size() <= limit);
    const int code =
        answer(paes_keystream_encrypt(context.get(), offset, text.data(), out.data(), text.size()));
    if (code != PAES_OK) {
      require(text.empty() || code == (is_fresh ? PAES_FAILURE : PAES_USAGE),
              "what was used is refused");
      require(out == Buffer(text.size(), 0xee), "nothing is written");
      return;
    }
    require(is_fresh || text.empty(), "no byte is encrypted twice");
    std::fill(begin, end, std::uint8_t{1});
    require(out == by_counter_mode(offset, text), "counter mode");
    require(
        is_ok(paes_keystream_decrypt(context.get(), offset, out.data(), out.data(), out.size())),
        "what was encrypted is decrypted");
    require(out == text, "a text comes back");
  }

  void seal(Decisions& decisions) {
    const std::size_t message = decisions.number(256);
    const Buffer aad = pattern(decisions.number(30), 0, 12);
    const Buffer text =
        pattern(decisions.one_in(8) ? decisions.number(9000) : decisions.number(300), 0, 13);
    Buffer out(text.size(), 0xee);
    Buffer tag(16);
    const int code =
        answer(paes_sealed_encrypt(sealed.get(), message, aad.data(), aad.size(), text.data(),
                                   out.data(), out.size(), tag.data(), tag.size()));
    if (code != PAES_OK) {
      require(code == PAES_FAILURE || code == PAES_USAGE, "refused");
      require(out == Buffer(text.size(), 0xee), "nothing is written");
      return;
    }
    require(sent[message] == 0, "no message is sealed twice");
    sent[message] = 1;
    paes_gcm* made = nullptr;
    require(is_ok(paes_gcm_new(key_bytes.data(), 32, nullptr, &made)), "a key");
    const Gcm gcm(made);
    const Buffer nonce = counted(first_nonce, 8, message);
    Buffer expected(text.size());
    Buffer expected_tag(16);
    require(is_ok(paes_gcm_seal(gcm.get(), nonce.data(), 12, aad.data(), aad.size(), text.data(),
                                expected.data(), text.size(), expected_tag.data(), 16)),
            "AES-GCM");
    require(out == expected && tag == expected_tag, "AES-GCM of the message's nonce");
    const bool is_forged = decisions.one_in(2);
    tag[3] ^= is_forged ? 1 : 0;
    const int opened =
        answer(paes_sealed_decrypt(sealed.get(), message, aad.data(), aad.size(), out.data(),
                                   out.data(), out.size(), tag.data(), tag.size()));
    require(opened == (is_forged ? PAES_CORRUPT : PAES_OK), "a forgery is found");
    require(is_forged ? is_zero(out) : out == text, "a message comes back");
  }

  void look(Decisions& decisions) {
    paes_keystream_statistics statistics;
    paes_keystream_use use;
    paes_keystream_costs costs;
    const std::size_t offset = decisions.number(text_limit);
    const std::size_t bytes = decisions.number(300);
    require(is_ok(paes_keystream_get_statistics(engine.get(), &statistics)) == (engine != nullptr),
            "statistics of an engine");
    require(is_ok(paes_keystream_get_use(context.get(), &use)) == (context != nullptr), "its use");
    require(is_ok(paes_keystream_key_get_costs(key.get(), &costs)) == (key != nullptr), "costs");
    (void)answer(paes_keystream_prefetch(context.get(), offset));
    (void)answer(paes_sealed_prefetch(sealed.get(), offset));
    if (decisions.one_in(4) && is_ok(paes_keystream_mark_used(context.get(), offset, bytes))) {
      std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(offset), bytes, std::uint8_t{1});
    }
    if (decisions.one_in(4) && is_ok(paes_sealed_mark_used(sealed.get(), offset % 200, 10))) {
      std::fill_n(sent.begin() + static_cast<std::ptrdiff_t>(offset % 200), 10, std::uint8_t{1});
    }
    (void)paes_keystream_idle(engine.get(), 1000 * decisions.number(100));
  }
};

Keystreams::Keystreams() : state_(std::make_unique<State>()) {}
Keystreams::~Keystreams() = default;

void Keystreams::step(Decisions& decisions) {
  if (!state_->has_begun) {
    state_->begin(decisions);
  }
  switch (decisions.number(12)) {
    case 0:
      return state_->make_engine(decisions);
    case 1:
      return state_->make_key(decisions, decisions.number(3));
    case 2:
      return state_->open(decisions);
    case 3:
      return state_->open_sealed(decisions);
    case 4:
      return state_->context.reset();
    case 5:
    case 6:
      return state_->look(decisions);
    case 7:
    case 8:
    case 9:
      return state_->encrypt(decisions);
    default:
      return state_->seal(decisions);
  }
}

}  // namespace paes::fuzz
