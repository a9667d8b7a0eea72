// SPDX-License-Identifier: Apache-2.0
// Encrypts a file with a key, salt and envelope of the caller's choice, so that tests can compare
// bytes across kernels, thread counts, schedules and piece sizes. A test program and nothing else:
// with one key and one salt for two texts, AES-GCM protects neither.
//
//   seal_fixed SUITE KEY SALT ENVELOPE KERNEL SCHEDULE THREADS PIECE [IN OUT]
//
// SUITE is 1 or 2; KEY, SALT and ENVELOPE are files of raw bytes; SCHEDULE is serial, static or
// dynamic. Without IN and OUT it works from standard input to standard output.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "encrypt_with_salt.hpp"
#include "exec/schedule/schedule.hpp"
#include "kernel/registry.hpp"
#include "paes/error.hpp"
#include "stream/file/create_output.hpp"

namespace {

using namespace paes;

std::vector<std::uint8_t> contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::failure, std::string(path) + ": cannot be opened");
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Schedule schedule_of(const std::string& name) {
  return name == "serial" ? Schedule::serial : parse_schedule(name);
}

void seal(const std::vector<const char*>& words) {
  const auto suite = static_cast<container::Suite>(std::atoi(words[0]));
  const auto key = contents(words[1]);
  const auto salt = contents(words[2]);
  const auto envelope = contents(words[3]);
  const Kernel& kernel = find_kernel(Cipher::aes, words[4]);
  const auto threads = static_cast<unsigned>(std::atoi(words[6]));
  const auto executor = make_executor(schedule_of(words[5]), threads);
  const stream::Work work{*executor, kernel, static_cast<std::size_t>(std::atoll(words[7]))};
  const bool files = words.size() > 8;
  stream::Input input = files ? stream::Input::open(words[8]) : stream::Input::standard_input();
  const stream::OutputOptions placing{.source = &input};
  const auto output = files ? stream::create_output(std::string(words[9]), placing)
                            : stream::standard_output(placing);
  stream::encrypt_with_salt(input, *output, suite, envelope, key, salt, work);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<const char*> words(argv + 1, argv + argc);
  if (words.size() != 8 && words.size() != 10) {
    std::fputs("usage: seal_fixed SUITE KEY SALT ENVELOPE KERNEL SCHEDULE THREADS PIECE [IN OUT]\n",
               stderr);
    return 2;
  }
  try {
    seal(words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "seal_fixed: %s\n", error.what());
    return 1;
  }
  return 0;
}
