// SPDX-License-Identifier: Apache-2.0
// NIST's GCM validation vectors (CAVP, gcmtestvectors) on every kernel that this machine can run:
// the *.rsp files of the folder named on the command line. Each kernel seals, opens and verifies
// every case. Fails unless all kernels that run pass exactly the published number of cases.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "message/gcm.hpp"
#include "rsp_file.hpp"
#include "tested_kernels.hpp"
#include "vector_sample.hpp"

namespace {

using paes::Bytes;
using Buffer = std::vector<std::uint8_t>;

// 7,875 cases for each key length and direction.
constexpr std::size_t published_cases = 47250;

struct Case {
  std::string where;
  bool seals;     // from an encryption file
  bool rejected;  // the tag must not match
  Buffer key, iv, aad, plaintext, ciphertext, tag;
};

Case make_case(const paes::test::RspCase& read, const std::string& file) {
  Case made;
  made.where = file + ", key " + read.at("KEY") + ", count " + read.at("COUNT");
  made.seals = file.find("Encrypt") != std::string::npos;
  made.rejected = read.has("FAIL");
  made.key = read.bytes("KEY");
  made.iv = read.bytes("IV");
  made.aad = read.bytes("AAD");
  made.ciphertext = read.bytes("CT");
  made.tag = read.bytes("TAG");
  if (!made.rejected) {
    made.plaintext = read.bytes("PT");
  }
  return made;
}

bool is_passed(const Case& test, const paes::Kernel& kernel) {
  const paes::GcmKey key(test.key, kernel);
  Buffer out(test.ciphertext.size());
  const bool accepted = key.open(test.iv, test.aad, test.ciphertext, out, test.tag);
  if (accepted == test.rejected ||
      key.verify(test.iv, test.aad, test.ciphertext, test.tag) != accepted) {
    return false;
  }
  if (test.rejected) {
    return std::all_of(out.begin(), out.end(), [](auto byte) { return byte == 0; });
  }
  Buffer tag(test.tag.size());
  Buffer sealed(test.plaintext.size());
  key.seal(test.iv, test.aad, test.plaintext, sealed, tag);
  return out == test.plaintext && sealed == test.ciphertext && tag == test.tag;
}

int run(const std::filesystem::path& folder) {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".rsp") {
      paes::test::for_each_rsp_case(entry.path(), [&](const paes::test::RspCase& read) {
        cases.push_back(make_case(read, entry.path().filename().string()));
      });
    }
  }
  std::size_t rejections = 0;
  for (const Case& test : cases) {
    rejections += test.rejected ? 1 : 0;
  }
  std::cout << cases.size() << " cases read, " << rejections << " of them to be rejected\n";
  bool failed = false;
  if (cases.size() != published_cases || rejections == 0) {
    std::cout << "FAILED: " << published_cases << " cases were published\n";
    failed = true;
  }
  paes::test::keep_sample(cases, "cases");
  std::size_t total = 0;
  for (const paes::Kernel* kernel : paes::tested_gcm_kernels()) {
    if (const std::string reason = paes::unavailable_reason(*kernel); !reason.empty()) {
      std::cout << kernel->name << ": not run: " << reason << '\n';
      continue;
    }
    std::size_t passed = 0;
    for (const Case& test : cases) {
      if (is_passed(test, *kernel)) {
        ++passed;
      } else if (!failed) {
        std::cout << kernel->name << ": FAILED first at " << test.where << '\n';
        failed = true;
      }
    }
    failed = failed || passed != cases.size();
    total += passed;
    std::cout << kernel->name << ": " << passed << " cases passed" << std::endl;
  }
  std::cout << "total: " << total << " cases passed\n";
  return failed || total == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: gcm_vectors FOLDER\n";
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "gcm_vectors: " << error.what() << '\n';
    return 1;
  }
}
