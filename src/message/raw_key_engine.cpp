// What of a raw message goes to an engine: the directions that are parallel, and of XTS whole data
// units. The rest stays with the kernel: ciphertext stealing, a partial last unit, and messages
// that are one unit each, which are too short to be worth a copy.
#include <cassert>
#include <cstring>

#include "message/raw_key.hpp"
#include "mode/counter.hpp"
#include "mode/xts.hpp"

namespace paes {

void RawKey::bind(EngineUse use, Bytes key) {
  if (use.engine == nullptr || (row().has_units && unit_bytes_ == 0)) {
    return;
  }
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    if (is_parallel(direction)) {
      engine_[static_cast<unsigned>(direction)] =
          use.engine->bind_raw(kernel_->cipher, mode_, direction, key, unit_bytes_);
    }
  }
}

// The bytes that are done; `position` then stands behind them.
std::size_t RawKey::crypt_on_engine(Direction direction, RawPosition& position, Bytes in,
                                    MutableBytes out) const {
  const EngineRaw* const engine = engine_[static_cast<unsigned>(direction)].get();
  const std::size_t step = row().has_units ? unit_bytes_ : 1;
  if (engine == nullptr || in.size() < step) {
    return 0;
  }
  assert(takes(in.size()) && in.size() == out.size());
  const std::size_t bytes = in.size() / step * step;
  // Kept ahead: in place, the text replaces it. A partial block ends the message, and so no block
  // is behind it that would need one.
  const std::size_t size = block_size();
  Block last = {};
  if (needs_before(direction) && bytes >= size) {
    std::memcpy(last.bytes, in.data() + bytes / size * size - size, size);
  }
  if (!engine->crypt(position.chain, in.first(bytes), out.first(bytes), when_busy_)) {
    return 0;
  }
  if (mode_ == Mode::ctr) {
    position.chain = add_full_counter(position.chain, bytes / size, size);
  } else if (row().has_units) {
    position.chain = xts::add_units(position.chain, bytes / unit_bytes_);
  } else if (needs_before(direction)) {
    position.chain = last;
  }
  return bytes;
}

}  // namespace paes
