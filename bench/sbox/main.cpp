// SPDX-License-Identifier: Apache-2.0
// The program behind src/cipher/des_sbox_two_input.hpp and des_sbox_three_input.hpp.
//
//   sbox search FAN_IN FILE FIRST_SEED SEEDS STEPS   look for smaller circuits, keep them in FILE;
//                                                    those there are among the starts
//   sbox emit FAN_IN FILE                            write the header of FILE to standard output
//
// FILE holds one line a box (circuit.hpp has the form); FAN_IN is 2 or 3.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "circuit.hpp"
#include "emit.hpp"
#include "search.hpp"

namespace {

using Collection = std::array<std::optional<sbox::FoundCircuit>, 8>;

Collection load(const std::string& path, int fan_in) {
  Collection collection;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line[0] != '#') {
      const sbox::FoundCircuit found = sbox::from_line(line, fan_in);
      collection.at(static_cast<std::size_t>(found.box)) = found;
    }
  }
  return collection;
}

// Replaces the file in one step, so that a stopped search leaves the old file or the new one.
void store(const std::string& path, const Collection& collection) {
  const std::string temporary = path + ".new";
  {
    std::ofstream file(temporary);
    for (const auto& found : collection) {
      if (found) {
        file << sbox::to_line(*found) << '\n';
      }
    }
    if (!file.flush()) {
      throw std::runtime_error(temporary + ": cannot write");
    }
  }
  std::filesystem::rename(temporary, path);
}

bool is_better(const sbox::FoundCircuit& a, const sbox::FoundCircuit& b) {
  return a.circuit.gates != b.circuit.gates ? a.circuit.gates < b.circuit.gates : a.alive < b.alive;
}

void search(int fan_in, const std::string& path, std::uint64_t first_seed, std::uint64_t seeds,
            std::uint64_t steps) {
  Collection collection = load(path, fan_in);
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    for (int box = 0; box < 8; ++box) {
      auto& best = collection.at(static_cast<std::size_t>(box));
      const sbox::FoundCircuit found =
          sbox::search(box, fan_in, best ? &best->circuit : nullptr, seed, steps);
      std::fprintf(stderr, "box %d seed %llu: %d gates, %d alive\n", box + 1,
                   static_cast<unsigned long long>(seed), found.circuit.gates, found.alive);
      if (!best || is_better(found, *best)) {
        best = found;
        store(path, collection);
      }
    }
  }
}

void emit(int fan_in, const std::string& path) {
  std::vector<sbox::FoundCircuit> circuits;
  for (const auto& found : load(path, fan_in)) {
    if (!found) {
      throw std::runtime_error(path + ": lacks a box");
    }
    circuits.push_back(*found);
  }
  std::cout << sbox::to_header(circuits, fan_in);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const bool is_search = words.size() == 6 && words[0] == "search";
    const bool is_emit = words.size() == 3 && words[0] == "emit";
    if (!(is_search || is_emit) || (words[1] != "2" && words[1] != "3")) {
      std::cerr << "usage: sbox search 2|3 FILE FIRST_SEED SEEDS STEPS | sbox emit 2|3 FILE\n";
      return 2;
    }
    const int fan_in = std::stoi(words[1]);
    if (is_search) {
      search(fan_in, words[2], std::stoull(words[3]), std::stoull(words[4]), std::stoull(words[5]));
    } else {
      emit(fan_in, words[2]);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "sbox: " << error.what() << '\n';
    return 1;
  }
}
