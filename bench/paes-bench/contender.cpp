// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/contender.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "message/gcm_message.hpp"
#include "paes-bench/evp_reference.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

// A thread takes this much of a shared message at a time, so that it stays in the core's own cache.
constexpr std::size_t piece_bytes = std::size_t{256} << 10;

Direction raw_direction(BenchDirection direction) noexcept {
  return direction == BenchDirection::encrypt ? Direction::encrypt : Direction::decrypt;
}

void fill_with_random(MutableBytes bytes) {
  constexpr std::size_t part_bytes = std::size_t{1} << 30;
  for (std::size_t at = 0; at < bytes.size(); at += part_bytes) {
    random_bytes(bytes.subspan(at, std::min(part_bytes, bytes.size() - at)));
  }
}

std::variant<GcmKey, RawKey> bind(const Kernel& kernel, const BenchTask& task, Bytes key,
                                  Device* device) {
  const CipherName& cipher = *task.cipher;
  if (cipher.is_gcm()) {
    return GcmKey(key, kernel, {device, WhenBusy::wait});
  }
  return RawKey(cipher.cipher, *cipher.mode, key, kernel, task.unit_bytes,
                {device, WhenBusy::wait});
}

// libcrypto's ciphertext, unit by unit.
void encrypt_message(const BenchTask& task, Bytes key, Bytes iv, Bytes in, MutableBytes out) {
  const std::size_t unit_bytes = task.unit_bytes == 0 ? in.size() : task.unit_bytes;
  std::vector<std::uint8_t> number(iv.begin(), iv.end());
  for (std::size_t at = 0; at < in.size(); at += unit_bytes) {
    const std::size_t bytes = std::min(unit_bytes, in.size() - at);
    encrypt_raw(*task.cipher, key, number, in.subspan(at, bytes), out.subspan(at, bytes));
    if (task.unit_bytes != 0) {
      store_le(number.data(), load_le<std::uint64_t>(number.data()) + 1);
    }
  }
}

}  // namespace

bool is_chained(const CipherName& cipher, BenchDirection direction) noexcept {
  return !cipher.is_gcm() &&
         formula_of(row_of(*cipher.mode).operation(raw_direction(direction))).is_chained();
}

bool can_do(const Kernel& kernel, const CipherName& cipher, BenchDirection direction) noexcept {
  if (kernel.cipher != cipher.cipher) {
    return false;
  }
  if (!cipher.is_gcm()) {
    return direction != BenchDirection::verify && has_cipher(kernel, cipher);
  }
  const WholeMessageFunction runs[] = {kernel.gcm.seal, kernel.gcm.open, kernel.gcm.verify};
  return runs[static_cast<unsigned>(direction)] != nullptr;
}

bool device_can_do(const CipherName& cipher, BenchDirection direction) noexcept {
  return cipher.is_gcm() || (!is_chained(cipher, direction) && !row_of(*cipher.mode).has_units);
}

std::size_t messages_at_once(const Kernel& kernel, const BenchTask& task) noexcept {
  return is_chained(*task.cipher, task.direction) ? std::max(kernel.lanes, 1U) : 1;
}

void fill(Lane& lane, const BenchTask& task, Bytes key) {
  fill_with_random(lane.plain.view());
  random_bytes(lane.iv);
  random_bytes({lane.ivs.data()->bytes, lane.ivs.size() * sizeof(Block)});
  if (task.cipher->is_gcm()) {
    return;  // sealing changes the IV, so before_check does this
  }
  for (std::size_t i = 0; i < lane.ivs.size(); ++i) {
    encrypt_message(task, key, {lane.ivs[i].bytes, task.cipher->iv_bytes()},
                    lane.message(lane.plain, i), lane.message(lane.cipher, i));
  }
}

Contender::Contender(const Kernel& kernel, const BenchTask& task, Bytes key, Device* device)
    : kernel_(kernel),
      task_(task),
      key_bytes_(key),
      messages_(messages_at_once(kernel, task)),
      device_(device),
      key_(bind(kernel, task, key, device)) {
  const auto* const gcm = std::get_if<GcmKey>(&key_);
  if (device != nullptr &&
      !(gcm != nullptr ? gcm->has_device()
                       : std::get<RawKey>(key_).has_device(raw_direction(task.direction)))) {
    throw Error(ErrorCode::failure, std::string("device: ") + device->name() +
                                        " has no room for the key, or lacks " + task.cipher->name);
  }
}

void Contender::run(Lane& lane, const Executor& executor) const {
  if (const auto* const gcm = std::get_if<GcmKey>(&key_)) {
    if (device_ != nullptr) {
      run_gcm_on_device(*gcm, lane);
    } else {
      run_gcm(*gcm, lane);
    }
  } else {
    run_raw(std::get<RawKey>(key_), lane, executor);
  }
  // Makes the compiler believe that somebody looks at every output.
  asm volatile("" : : "r"(lane.out.view().data()) : "memory");
}

