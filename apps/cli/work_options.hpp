// SPDX-License-Identifier: Apache-2.0
// The options that say how the work is done: kernel, threads, schedule, piece, device. None of them
// changes a byte of the output.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "exec/schedule/schedule.hpp"
#include "message/cipher_name.hpp"
#include "message/device.hpp"
#include "stream/transfer/device_rates.hpp"
#include "stream/transfer/work.hpp"

namespace CLI {
class App;
}

namespace paes::cuda {
struct DeviceKernel;
}

namespace paes::cli {

// Which notes a command prints on standard error: -q none, -v all.
enum class Notes { none, some, all };

// "cpu", "hybrid", or the device's own name.
[[nodiscard]] const char* name_of(const DeviceUse& use) noexcept;

struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::string why;          // in one line, where `device` is null
  bool has_device = false;  // true also if it lacks memory or a free slot; a note has said so
};

// The note goes to standard error unless Notes::none. `share` as open_cuda_runtime has it.
[[nodiscard]] OpenedDevice open_cuda_device(const std::string& device_kernel, Notes notes,
                                            std::optional<unsigned> share = std::nullopt,
                                            bool copies_keystream = false);

// What the options say of the work, the same for all inputs.
struct WorkPlan {
  const Kernel& kernel;
  Schedule schedule;
  unsigned threads;
  std::optional<std::size_t> piece_bytes;  // as the user gave it, or nothing
  const CipherName& cipher;
  Notes notes;
  // This process takes the machine's device of this number, modulo the number of devices.
  std::optional<unsigned> device_share = std::nullopt;
  // --device auto: measure once in this process, when an input is large enough. Reported only with
  // Notes::all.
  bool is_automatic = false;
};

// Makes the Work for each input; under `auto` they may differ in the device. It owns the device.
class WorkChooser {
 public:
  explicit WorkChooser(const WorkPlan& plan) : plan_(plan) {}

  // --device cuda and hybrid. Throws Error(failure) "device: ..." in one line where there is none.
  void open(const std::string& device_kernel, WhenBusy when_busy);

  [[nodiscard]] const Kernel& kernel() const noexcept { return plan_.kernel; }
  [[nodiscard]] Schedule schedule() const noexcept { return plan_.schedule; }
  [[nodiscard]] unsigned threads() const noexcept { return plan_.threads; }
  // Both leave the work on the caller's thread.
  [[nodiscard]] stream::Work for_input(std::optional<std::uint64_t> bytes);
  [[nodiscard]] stream::Work cpu() const;  // for an input that no device can work on
  // Starts threads and gives them to the work, at most one for each piece, because starting a
  // thread costs more than a small file. `bytes` is nothing for a pipe. In a hybrid, threads for
  // the device's slots are added. Throws Error(failure) when the system does not give them.
  [[nodiscard]] std::unique_ptr<Executor> start_threads(stream::Work& work,
                                                        std::optional<std::uint64_t> bytes) const;

 private:
  [[nodiscard]] stream::Work with_device(WhenBusy when_busy) const;
  void measure(std::uint64_t bytes);
  void measure_device(stream::Rates& rates);
  [[nodiscard]] double rate_of(stream::Work work, std::size_t piece_bytes, double seconds) const;

  WorkPlan plan_;
  double estimated_rate_ = 0;  // of the CPU, bytes a second; 0: not known yet
  std::unique_ptr<Device> device_;
  WhenBusy when_busy_ = WhenBusy::wait;
};

class WorkOptions {
 public:
  void declare(CLI::App& app);
  // This process is one of several on the machine: use this many threads unless the user names a
  // number, and the device of this number.
  void share_machine(unsigned threads, unsigned device) noexcept {
    default_threads_ = threads;
    device_share_ = device;
  }
  // Throws Error(usage), and Error(failure) where a device was asked for that is not there; prints
  // the kernel's warning if it has one. The first form is for files, of which the container is
  // AES-GCM; the second is for the cipher named. `why_cpu_alone` is empty if a device could do the
  // work. Otherwise `cuda` throws it as an error, and `hybrid` and `auto` choose the CPU.
  [[nodiscard]] WorkChooser choose(const std::string& why_cpu_alone, Notes notes) const;
  [[nodiscard]] WorkChooser choose(const CipherName& cipher, const std::string& why_cpu_alone,
                                   Notes notes) const;

 private:
  // Null: `kernel_` is not a device kernel's name.
  [[nodiscard]] const cuda::DeviceKernel* device_kernel_for(const CipherName& cipher) const;

  unsigned threads_ = 0;
  unsigned default_threads_ = 0;  // 0: every processor
  std::optional<unsigned> device_share_;
  std::string schedule_ = name_of(Schedule::thread_pool);
  std::optional<std::size_t> piece_bytes_;
  std::string kernel_ = "auto";
  std::string device_ = "auto";
};

}  // namespace paes::cli
