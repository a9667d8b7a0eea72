// SPDX-License-Identifier: Apache-2.0
// See emit.hpp. Two-input circuits come out of the search with gates of any truth table. Here each
// gets one of the operations AND, ANDNOT, OR and XOR and, where that gives the complement, its
// users are told: exactly one of the four fits whichever of the inputs are complemented, so that no
// NOT is left but at outputs, where the header says so.
#include "emit.hpp"

#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace sbox {
namespace {

const char* const opening_two =
    R"(// SPDX-License-Identifier: Apache-2.0
// The S-boxes of DES as circuits of two-input gates, for bit slicing (E. Biham, FSE 1997). Made by
// `sbox emit 2 bench/sbox/two_input.circuits`, so that a change belongs there:
// tests/campaign/sbox/sbox.sh checks that it still says this, tests/unit/cipher/des_sbox_test.cpp
// every box at every input.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4) or its complement: bit i - 1 of complemented_outputs says which.
)";
const char* const opening_three =
    R"(// SPDX-License-Identifier: Apache-2.0
// The S-boxes of DES as circuits of three-input gates, for processors that have every one of them
// as an instruction. Made by `sbox emit 3 bench/sbox/three_input.circuits`, so that a change
// belongs there: tests/campaign/sbox/sbox.sh checks that it still says this,
// tests/unit/cipher/des_sbox_test.cpp every box at every input.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4). `box.lut3<t>(a, b, c)` is bit (a << 2 | b << 1 | c) of t.
)";

// Writes definitions of constants, as many to a line as fit.
class Definitions {
 public:
  explicit Definitions(std::ostream& out) : out_(out) {}

  void add(const std::string& name, const std::string& value) {
    static constexpr std::size_t columns = 100;
    const std::string definition = name + " = " + value;
    if (line_.size() + definition.size() + std::string_view(", ;").size() > columns) {
      end_line();
    }
    line_ += (line_.empty() ? "    const auto " : ", ") + definition;
  }
  void end_line() {
    if (!line_.empty()) {
      out_ << line_ << ";\n";
      line_.clear();
    }
  }

 private:
  std::ostream& out_;
  std::string line_;
};

class Writer {
 public:
  explicit Writer(const FoundCircuit& found) : found_(found) {}

  // Returns the complemented outputs.
  unsigned write(std::ostream& out) {
    const Circuit& circuit = found_.circuit;
    out << "  // " << circuit.gates << " gates; at most " << found_.alive
        << " values are alive at a time.\n"
        << "  template <class Box>\n  [[gnu::always_inline]] static constexpr void sbox_"
        << found_.box + 1 << "(Box box) noexcept {\n";
    Definitions definitions(out);
    for (int i = 0; i < circuit.gates; ++i) {
      const Gate& gate = circuit.gate[static_cast<std::size_t>(i)];
      for (const std::uint8_t in : gate.in) {
        if (in < input_count && !loaded_[in]) {
          loaded_[in] = true;
          definitions.add(name(in), "box.input(" + std::to_string(in + 1) + ")");
        }
      }
      const int node = input_count + i;
      definitions.add(name(node),
                      found_.fan_in == 2 ? two_input(gate, node) : three_input(gate, node));
      for (int o = 0; o < output_count; ++o) {
        if (circuit.output[static_cast<std::size_t>(o)] == node) {
          definitions.end_line();
          out << "    box.output(" << o + 1 << ", " << name(node) << ");\n";
        }
      }
    }
    definitions.end_line();
    out << "  }\n";
    unsigned complemented = complemented_outputs(circuit, found_.box);
    for (int o = 0; o < output_count; ++o) {
      complemented ^= (flipped_[circuit.output[static_cast<std::size_t>(o)]] ? 1U : 0U) << o;
    }
    return complemented;
  }

 private:
  static std::string name(int node) {
    std::string text(1, node < input_count ? 'a' : 'g');
    return text.append(std::to_string(node < input_count ? node + 1 : node - input_count + 1));
  }

