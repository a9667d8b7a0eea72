// `paes bench`: figures of this machine. Everything compared takes turns in one run, and every
// output is checked before it is timed.
#include <CLI/CLI.hpp>

#include "paes/bench_file.hpp"
#include "paes/bench_kernel.hpp"
#include "paes/bench_speculate.hpp"
#include "paes/bench_threads.hpp"
#include "paes/command.hpp"
#include "paes/decimal.hpp"

namespace paes::cli {

namespace {

void declare_kernel(CLI::App& app, KernelBenchRequest& request) {
  app.add_option("--cipher", request.ciphers,
                 "aes-256-gcm (the default), aes-128-ctr, des-ede3-cbc and so on; several with "
                 "commas (of 3DES far more than the 2^20 blocks that a key may encrypt elsewhere)")
      ->delimiter(',');
  app.add_option("--kernel", request.kernels,
                 "kernels to compare, ratios being to the first named; "
                 "the default is all that run here")
      ->delimiter(',');
  app.add_option("--engine", request.engine,
                 "cpu (the default), or cuda: the GPU as well, copies there and back included")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--direction", request.directions, "encrypt (the default), decrypt, verify")
      ->delimiter(',');
  takes_bytes(
      app.add_option(
             "--size", request.message_bytes,
             "bytes of a message, 16KiB or 1MB (the default is 16KiB); buffers of that size "
             "are used again and again, so small ones stay in the caches")
          ->delimiter(','));
  app.add_option("-T,--threads", request.threads,
                 "threads, each on messages of its own; 0 is all (the default is 1)")
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_flag("--share", request.share,
               "the threads work on each message together, in modes that allow it");
  app.add_option("--seconds", request.seconds,
                 "time for each cipher, direction and size (the default is 2)")
      ->check(CLI::Range(0.0, 3600.0))
      ->check([](const std::string& text) {  // "nan" is in every range
        return text.find_first_of("nN") == std::string::npos ? "" : text + " is no time";
      });
  app.add_option("--clock", request.clock,
                 "wall (the default), or cpu: processor time, for ratios on a busy machine");
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-kernel.schema.json)");
}

void declare_file(CLI::App& app, FileBenchRequest& request) {
  takes_bytes(app.add_option(
      "--size", request.file_bytes,
      "bytes of the file, 500MB or 2GiB (the default, or less where there is no room)"));
  app.add_option("--dir", request.folder,
                 "where to work; the default is memory (/dev/shm) if it has room, else TMPDIR");
  app.add_option("--against", request.against,
                 "age, openssl, gpg; several with commas; the default is those installed")
      ->delimiter(',');
  app.add_option("--runs", request.runs, "runs of each program (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_option("-T,--threads", request.threads, "threads of paes; 0 is all, the default")
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_option("--engine", request.engine,
                 "who computes in paes: auto (the default), cpu, cuda, hybrid")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "hybrid"}));
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-file.schema.json)");
}

// Numbers with commas between them.
CLI::Option* list(CLI::App& app, const char* name, std::vector<unsigned>& numbers, unsigned least,
                  unsigned most, const char* description) {
  return app.add_option(name, numbers, description)
      ->delimiter(',')
      ->check(decimal())
      ->check(CLI::Range(least, most));
}

void declare_speculate(CLI::App& app, SpeculateBenchRequest& request) {
  app.add_option("--cipher", request.cipher,
                 "aes-256-ctr (the default) or another in counter mode or GCM");
  app.add_option("--kernel", request.kernels, "kernels; several with commas")->delimiter(',');
  list(app, "--clients", request.clients, 1, 256, "threads that encrypt (the default is 1)");
  list(app, "--workers", request.workers, 0, 256,
       "threads of the engine (the default is 0,1); without any, clients compute in their delays");
  list(app, "--window", request.windows, 0, 65536,
       "requests computed ahead (the default is 16); with 0 direct computing runs against itself");
  list(app, "--delay-us", request.delays_us, 0, 1000000,
       "microseconds between a client's requests (the default is 0,20)");
  app.add_option(
         "--engine", request.engine,
         "cuda: workers have it compute windows of 256 requests and more (the default is none)")
      ->check(CLI::IsMember({"none", "cuda"}));
  takes_bytes(
      app.add_option("--request", request.request_bytes,
                     "bytes of a request, a power of two from 512 to 64KiB (the default is 4KiB)"));
  takes_bytes(app.add_option(
      "--bytes", request.bytes,
      "bytes that the clients encrypt together in a round (the default is 16MiB; delays "
      "make a round long)"));
  app.add_option("--runs", request.rounds, "rounds, each both ways (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-speculate.schema.json)");
}

void declare_threads(CLI::App& app, ThreadsBenchRequest& request) {
  app.add_option("--cipher", request.ciphers,
                 "aes-128-ecb (the default) or others whose blocks do not depend on each other")
      ->delimiter(',');
  app.add_option("--kernel", request.kernels, "kernels; several with commas")->delimiter(',');
  app.add_option("--direction", request.directions, "encrypt (the default), decrypt")
      ->delimiter(',');
  takes_bytes(
      app.add_option(
             "--size", request.message_bytes,
             "bytes of the message, 512KiB or 15MB (the default is 16MiB); several with commas")
          ->delimiter(','));
  list(app, "--threads", request.threads, 0, 4096,
       "threads that share the message; 0 is all (the default is 1,0)");
  app.add_option("--schedule", request.schedules, "static (the default), dynamic")->delimiter(',');
  takes_bytes(
      app.add_option(
             "--grain", request.grains,
             "bytes that a thread takes at a time (the default is 256KiB); several with commas")
          ->delimiter(','))
      ->check(CLI::Range(std::uint64_t{16}, std::uint64_t{1} << 40));
  app.add_option("--split", request.splits,
                 "pieces (the default), or what others have tried: blocks, inside (SubBytes and "
                 "ShiftRows of a block in parallel), nested (both)")
      ->delimiter(',');
  app.add_option("--runs", request.rounds, "rounds (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-threads.schema.json)");
}

Action declare(CLI::App& app) {
  app.require_subcommand(1, 1);
  const auto kernel_request = std::make_shared<KernelBenchRequest>();
  CLI::App* kernel = app.add_subcommand("kernel", "compare kernels on messages in memory");
  declare_kernel(*kernel, *kernel_request);
  const auto file_request = std::make_shared<FileBenchRequest>();
  CLI::App* file = app.add_subcommand("file", "compare whole programs on a file");
  declare_file(*file, *file_request);
  const auto speculate_request = std::make_shared<SpeculateBenchRequest>();
  CLI::App* speculate = app.add_subcommand(
      "speculate", "keystream computed before the data is there, against computing directly");
  declare_speculate(*speculate, *speculate_request);
  const auto threads_request = std::make_shared<ThreadsBenchRequest>();
  CLI::App* threads = app.add_subcommand(
      "threads", "compare threads, schedules and grains on one message in memory");
  declare_threads(*threads, *threads_request);
  return [kernel, kernel_request, file_request, speculate, speculate_request, threads,
          threads_request] {
    if (kernel->parsed()) {
      bench_kernels(*kernel_request);
    } else if (speculate->parsed()) {
      bench_speculation(*speculate_request);
    } else if (threads->parsed()) {
      bench_threads(*threads_request);
    } else {
      bench_files(*file_request);
    }
    return exit_done;
  };
}

}  // namespace

const Command command_bench = {"bench", "measure this machine, side by side", declare};

}  // namespace paes::cli
