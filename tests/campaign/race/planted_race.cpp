// SPDX-License-Identifier: Apache-2.0
// A program with a data race on purpose, for the test that ThreadSanitizer sees one; and with the
// same accesses ordered by OpenMP's barriers alone, for the test that it invents none. Without the
// Archer tool, ThreadSanitizer knows nothing of libomp's barriers and reports the second as well.
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int race() {
  int sum = 0;
#pragma omp parallel num_threads(2) default(none) shared(sum)
  for (int i = 0; i < 1000; ++i) {
    sum += 1;
  }
  return sum;
}

// Each thread reads what the other wrote, a barrier later.
int ordered() {
  std::vector<int> values(1000, 0);
  std::vector<int> mirrored(values.size(), 0);
#pragma omp parallel num_threads(2) default(none) shared(values, mirrored)
  for (int round = 0; round < 10; ++round) {
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = mirrored[values.size() - 1 - i] + 1;
    }
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < values.size(); ++i) {
      mirrored[i] = values[values.size() - 1 - i];
    }
  }
  int sum = 0;
  for (const int value : mirrored) {
    sum += value;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "race") == 0) {
    std::printf("raced to %d\n", race());
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "ordered") == 0) {
    return ordered() == 10000 ? 0 : 1;
  }
  std::fputs("planted_race: race or ordered\n", stderr);
  return 2;
}
