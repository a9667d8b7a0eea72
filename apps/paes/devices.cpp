// `paes devices`: every row of the kernel table, whether it runs on this machine, and which one is
// chosen when nothing is asked for.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "kernel/registry.hpp"
#include "paes/command.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

// GCM is made of the counter mode and the hash, for every key length alike.
std::vector<std::string> ciphers_of(const Kernel& kernel) {
  if (kernel.run(Operation::ctr) == nullptr) {
    return {};
  }
  return {"aes-128-gcm", "aes-192-gcm", "aes-256-gcm"};
}

// Why the kernel does not run here, or why it is or is not the one that is chosen.
std::string reason_of(const Kernel& kernel, const Kernel& selected) {
  if (std::string reason = unavailable_reason(kernel); !reason.empty()) {
    return reason;
  }
  if (&kernel == &selected) {
    return "the first automatic choice that runs here";
  }
  switch (kernel.use) {
    case Use::bench_only:
      return "only inside paes bench";
    case Use::by_name:
      return "only when named with --kernel";
    case Use::automatic:
      break;
  }
  return fmt::format("runs here; {} is preferred", selected.name);
}

const char* use_of(const Kernel& kernel) {
  switch (kernel.use) {
    case Use::bench_only:
      return "bench-only";
    case Use::by_name:
      return "by-name";
    case Use::automatic:
      break;
  }
  return "automatic";
}

ordered_json describe(const Kernel& kernel, const Kernel& selected) {
  return {{"name", kernel.name},
          {"ciphers", ciphers_of(kernel)},
          {"available", unavailable_reason(kernel).empty()},
          {"selected", &kernel == &selected},
          {"reason", reason_of(kernel, selected)},
          {"use", use_of(kernel)},
          {"summary", kernel.summary}};
}

int list_devices(bool json) {
  const Kernel& selected = best_kernel(Cipher::aes);
  if (json) {
    ordered_json kernels = ordered_json::array();
    for (const Kernel* kernel : all_kernels()) {
      kernels.push_back(describe(*kernel, selected));
    }
    print_json({{"command", "devices"}, {"processor", machine_name()}, {"kernels", kernels}});
    return exit_done;
  }
  std::string text = fmt::format("processor: {}\n\n  {:<10} {:<5} {:<46} {}\n", machine_name(),
                                 "kernel", "runs", "why", "what it is");
  for (const Kernel* kernel : all_kernels()) {
    text += fmt::format("{} {:<10} {:<5} {:<46} {}\n", kernel == &selected ? '*' : ' ',
                        kernel->name, unavailable_reason(*kernel).empty() ? "yes" : "no",
                        reason_of(*kernel, selected), kernel->summary);
  }
  text += "\n* is used unless --kernel names another.\n";
  print_result(text);
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON (docs/schema/devices.schema.json)");
  return [json] { return list_devices(*json); };
}

}  // namespace

const Command command_devices = {"devices", "list the kernels and say which one is used", declare};

}  // namespace paes::cli
