// SPDX-License-Identifier: Apache-2.0
// An encrypted object whose bytes come from a store. Each request is a callback, which may return
// fewer bytes than it was asked for, and may fail.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <paes/file.hpp>
#include <stdexcept>
#include <vector>

namespace {

using Object = std::vector<std::uint8_t>;

// Imitates a client of a store: a request returns at most 1000 bytes, and every 50th fails.
class Store {
 public:
  explicit Store(Object object) : object_(std::move(object)) {}

  [[nodiscard]] std::uint64_t bytes() const { return object_.size(); }
  void make_requests_fail() { fails_ = true; }

  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> to) {
    if (fails_ && ++requests_ % 50 == 0) {
      throw std::runtime_error("store: request number " + std::to_string(requests_) + " failed");
    }
    const std::size_t bytes = std::min<std::size_t>(to.size(), 1000);
    std::memcpy(to.data(), object_.data() + offset, bytes);
    return bytes;
  }

 private:
  Object object_;
  bool fails_ = false;
  unsigned requests_ = 0;
};

}  // namespace

int main() {
  // The key comes from a key manager; the context binds the object to its name.
  const std::vector<std::uint8_t> key(32, 7);
  const std::string name = "backup/2026-11-23";
  const paes::CobblestoneKey object_key(
      key, {reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});

  std::vector<std::uint8_t> text(1'000'000);
  std::iota(text.begin(), text.end(), std::uint8_t{0});
  Object object;
  paes::Writer writer(
      [&](std::span<const std::uint8_t> bytes) {
        object.insert(object.end(), bytes.begin(), bytes.end());
      },
      {.key = object_key});
  writer.write(text);
  writer.commit();

  Store store(std::move(object));
  const paes::Reader reader(paes::FileSource::callback(
                                [&](std::uint64_t offset, std::span<std::uint8_t> to) {
                                  return store.read_at(offset, to);
                                },
                                store.bytes(), name),
                            {.key = object_key}, {.threads = 1});

  std::vector<std::uint8_t> part(100'000);
  if (reader.read_at(123'456, part) != part.size() ||
      !std::equal(part.begin(), part.end(), text.begin() + 123'456)) {
    std::puts("wrong text");
    return 1;
  }

  // What the store throws passes through, and the next read works as if nothing had happened.
  store.make_requests_fail();
  unsigned failures = 0;
  for (std::uint64_t offset = 0; offset < reader.size(); offset += part.size()) {
    try {
      (void)reader.read_at(offset, part);
      if (!std::equal(part.begin(), part.end(), text.begin() + static_cast<long>(offset))) {
        std::puts("wrong text");
        return 1;
      }
    } catch (const std::runtime_error& error) {
      ++failures;
      std::puts(error.what());
    }
  }
  return failures != 0 ? 0 : 1;
}
