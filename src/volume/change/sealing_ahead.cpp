// SPDX-License-Identifier: Apache-2.0
#include "volume/change/sealing_ahead.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "core/secret.hpp"
#include "keystream/engine.hpp"
#include "paes/error.hpp"
#include "vault/content_cipher.hpp"

namespace paes::volume {

namespace {

using keystream::Slots;

constexpr std::size_t slab_bytes(std::size_t slots) noexcept {
  return slots * Slots::slot_bytes(vault::block_bytes);
}

std::unique_ptr<const keystream::MessageIvs> new_ivs(const Kernel& kernel) {
  constexpr std::size_t iv_key_bytes = 32;
  SecretBytes key(iv_key_bytes);
  random_bytes(key);
  return std::make_unique<keystream::EncryptedIvs>(key, kernel);
}

}  // namespace

std::size_t SealingAhead::memory_bytes(unsigned blocks) noexcept {
  // The key, the context, and the records of what is sealed out of order by threads.
  constexpr std::size_t besides = std::size_t{64} << 10;
  const std::size_t slabs =
      (std::bit_ceil(blocks) + Slots::slots_in_slab - 1) / Slots::slots_in_slab;
  return slabs * keystream::Pages::whole(slab_bytes(Slots::slots_in_slab)) +
         std::bit_ceil(blocks) * sizeof(keystream::Entry) + besides;
}

SealingAhead::SealingAhead(Bytes key, const Kernel& kernel, unsigned blocks, Maker maker)
    : SealingAhead(key, kernel, blocks, maker, new_ivs(kernel)) {}

SealingAhead::SealingAhead(Bytes key, const Kernel& kernel, unsigned blocks, Maker maker,
                           std::unique_ptr<const keystream::MessageIvs> ivs)
    : engine_(keystream::KeystreamService::make(
          {.workers = blocks != 0 && maker == Maker::a_thread ? 1U : 0U,
           .budget_bytes = memory_bytes(blocks),
           .chunk_bytes = vault::block_bytes})) {
  assert(blocks <= max_blocks);
  context_ = keystream::closing_itself(
      engine_, engine_->open(engine_->bind("aes-256-gcm", key, kernel.name), std::move(ivs),
                             {.window_messages = blocks}));
}

bool SealingAhead::seal(const vault::BlockPlace& place, Bytes text, MutableBytes sealed) const {
  constexpr vault::BlockLayout layout = {.iv_bytes = block_bytes};
  assert(!text.empty() && text.size() <= vault::block_bytes &&
         sealed.size() == text.size() + layout.overhead());
  const MutableBytes iv = sealed.first(layout.iv_bytes);
  const vault::AssociatedData aad(place);
  try {
    do {
      const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
      context_->seal(number, aad, text, sealed.subspan(iv.size(), text.size()),
                     sealed.last(vault::tag_bytes), iv);
      // The format has no block with an IV of zeros.
    } while (std::all_of(iv.begin(), iv.end(), [](std::uint8_t byte) { return byte == 0; }));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void SealingAhead::fill(std::chrono::steady_clock::time_point deadline) const {
  (void)engine_->idle(deadline);
}

KeystreamUse SealingAhead::use() const noexcept { return context_->use(); }

KeystreamStatistics SealingAhead::statistics() const { return engine_->statistics(); }

}  // namespace paes::volume