  // Sets flipped_[node] if what is written is the complement of the gate.
  std::string two_input(const Gate& gate, int node) {
    // Bit (a << 1 | b), for the inputs as they are written.
    unsigned table = 0;
    for (unsigned cell = 0; cell < 4; ++cell) {
      const unsigned a = (cell >> 1) ^ (flipped_[gate.in[0]] ? 1U : 0U);
      const unsigned b = (cell & 1) ^ (flipped_[gate.in[1]] ? 1U : 0U);
      table |= (gate.table >> (4 * a + 3 * b) & 1U) << cell;
    }
    const std::string a = name(gate.in[0]);
    const std::string b = name(gate.in[1]);
    static constexpr unsigned all = 15;
    const struct {
      unsigned table;
      std::string text;
    } operations[] = {{8, a + " & " + b},
                      {4, a + " & ~" + b},
                      {2, b + " & ~" + a},
                      {14, a + " | " + b},
                      {6, a + " ^ " + b}};
    for (const auto& operation : operations) {
      if (table == operation.table || (table ^ all) == operation.table) {
        flipped_[static_cast<std::size_t>(node)] = table != operation.table;
        return operation.text;
      }
    }
    throw std::runtime_error("a gate that does not depend on both inputs");
  }

  // Outputs come out as they should: the gates that make them take the complement instead.
  std::string three_input(const Gate& gate, int node) {
    unsigned table = 0;
    for (unsigned cell = 0; cell < 8; ++cell) {
      unsigned from = cell;
      for (unsigned i = 0; i < 3; ++i) {
        from ^= (flipped_[gate.in[i]] ? 4U : 0U) >> i;
      }
      table |= (gate.table >> from & 1U) << cell;
    }
    const unsigned complemented = complemented_outputs(found_.circuit, found_.box);
    for (int o = 0; o < output_count; ++o) {
      if (found_.circuit.output[static_cast<std::size_t>(o)] == node &&
          (complemented >> o & 1) != 0) {
        flipped_[static_cast<std::size_t>(node)] = true;
        table ^= 0xff;
      }
    }
    std::ostringstream text;
    text << "Box::template lut3<0x" << std::hex << std::setw(2) << std::setfill('0') << table
         << ">(" << name(gate.in[0]) << ", " << name(gate.in[1]) << ", " << name(gate.in[2]) << ")";
    return text.str();
  }

  const FoundCircuit& found_;
  std::array<bool, max_nodes> flipped_ = {};
  std::array<bool, input_count> loaded_ = {};
};

}  // namespace

std::string to_header(const std::vector<FoundCircuit>& circuits, int fan_in) {
  std::ostringstream body;
  std::string masks;
  int gates = 0;
  for (const FoundCircuit& found : circuits) {
    body << '\n';
    FoundCircuit ordered = found;
    ordered.alive = order_for_registers(ordered.circuit, Goal::few_spills, 1, 20000);
    const unsigned complemented = Writer(ordered).write(body);
    masks += (masks.empty() ? "" : ", ") + std::to_string(complemented);
    gates += found.circuit.gates;
    if (fan_in == 3 && complemented != 0) {
      throw std::runtime_error("a three-input circuit with a complemented output");
    }
  }
  std::ostringstream header;
  header << (fan_in == 2 ? opening_two : opening_three) << "// " << gates
         << " gates in all.\n#pragma once\n\n#include <cstdint>\n\nnamespace paes {\n"
         << "namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges\n\n"
         << "struct " << (fan_in == 2 ? "DesTwoInputSboxes" : "DesThreeInputSboxes") << " {\n"
         << "  static constexpr std::uint8_t complemented_outputs[8] = {" << masks << "};\n"
         << body.str() << "};\n\n}  // namespace\n}  // namespace paes\n";
  return header.str();
}

}  // namespace sbox
