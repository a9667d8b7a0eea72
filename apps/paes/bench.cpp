// `paes bench`: figures of this machine. Everything compared takes turns in one run, and every
// output is checked before it is timed.
#include <CLI/CLI.hpp>

#include "paes/bench_file.hpp"
#include "paes/bench_kernel.hpp"
#include "paes/command.hpp"
#include "paes/decimal.hpp"

namespace paes::cli {

namespace {

void declare_kernel(CLI::App& app, KernelBenchRequest& request) {
  app.add_option("--cipher", request.ciphers,
                 "aes-256-gcm (the default), aes-128-ctr, des-ede3-cbc and so on; several with "
                 "commas")
      ->delimiter(',');
  app.add_option("--kernel", request.kernels,
                 "kernels to compare, ratios being to the first named; "
                 "the default is all that run here")
      ->delimiter(',');
  app.add_option("--direction", request.directions, "encrypt (the default), decrypt, verify")
      ->delimiter(',');
  app.add_option("--size", request.message_bytes,
                 "bytes of a message, 16KiB or 1MB (the default is 16KiB); buffers of that size "
                 "are used again and again, so small ones stay in the caches")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(true))
      ->transform(decimal());
  app.add_option("-T,--threads", request.threads,
                 "threads, each on messages of its own; 0 is all (the default is 1)")
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_flag("--share", request.share,
               "the threads work on each message together, in modes that allow it");
  app.add_option("--seconds", request.seconds,
                 "time for each cipher, direction and size (the default is 2)")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("--clock", request.clock,
                 "wall (the default), or cpu: processor time, for ratios on a busy machine");
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-kernel.schema.json)");
}

void declare_file(CLI::App& app, FileBenchRequest& request) {
  app.add_option("--size", request.file_bytes,
                 "bytes of the file, 500MB or 2GiB (the default, or less where there is no room)")
      ->transform(CLI::AsSizeValue(true))
      ->transform(decimal());
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
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-file.schema.json)");
}

Action declare(CLI::App& app) {
  app.require_subcommand(1, 1);
  const auto kernel_request = std::make_shared<KernelBenchRequest>();
  CLI::App* kernel = app.add_subcommand("kernel", "compare kernels on messages in memory");
  declare_kernel(*kernel, *kernel_request);
  const auto file_request = std::make_shared<FileBenchRequest>();
  CLI::App* file = app.add_subcommand("file", "compare whole programs on a file");
  declare_file(*file, *file_request);
  return [kernel, kernel_request, file_request] {
    if (kernel->parsed()) {
      bench_kernels(*kernel_request);
    } else {
      bench_files(*file_request);
    }
    return exit_done;
  };
}

}  // namespace

const Command command_bench = {"bench", "measure this machine, side by side", declare};

}  // namespace paes::cli
