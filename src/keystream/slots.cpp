// SPDX-License-Identifier: Apache-2.0
#include "keystream/slots.hpp"

#include <algorithm>
#include <new>

namespace paes::keystream {

Slots::Slots(std::size_t chunk_bytes, std::shared_ptr<Budget> budget) noexcept
    : slot_bytes_(slot_bytes(chunk_bytes)),
      slab_bytes_(Pages::whole(slots_in_slab * slot_bytes_)),
      budget_(std::move(budget)) {}

bool Slots::add_slab() noexcept {
  Reservation memory(budget_, slab_bytes_);
  if (!memory.is_granted()) {
    return false;
  }
  try {
    auto slab = std::make_unique<Slab>(std::move(memory), slab_bytes_);
    slab->free.reserve(slots_in_slab);
    for (std::size_t i = slots_in_slab; i-- > 0;) {
      slab->free.push_back(slab->pages.data() + i * slot_bytes_);
    }
    slabs_.reserve(slabs_.size() + 1);
    with_free_.reserve(slabs_.size() + 1);  // so that give_back() never allocates
    with_free_.push_back(slab.get());
    slabs_.push_back(std::move(slab));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Slots::Slot Slots::take() noexcept {
  if (with_free_.empty() && !add_slab()) {
    return {};
  }
  Slab* const slab = with_free_.back();
  std::uint8_t* const bytes = slab->free.back();
  slab->free.pop_back();
  if (slab->free.empty()) {
    with_free_.pop_back();
  }
  return {bytes, slab};
}

void Slots::give_back(Slot slot) noexcept {
  slot.slab->free.push_back(slot.bytes);
  if (slot.slab->free.size() == 1) {
    with_free_.push_back(slot.slab);
  }
}

bool Slots::shrink() noexcept {
  const auto all_free = std::find_if(with_free_.begin(), with_free_.end(), [](const Slab* slab) {
    return slab->free.size() == slots_in_slab;
  });
  if (all_free == with_free_.end()) {
    return false;
  }
  const Slab* const slab = *all_free;
  with_free_.erase(all_free);
  std::erase_if(slabs_, [slab](const auto& owned) { return owned.get() == slab; });
  return true;
}

std::size_t Slots::unlocked_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& slab : slabs_) {
    bytes += slab->pages.is_locked() ? 0 : slab_bytes_;
  }
  return bytes;
}

}  // namespace paes::keystream
