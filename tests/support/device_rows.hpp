// SPDX-License-Identifier: Apache-2.0
// Makes rows of the kernel table out of device kernels, each in several variants.
// emulated_device_kernels.hpp and tested_device_kernels.hpp share it; each runs the rows in its own
// way.
#pragma once

#include <array>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device_kernel.hpp"
#include "kernel/mode_runs.hpp"
#include "message/gcm_message.hpp"

namespace paes::test {

// What a device is to do with a message, or with a part of one.
struct GcmOnDevice {
  GcmOperation operation;
  Text text;
  const CounterBlock* counter = nullptr;  // J0 of a message, the first counter block of a part
  const HashValue* aad_hash = nullptr;    // a message's
  std::size_t aad_bytes = 0;

  [[nodiscard]] bool has_out() const {
    return operation != GcmOperation::hash && operation != GcmOperation::verify;
  }
};

// GCM in a kernel's interface. Ways::run_gcm returns a message's tag, or the hash of a part,
// started from zero. Like the device's caller, this class joins it to the hash of what came before.
template <class Ways>
struct GcmRunsOnDevice {
  static void hash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
                   HashValue& hash) noexcept {
    run_part(keys, {.operation = GcmOperation::hash, .text = {in, nullptr, bytes}}, hash);
  }
  template <GcmOperation Which>
  static void piece(const KernelKeys& keys, const GcmPiece& piece, HashValue& hash) noexcept {
    run_part(keys, {.operation = Which, .text = piece.text, .counter = piece.counter}, hash);
  }
  template <GcmOperation Which>
  static void message(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
    tag = std::bit_cast<Tag>(Ways::run_gcm(keys, {.operation = Which,
                                                  .text = message.text,
                                                  .counter = message.pre_counter,
                                                  .aad_hash = message.aad_hash,
                                                  .aad_bytes = message.aad.size()}));
  }

  static constexpr GcmRuns runs = {.hash = hash,
                                   .encrypt = piece<GcmOperation::encrypt>,
                                   .decrypt = piece<GcmOperation::decrypt>,
                                   .seal = message<GcmOperation::seal>,
                                   .open = message<GcmOperation::open>,
                                   .verify = message<GcmOperation::verify>};

 private:
  static void run_part(const KernelKeys& keys, const GcmOnDevice& part, HashValue& hash) noexcept {
    const GhashPart own{std::bit_cast<HashValue>(Ways::run_gcm(keys, part)),
                        (part.text.bytes + block_bytes - 1) / block_bytes};
    hash = combine(Ways::hash_subkey(keys), {hash, 0}, own).value;
  }
};

// `Ways` has a table `variants`, each with a `suffix` for the name, and the functions
// prepare<kernel, variant>, release, run<Operation>, run_gcm, hash_subkey and, for chained modes,
// add_chains. An index beyond the last device kernel yields a row without a name.
template <class Ways, std::size_t Index>
Kernel make_device_row() {
  constexpr std::size_t variants = std::size(Ways::variants);
  constexpr std::size_t number = Index / variants;
  static std::string name;
  Kernel row = {};
  if (number >= cuda::device_kernels().size()) {
    return row;
  }
  const cuda::DeviceKernel& kernel = *cuda::device_kernels()[number];
  name = std::string(kernel.name) + Ways::variants[Index % variants].suffix;
  row.name = name.c_str();
  row.cipher = kernel.cipher;
  row.use = Use::by_name;
  row.summary = kernel.summary;
  row.lanes = 32 * kernel.blocks;
  row.prepare = Ways::template prepare<number, Index % variants>;
  row.release = Ways::release;
  const auto set = [&]<Operation Which>() {
    if (kernel.has(Which)) {
      row.modes = row.modes.with(Which, run_units<Ways, Which>);
    }
  };
  set.template operator()<Operation::ecb_encrypt>();
  set.template operator()<Operation::ecb_decrypt>();
  set.template operator()<Operation::ctr>();
  set.template operator()<Operation::xts_encrypt>();
  set.template operator()<Operation::xts_decrypt>();
  set.template operator()<Operation::cbc_decrypt>();
  set.template operator()<Operation::cfb_decrypt>();
  row.modes = Ways::add_chains(row.modes);
  if (kernel.has_gcm()) {
    row.gcm = GcmRunsOnDevice<Ways>::runs;
  }
  return row;
}

// All rows, each in every variant. Aborts if there are more rows than room.
template <class Ways>
const std::vector<const Kernel*>& rows_of_device_kernels() {
  constexpr std::size_t room = 24;
  static const std::array<Kernel, room> rows =
      []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<Kernel, room>{make_device_row<Ways, Index>()...};
  }
  (std::make_index_sequence<room>());
  static const std::vector<const Kernel*> named = [] {
    if (cuda::device_kernels().size() * std::size(Ways::variants) > room) {
      std::abort();
    }
    std::vector<const Kernel*> found;
    for (const Kernel& row : rows) {
      if (row.name != nullptr) {
        found.push_back(&row);
      }
    }
    return found;
  }();
  return named;
}

}  // namespace paes::test
