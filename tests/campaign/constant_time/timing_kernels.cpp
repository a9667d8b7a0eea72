// SPDX-License-Identifier: Apache-2.0
// Kernels as subjects: `tables` as the control, and those that dispatch may choose and valgrind
// cannot run. Of `aesni`, which valgrind knows, a few operations are measured for comparison.
#include <array>
#include <memory>
#include <string_view>

#include "cipher/mode/mode.hpp"
#include "core/secret.hpp"
#include "kernel/registry.hpp"
#include "timing_subject.hpp"

namespace paes::timing {

namespace {

constexpr std::size_t most_text_bytes = 4096;
constexpr std::size_t chains = 16;
constexpr std::size_t chain_bytes = 2 * block_bytes;

// What an operation reads besides the key. All of it is data that may be secret: a counter of GCM
// is the hash of an IV under H, if the IV does not have 96 bits.
struct alignas(64) Data {
  CounterBlock counter;
  Tweak tweak;
  ChainBlock before;
  HashValue hash;
  std::uint8_t text[most_text_bytes];
};

// A kernel with a key and data. The subjects of a kernel share one, because they run one by one.
struct Bound {
  Bound(const Kernel& chosen, std::size_t blocks)
      : kernel(chosen),
        key_bytes(chosen.cipher == Cipher::aes ? 32 : 24),
        text_bytes(blocks * block_bytes_of(chosen.cipher)) {
    const std::array<std::uint8_t, 32> zero = {};
    prepare(Bytes(zero).first(key_bytes));
  }

  void prepare(Bytes key) { kernel.prepare(key, *keys); }
  [[nodiscard]] std::size_t data_bytes() const { return offsetof(Data, text) + text_bytes; }

