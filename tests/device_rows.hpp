// Rows of the kernel table made of device kernels, each in several variants: what
// emulated_kernels.hpp and device_kernels.hpp, which run them in ways of their own, have in common.
#pragma once

#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cipher/ghash.hpp"
#include "cuda/device_kernel.hpp"
#include "mode/gcm.hpp"

namespace paes::test {

// The hash of a part that a device hashed from zero, behind what was hashed before.
inline Block joined_hash(const Block& before, const Block& hash_key, const Block& part,
                         std::size_t part_bytes) {
  Block hash =
      ghash_multiply(before, ghash_power(hash_key, (part_bytes + block_bytes - 1) / block_bytes));
  for (std::size_t i = 0; i < block_bytes; ++i) {
    hash.bytes[i] ^= part.bytes[i];
  }
  return hash;
}

// `Ways` has the table `variants`, whose rows have a `suffix` of the name; prepare<kernel, variant>
// and release; run<Operation>, run_gcm<GcmOperation>, and of the modes that chain blocks
// add_chains. Device kernels beyond the table's end give rows without a name.
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
      row.modes = row.modes.with(Which, Ways::template run<Which>);
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
    row.gcm = GcmRuns{}
                  .with(GcmOperation::hash, Ways::template run_gcm<GcmOperation::hash>)
                  .with(GcmOperation::encrypt, Ways::template run_gcm<GcmOperation::encrypt>)
                  .with(GcmOperation::decrypt, Ways::template run_gcm<GcmOperation::decrypt>)
                  .with(GcmOperation::seal, Ways::template run_gcm<GcmOperation::seal>)
                  .with(GcmOperation::open, Ways::template run_gcm<GcmOperation::open>)
                  .with(GcmOperation::verify, Ways::template run_gcm<GcmOperation::verify>);
  }
  return row;
}

// All rows, each in every variant. More than there is room for is an error that shows at once.
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