// Sealing takes a fresh IV each time; a sealed message has only its own.
void Contender::run_gcm(const GcmKey& key, Lane& lane) const {
  const Bytes tag(lane.tag.bytes, block_bytes);
  switch (task_.direction) {
    case BenchDirection::encrypt:
      store_le(lane.iv, load_le<std::uint64_t>(lane.iv) + 1);
      key.seal(lane.iv, {}, lane.plain.view(), lane.out.view(), lane.tag.bytes);
      break;
    case BenchDirection::decrypt:
      lane.authentic &= key.open(lane.iv, {}, lane.cipher.view(), lane.out.view(), tag);
      break;
    case BenchDirection::verify:
      lane.authentic &= key.verify(lane.iv, {}, lane.cipher.view(), tag);
      break;
  }
}

// In parts, as the program handles one message: a device only takes parts of messages.
void Contender::run_gcm_on_device(const GcmKey& key, Lane& lane) const {
  if (task_.direction == BenchDirection::encrypt) {
    store_le(lane.iv, load_le<std::uint64_t>(lane.iv) + 1);
  }
  const GcmMessage message(key, lane.iv, {});
  GhashPart part = task_.direction == BenchDirection::encrypt
                       ? message.encrypt(0, lane.plain.view(), lane.out.view())
                   : task_.direction == BenchDirection::decrypt
                       ? message.decrypt(0, lane.cipher.view(), lane.out.view())
                       : message.hash(lane.cipher.view());
  Tag tag;
  message.tag(part, task_.message_bytes, tag);
  wipe(part.value.bytes);
  if (task_.direction == BenchDirection::encrypt) {
    lane.tag = tag;
  } else {
    lane.authentic &= equal_constant_time(tag.bytes, lane.tag.bytes);
  }
}

const PageBuffer& Contender::raw_input(const Lane& lane) const noexcept {
  return task_.direction == BenchDirection::encrypt ? lane.plain : lane.cipher;
}

void Contender::run_raw(const RawKey& key, Lane& lane, const Executor& executor) const {
  const Direction direction = raw_direction(task_.direction);
  const PageBuffer& in = raw_input(lane);
  if (!is_chained(*task_.cipher, task_.direction)) {
    RawPosition position = key.start({lane.ivs[0].bytes, key.iv_bytes()});
    key.crypt(direction, position, lane.message(in, 0), lane.message(lane.out, 0), executor,
              task_.is_shared ? piece_bytes : task_.message_bytes);
    return;
  }
  std::vector<RawMessage> batch(messages_);
  for (std::size_t i = 0; i < messages_; ++i) {
    batch[i] = {
        {lane.ivs[i].bytes, key.iv_bytes()}, lane.message(in, i), lane.message(lane.out, i)};
  }
  key.crypt_batch(direction, batch, executor);
}

void Contender::before_check(Lane& lane) const {
  if (task_.cipher->is_gcm() && task_.direction != BenchDirection::encrypt) {
    encrypt_as_claimed(kernel_, key_bytes_, lane.iv, lane.plain.view(), lane.cipher.view(),
                       lane.tag);
  }
  std::fill(lane.out.view().begin(), lane.out.view().end(), std::uint8_t{0});
}

const char* Contender::check(Lane& lane) const {
  constexpr const char* differs = "differs from libcrypto";
  const MutableBytes out = lane.out.view();
  if (!task_.cipher->is_gcm()) {
    // `copy` returns its input.
    const bool is_encrypted =
        (task_.direction == BenchDirection::encrypt) != (std::string_view(kernel_.name) == "copy");
    const PageBuffer& wanted = is_encrypted ? lane.cipher : lane.plain;
    for (std::size_t i = 0; i < messages_; ++i) {
      if (!equal_constant_time(lane.message(lane.out, i), lane.message(wanted, i))) {
        return differs;
      }
    }
    return nullptr;
  }
  if (!lane.authentic) {
    return "rejects a good tag";
  }
  if (task_.direction == BenchDirection::encrypt) {
    Tag tag;
    encrypt_as_claimed(kernel_, key_bytes_, lane.iv, lane.plain.view(), lane.cipher.view(), tag);
    return equal_constant_time(out, lane.cipher.view()) &&
                   equal_constant_time(tag.bytes, lane.tag.bytes)
               ? nullptr
               : differs;
  }
  return task_.direction == BenchDirection::verify || equal_constant_time(out, lane.plain.view())
             ? nullptr
             : differs;
}

}  // namespace paes::cli
