// SPDX-License-Identifier: Apache-2.0
// The modes of operation as one table: a mode is a formula, out = post ^ F(pre), with F the block
// cipher forward or inverse. Electronic codebook, CBC, CFB (whole blocks), OFB and counter mode are
// SP 800-38A, section 6; XTS is IEEE 1619, section 5, which SP 800-38E approves. GCM is counter
// mode and a hash (cipher/mode/gcm_blocks.hpp). The kernels of instruction sets get a new mode from
// its row here. CONTRIBUTING.md says who else must know it.
#pragma once

#include <iterator>

namespace paes {

// The terms of a formula, for block i of a message.
enum class Term : unsigned {
  nothing,       // zero
  in,            // in[i]
  counter,       // the first counter block, counted on by i
  tweak,         // T[i] = T[i-1] * x in GF(2^128)
  in_xor_tweak,  // in[i] ^ T[i]
  before,        // in[i-1], or the IV for the first block
  feedback,      // what the previous block handed on (see Feedback), or the IV for the first block
  in_xor_feedback,  // in[i] ^ feedback
};

// What a block hands on to the next. Anything but `none` chains the blocks: they run one after the
// other, and only independent messages run in parallel.
enum class Feedback : unsigned { none, output, cipher_output };

struct Formula {
  bool inverse;  // F is the inverse cipher
  Term pre;
  Term post;
  Feedback feedback;

  [[nodiscard]] constexpr bool is_chained() const noexcept { return feedback != Feedback::none; }
  [[nodiscard]] constexpr bool has_before() const noexcept {
    return pre == Term::before || post == Term::before;
  }
  [[nodiscard]] constexpr bool has_tweak() const noexcept { return post == Term::tweak; }
  [[nodiscard]] constexpr bool has_counter() const noexcept { return pre == Term::counter; }
};

// The rows of the table, in its order.
enum class Operation : unsigned {
  ecb_encrypt,
  ecb_decrypt,
  ctr,  // both directions
  xts_encrypt,
  xts_decrypt,
  cbc_decrypt,
  cfb_decrypt,
  // Chained.
  cbc_encrypt,
  cfb_encrypt,
  ofb,  // both directions
};

inline constexpr Formula formulas[] = {
    // inverse  pre                    post            feedback
    {false, Term::in, Term::nothing, Feedback::none},
    {true, Term::in, Term::nothing, Feedback::none},
    {false, Term::counter, Term::in, Feedback::none},
    {false, Term::in_xor_tweak, Term::tweak, Feedback::none},
    {true, Term::in_xor_tweak, Term::tweak, Feedback::none},
    {true, Term::in, Term::before, Feedback::none},
    {false, Term::before, Term::in, Feedback::none},
    {false, Term::in_xor_feedback, Term::nothing, Feedback::output},
    {false, Term::feedback, Term::in, Feedback::output},
    {false, Term::feedback, Term::in, Feedback::cipher_output},
};
inline constexpr unsigned operation_count = std::size(formulas);
static_assert(operation_count == static_cast<unsigned>(Operation::ofb) + 1);

[[nodiscard]] constexpr const Formula& formula_of(Operation operation) noexcept {
  return formulas[static_cast<unsigned>(operation)];
}

enum class Direction : unsigned { encrypt, decrypt };

enum class Mode : unsigned { ecb, cbc, cfb, ofb, ctr, xts };

// What a mode does with a text that does not end with a whole block.
enum class Tail : unsigned {
  any,     // nothing: the keystream is cut
  padded,  // the text is padded to whole blocks
  stolen,  // ciphertext stealing
};

// The modes by the names that users type, each with its two rows above.
struct ModeRow {
  const char* name;
  Operation encrypt;
  Operation decrypt;
  Tail tail;
  bool has_iv;
  bool has_units;  // data units, whose numbers a second key encrypts

  [[nodiscard]] constexpr Operation operation(Direction direction) const noexcept {
    return direction == Direction::encrypt ? encrypt : decrypt;
  }
};

inline constexpr ModeRow modes[] = {
    // name, encrypt, decrypt, tail, IV, units
    {"ecb", Operation::ecb_encrypt, Operation::ecb_decrypt, Tail::padded, false, false},
    {"cbc", Operation::cbc_encrypt, Operation::cbc_decrypt, Tail::padded, true, false},
    {"cfb", Operation::cfb_encrypt, Operation::cfb_decrypt, Tail::any, true, false},
    {"ofb", Operation::ofb, Operation::ofb, Tail::any, true, false},
    {"ctr", Operation::ctr, Operation::ctr, Tail::any, true, false},
    {"xts", Operation::xts_encrypt, Operation::xts_decrypt, Tail::stolen, true, true},
};

[[nodiscard]] constexpr const ModeRow& row_of(Mode mode) noexcept {
  return modes[static_cast<unsigned>(mode)];
}

}  // namespace paes
