// NIST's GCM validation vectors (CAVP, gcmtestvectors) on every kernel that this machine can run:
// the *.rsp files of the folder named on the command line. Each kernel seals, opens and verifies
// every case. Fails unless all kernels that run pass exactly the published number of cases.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "hex.hpp"
#include "message/gcm.hpp"
#include "tested_kernels.hpp"

namespace {

using paes::Bytes;
using paes::test::from_hex;
using Buffer = std::vector<std::uint8_t>;

// 7,875 cases for each key length and direction.
constexpr std::size_t published_cases = 47250;

struct Case {
  std::string where;
  bool seals;     // from an encryption file
  bool rejected;  // the tag must not match
  Buffer key, iv, aad, plaintext, ciphertext, tag;
};

Case make_case(std::map<std::string, std::string>& fields, const std::string& file) {
  Case made;
  made.where = file + ", key " + fields.at("Key") + ", count " + fields.at("Count");
  made.seals = file.find("Encrypt") != std::string::npos;
  made.rejected = fields.contains("FAIL");
  made.key = from_hex(fields.at("Key"));
  made.iv = from_hex(fields.at("IV"));
  made.aad = from_hex(fields.at("AAD"));
  made.ciphertext = from_hex(fields.at("CT"));
  made.tag = from_hex(fields.at("Tag"));
  if (!made.rejected) {
    made.plaintext = from_hex(fields.at("PT"));
  }
  return made;
}

// "NAME = VALUE" lines, a lone "FAIL", headings in brackets; an empty line ends a case.
void read_cases(const std::filesystem::path& path, std::vector<Case>& cases) {
  std::ifstream file(path);
  std::map<std::string, std::string> fields;
  const auto finish = [&] {
    if (fields.contains("Count")) {
      cases.push_back(make_case(fields, path.filename().string()));
    }
    fields.clear();
  };
  std::string line;
  while (std::getline(file, line)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.pop_back();
    }
    if (line.empty()) {
      finish();
    } else if (line[0] != '#' && line[0] != '[') {
      const std::size_t equals = line.find(" =");
      const std::size_t value =
          std::min(line.size(), equals == std::string::npos ? equals : equals + 3);
      fields[line.substr(0, equals)] = line.substr(value);
    }
  }
  finish();
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
      read_cases(entry.path(), cases);
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
  std::size_t total = 0;
  for (const paes::Kernel* kernel : paes::tested_kernels()) {
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
