// The options that say how the work is done: kernel, threads, schedule, grain, engine. None of them
// changes a byte of the output.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "exec/executor.hpp"
#include "message/cipher_name.hpp"
#include "stream/pipeline.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

// What the options chose, checked.
struct Engine {
  const Kernel& kernel;
  Schedule schedule;
  unsigned threads;
  std::size_t grain_bytes;

  // No more threads than there are pieces: starting one costs more than a small file does. Nothing
  // for pipes, whose length is unknown.
  [[nodiscard]] std::unique_ptr<Executor> executor_for(std::optional<std::uint64_t> bytes) const;
};

class EngineOptions {
 public:
  void declare(CLI::App& app);
  // Throws Error(usage); prints the kernel's warning if it has one. The kernel is one that has the
  // cipher: AES-GCM, which the container is made of, or the one named.
  [[nodiscard]] Engine choose() const;
  [[nodiscard]] Engine choose(const CipherName& cipher) const;

 private:
  unsigned threads_ = 0;
  std::string schedule_ = "dynamic";
  std::size_t grain_bytes_ = stream::default_grain_bytes;
  std::string kernel_ = "auto";
  std::string engine_ = "auto";
};

}  // namespace paes::cli
