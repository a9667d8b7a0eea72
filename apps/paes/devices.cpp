// SPDX-License-Identifier: Apache-2.0
// `paes devices`: every row of the kernel table, whether it runs on this machine, and which one is
// chosen when nothing is asked for; and the devices of --device cuda.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/report.hpp"
#include "cuda/cuda_runtime.hpp"
#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

const char* name_of(Cipher cipher) { return cipher == Cipher::aes ? "aes" : "des-ede3"; }

// If one direction of a mode is chained, a device computes the other one alone.
bool has_cipher(const cuda::DeviceKernel& kernel, const CipherName& name) {
  if (kernel.cipher != name.cipher || name.is_gcm()) {
    return kernel.cipher == name.cipher && kernel.has_gcm();
  }
  const ModeRow& row = row_of(*name.mode);
  return kernel.has(row.encrypt) || kernel.has(row.decrypt);
}

template <class AnyKernel>
std::vector<std::string> modes_of(const AnyKernel& kernel) {
  std::vector<std::string> names;
  for (const CipherName& name : all_cipher_names()) {
    if (has_cipher(kernel, name)) {
      names.push_back(name.name);
    }
  }
  return names;
}

template <class AnyKernel>
std::string summary_of(const AnyKernel& kernel) {
  return std::string(kernel.warning != nullptr ? "insecure: " : "") + kernel.summary;
}

std::vector<const Kernel*> kernels_of(Cipher cipher) {
  std::vector<const Kernel*> kernels;
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->cipher == cipher) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

// Why the kernel does not run here, or why it is or is not the one that is chosen.
std::string reason_of(const Kernel& kernel, const Kernel& selected) {
  if (std::string reason = unavailable_reason(kernel); !reason.empty()) {
    return reason;
  }
  if (&kernel == &selected) {
    return "the first automatic choice that runs here";
  }
  if (kernel.use == Use::by_name) {
    return "only when named with --kernel";
  }
  return fmt::format("runs here; {} is preferred", selected.name);
}

ordered_json describe(const Kernel& kernel, const Kernel& selected) {
  return {{"name", kernel.name},
          {"cipher", name_of(kernel.cipher)},
          {"ciphers", modes_of(kernel)},
          {"available", unavailable_reason(kernel).empty()},
          {"selected", &kernel == &selected},
          {"reason", reason_of(kernel, selected)},
          {"use", kernel.use == Use::by_name ? "by-name" : "automatic"},
          {"summary", kernel.summary}};
}

std::string section(const std::vector<const Kernel*>& kernels, const Kernel& selected) {
  std::string text = fmt::format("\n  {:<16} {:<5} {:<46} {}\n", name_of(selected.cipher), "runs",
                                 "why", "what it is");
  for (const Kernel* kernel : kernels) {
    text += fmt::format("{} {:<16} {:<5} {:<46} {}\n", kernel == &selected ? '*' : ' ',
                        kernel->name, unavailable_reason(*kernel).empty() ? "yes" : "no",
                        reason_of(*kernel, selected), summary_of(*kernel));
  }
  return text;
}

// The devices of --device cuda, or why there are none.
ordered_json describe_cuda() {
  std::string why;
  ordered_json devices = ordered_json::array();
  for (const cuda::DeviceProperties& device : cuda::list_cuda_devices(why)) {
    devices.push_back({{"name", device.name},
                       {"architecture", device.architecture},
                       {"multiprocessors", device.shape.multiprocessors},
                       {"memory_bytes", device.memory_bytes}});
  }
  const bool is_available = !devices.empty();
  ordered_json kernels = ordered_json::array();
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    kernels.push_back({{"name", kernel->name},
                       {"cipher", name_of(kernel->cipher)},
                       {"ciphers", modes_of(*kernel)},
                       {"summary", kernel->summary},
                       {"insecure", kernel->warning != nullptr}});
  }
  return {{"available", is_available},
          {"reason", is_available ? "" : why},
          {"devices", devices},
          {"kernels", kernels}};
}

std::string cuda_section(const ordered_json& cuda) {
  std::string text = "\ncuda:";
  if (!cuda["available"].get<bool>()) {
    return text + " none, " + cuda["reason"].get<std::string>() + "\n";
  }
  text += '\n';
  for (const ordered_json& device : cuda["devices"]) {
    text += fmt::format("  {}, {}, {} multiprocessors, {}\n", device["name"].get<std::string>(),
                        device["architecture"].get<std::string>(),
                        device["multiprocessors"].get<unsigned>(),
                        human_bytes(device["memory_bytes"].get<double>()));
  }
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    // paes's own files are GCM: anyone who looks for a kernel for them should not try in vain.
    const bool lacks_gcm = kernel->cipher == Cipher::aes && !kernel->has_gcm();
    text += fmt::format("    {:<17} {:<10} {}{}\n", kernel->name, name_of(kernel->cipher),
                        summary_of(*kernel), lacks_gcm ? "; no GCM" : "");
  }
  return text;
}

int list_devices(bool json) {
  ordered_json rows = ordered_json::array();
  std::string text = fmt::format("processor: {}\n", machine_name());
  for (const Cipher cipher : {Cipher::aes, Cipher::des_ede3}) {
    const std::vector<const Kernel*> kernels = kernels_of(cipher);
    if (kernels.empty()) {
      continue;
    }
    const Kernel& selected = best_kernel(cipher);
    text += section(kernels, selected);
    for (const Kernel* kernel : kernels) {
      rows.push_back(describe(*kernel, selected));
    }
  }
  if (json) {
    print_json({{"command", "devices"},
                {"processor", machine_name()},
                {"kernels", rows},
                {"cuda", describe_cuda()}});
  } else {
    print_result(text + "\n* is used unless --kernel names another.\n" +
                 cuda_section(describe_cuda()));
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON (docs/schema/devices.schema.json)");
  return [json] { return list_devices(*json); };
}

}  // namespace

extern const Command command_devices = {"devices", "list the kernels and say which one is used",
                                        declare};

}  // namespace paes::cli