  alignas(64) std::uint8_t out[most_text_bytes] = {};
  Data data = {};
  Tag tag = {};
  const Kernel& kernel;
  std::size_t key_bytes;
  std::size_t text_bytes;
  Secret<KernelKeys> keys;
};
using SharedBound = std::shared_ptr<Bound>;

using Run = std::function<void()>;

Run run_of(const SharedBound& bound, Operation operation) {
  const Formula& formula = formula_of(operation);
  if (formula.is_chained()) {
    return [b = bound.get(), run = bound->kernel.run_chains(operation)] {
      std::array<Chain, chains> messages;
      for (std::size_t i = 0; i < chains; ++i) {
        const std::size_t at = i * chain_bytes;
        messages[i] = {{b->data.text + at, b->out + at, chain_bytes}, b->data.before};
      }
      run(*b->keys, messages);
    };
  }
  return [b = bound.get(), run = bound->kernel.run(operation), formula] {
    run(*b->keys, {.text = {b->data.text, b->out, b->text_bytes},
                   .counter = formula.has_counter() ? &b->data.counter : nullptr,
                   .tweak = formula.has_tweak() ? &b->data.tweak : nullptr,
                   .before = formula.has_before() ? &b->data.before : nullptr});
  };
}

Run run_of(const SharedBound& bound, WholeMessageFunction run) {
  return [b = bound.get(), run] {
    run(*b->keys,
        {.text = {b->data.text, b->out, b->text_bytes},
         .iv = {},
         .pre_counter = &b->data.counter,
         .aad = {},
         .aad_hash = &b->data.hash},
        b->tag);
  };
}

struct Named {
  const char* name;
  Run run;
};

std::vector<Named> runs_of(const SharedBound& bound) {
  struct Row {
    const char* name;
    Operation operation;
  };
  constexpr Row rows[] = {{"ECB encryption", Operation::ecb_encrypt},
                          {"ECB decryption", Operation::ecb_decrypt},
                          {"CTR", Operation::ctr},
                          {"XTS encryption", Operation::xts_encrypt},
                          {"XTS decryption", Operation::xts_decrypt},
                          {"CBC decryption", Operation::cbc_decrypt},
                          {"CFB decryption", Operation::cfb_decrypt},
                          {"CBC encryption", Operation::cbc_encrypt},
                          {"CFB encryption", Operation::cfb_encrypt},
                          {"OFB", Operation::ofb}};
  static_assert(std::size(rows) == operation_count);
  std::vector<Named> runs;
  for (const Row& row : rows) {
    if (bound->kernel.has(row.operation)) {
      runs.push_back({row.name, run_of(bound, row.operation)});
    }
  }
  if (bound->kernel.gcm.seal != nullptr) {
    runs.push_back({"GCM sealing", run_of(bound, bound->kernel.gcm.seal)});
    runs.push_back({"GCM opening", run_of(bound, bound->kernel.gcm.open)});
    runs.push_back({"GHASH", [b = bound.get()] {
                      b->kernel.gcm.hash(*b->keys, b->data.text, b->text_bytes, b->data.hash);
                    }});
  }
  return runs;
}

std::string name_of(const Kernel& kernel) {
  return (kernel.cipher == Cipher::aes ? "" : "des_") + std::string(kernel.name);
}

Subject by_key(const SharedBound& bound, const Named& named) {
  return {.group = name_of(bound->kernel),
          .name = std::string(named.name) + ", keys",
          .input_bytes = bound->key_bytes,
          .make = zeros_or_random,
          .set =
              [bound](Bytes input) {
                bound->data.hash = {};
                bound->prepare(input);
              },
          .run = named.run};
}

Subject by_data(const SharedBound& bound, const Named& named) {
  return {
      .group = name_of(bound->kernel),
      .name = std::string(named.name) + ", data",
      .input_bytes = bound->data_bytes(),
      .make = zeros_or_random,
      .set = [bound](Bytes input) { std::memcpy(&bound->data, input.data(), bound->data_bytes()); },
      .run = named.run};
}

Subject key_expansion(const SharedBound& bound) {
  auto key = std::make_shared<std::array<std::uint8_t, 32>>();
  const Bytes bytes = Bytes(*key).first(bound->key_bytes);
  return {.group = name_of(bound->kernel),
          .name = "key expansion",
          .input_bytes = bound->key_bytes,
          .make = zeros_or_random,
          .set = [key](Bytes input) { std::copy(input.begin(), input.end(), key->begin()); },
          .run = [bound, bytes] { bound->prepare(bytes); }};
}

bool is_known_to_valgrind(const Kernel& kernel) {
  const std::string_view name = kernel.name;
  return name == "bitslice" || name == "bitslice_avx2" || name == "aesni";
}

// The rows that dispatch may choose, if valgrind does not know their instructions.
bool is_measured(const Kernel& kernel) {
  const bool is_of_interest =
      !is_known_to_valgrind(kernel) || kernel.name == std::string_view("aesni");
  return kernel.use == Use::automatic && is_of_interest && unavailable_reason(kernel).empty();
}

}  // namespace

std::vector<Subject> control_subjects() {
  const auto tables = std::make_shared<Bound>(find_kernel(Cipher::aes, "tables"), 1);
  const Named encryption = {"ECB encryption", run_of(tables, Operation::ecb_encrypt)};
  std::vector<Subject> subjects;
  for (const Subject& subject : {by_key(tables, encryption), by_data(tables, encryption)}) {
    subjects.push_back(with_tables_forgotten(subject));
    subjects.back().expected = Expected::apart;
  }
  // The same as the first, but with no difference between the classes.
  subjects.push_back(with_tables_forgotten(by_key(tables, encryption)));
  subjects.back().group = "no difference";
  subjects.back().name = "tables, both classes with random keys";
  subjects.back().make = [](Class, Random& random, MutableBytes input) { random.fill(input); };
  return subjects;
}

std::vector<Subject> kernel_subjects() {
  constexpr unsigned des_share = 100;  // a flight has 512 blocks
  std::vector<Subject> subjects;
  for (const Kernel* kernel : all_kernels()) {
    if (!is_measured(*kernel)) {
      continue;
    }
    // One flight of all lanes, and for AES what does not fill one.
    const std::size_t blocks = kernel->lanes + (kernel->cipher == Cipher::aes ? 3 : 0);
    const auto bound = std::make_shared<Bound>(*kernel, blocks);
    const std::size_t first = subjects.size();
    subjects.push_back(key_expansion(bound));
    for (const Named& named : runs_of(bound)) {
      // Keys take long to expand. These operations use all that is made of them.
      const std::string_view name = named.name;
      if (name == "ECB encryption" || name == "ECB decryption" || name == "GCM sealing") {
        subjects.push_back(by_key(bound, named));
        subjects.push_back(by_data(bound, named));
      } else if (!is_known_to_valgrind(*kernel)) {
        subjects.push_back(by_data(bound, named));
      }
    }
    if (kernel->cipher == Cipher::des_ede3) {
      for (std::size_t i = first; i < subjects.size(); ++i) {
        subjects[i].share = des_share;
      }
      continue;
    }
    const Named encryption = {"ECB encryption", run_of(bound, Operation::ecb_encrypt)};
    subjects.push_back(with_tables_forgotten(by_key(bound, encryption)));
    subjects.push_back(with_tables_forgotten(by_data(bound, encryption)));
  }
  return subjects;
}

}  // namespace paes::timing
