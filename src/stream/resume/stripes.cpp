// SPDX-License-Identifier: Apache-2.0
#include "stream/resume/stripes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "stream/container/age_format.hpp"
#include "stream/container/chunk_cipher.hpp"
#include "stream/transfer/sparse_sink.hpp"

namespace paes::stream {

namespace {

// Limits buffers to a power of two of chunks, so that none crosses the end of a stripe.
Layout within_stripes(Layout layout) {
  layout.items_a_buffer =
      std::bit_floor(std::min<std::size_t>(layout.items_a_buffer, stripe_chunks));
  return layout;
}

// Knows which stripes the journal has, and notices when a stripe's last buffer has been written.
class StripeByStripe : public Continuation {
 public:
  StripeByStripe(StripeWork& work, const Layout& layout) : work_(work), layout_(layout) {}

  bool is_done(Range chunks, Buffer& scratch) final {
    const std::uint64_t stripe = chunks.first / stripe_chunks;
    if (!work_.written || !work_.journal.is_complete(stripe)) {
      const std::lock_guard lock(mutex_);
      buffers_left_.try_emplace(stripe, buffers_of(stripe));
      return false;
    }
    scratch.first_item = chunks.first;
    scratch.items = static_cast<std::size_t>(chunks.count());
    scratch.is_last = chunks.end == work_.extent.chunks();
    if (!is_kept(chunks, scratch)) {
      return false;
    }
    work_.kept_text_bytes.fetch_add(layout_.text_bytes_of(chunks), std::memory_order_relaxed);
    return true;
  }

  void check(Buffer&) override {}

  void has_written(Range chunks) final {
    const std::uint64_t stripe = chunks.first / stripe_chunks;
    {
      const std::lock_guard lock(mutex_);
      const auto left = buffers_left_.find(stripe);
      if (left == buffers_left_.end() || --left->second != 0) {
        return;  // it has a record already, or more of its buffers are to come
      }
      buffers_left_.erase(left);
    }
    work_.journal.complete(stripe);
  }

 protected:
  // Whether these chunks of a complete stripe are still right.
  [[nodiscard]] virtual bool is_kept(Range chunks, Buffer& scratch) = 0;

  // Whether the stripe had no record and is still incomplete. For a stripe that is still being
  // written, false means that it had a record.
  [[nodiscard]] bool is_at_work(std::uint64_t stripe) {
    const std::lock_guard lock(mutex_);
    return buffers_left_.contains(stripe);
  }
  // Fills the buffer with what an earlier run wrote in this part of the file.
  void read_written(Buffer& buffer, Range bytes, std::span<const iovec> to) const {
    buffer.bytes = static_cast<std::size_t>(bytes.count());
    work_.written->read_at(bytes.first, to);
  }

  StripeWork& work_;
  const Layout& layout_;

 private:
  [[nodiscard]] std::uint64_t buffers_of(std::uint64_t stripe) const {
    return (work_.extent.chunks_of({stripe, stripe + 1}).count() + layout_.items_a_buffer - 1) /
           layout_.items_a_buffer;
  }

  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> buffers_left_;  // of the stripes at work
};

bool is_authentic(const PayloadCipher& cipher, Buffer& buffer, std::size_t index,
                  std::size_t bytes) {
  const Chunking& chunking = cipher.chunking();
  Buffer one({.in_bytes = chunking.chunk_bytes(), .out_bytes = chunking.text_bytes});
  std::memcpy(one.item(0), buffer.item(index), bytes);
  one.first_item = buffer.first_item + index;
  one.items = 1;
  one.bytes = bytes;
  one.is_last = buffer.is_last && index + 1 == buffer.items;
  return cipher.verify(one).empty();
}

// Whether this run may write here. In an unfinished stripe each byte that it finds must be zero or
// the one that it would write. Then no nonce is used for two texts, whatever the time stamps say. A
// stripe that was complete may have been damaged since; there it is enough that no chunk is
// authentic with another text.
bool may_follow(const PayloadCipher& cipher, Buffer& sealed, Buffer& written, bool was_complete) {
  const std::size_t chunk_bytes = cipher.chunking().chunk_bytes();
  std::size_t rest = sealed.bytes;
  for (std::size_t i = 0; i < sealed.items; ++i) {
    const std::size_t bytes = std::min(rest, chunk_bytes);
    const std::uint8_t* const now = sealed.item(i);
    const std::uint8_t* const before = written.item(i);
    rest -= bytes;
    if (std::memcmp(now, before, bytes) == 0 || is_zero(before, bytes)) {
      continue;
    }
    if (was_complete ? is_authentic(cipher, written, i, bytes)
                     : !std::equal(before, before + bytes, now, [](std::uint8_t a, std::uint8_t b) {
                         return a == 0 || a == b;
                       })) {
      return false;
    }
  }
  return true;
}

class SealedStripes : public StripeByStripe {
 public:
  SealedStripes(StripeWork& work, const Layout& layout, const std::function<void()>& check_source)
      : StripeByStripe(work, layout), check_source_(check_source), written_pool_(layout) {}

  void check(Buffer& sealed) override {
    check_source_();
    if (!work_.written) {
      return;
    }
    BufferPool::Loan written(written_pool_);
    const Range chunks{sealed.first_item, sealed.first_item + sealed.items};
    (*written).first_item = sealed.first_item;
    (*written).items = sealed.items;
    (*written).is_last = sealed.is_last;
    read_written(*written, work_.extent.file_of(chunks), (*written).out({0, sealed.bytes}));
    if (!may_follow(*work_.cipher, sealed, *written, !is_at_work(chunks.first / stripe_chunks))) {
      throw OtherTextWritten(work_.written->name());
    }
  }

 private:
  bool is_kept(Range chunks, Buffer& scratch) override {
    const Range file = work_.extent.file_of(chunks);
    read_written(scratch, file, scratch.out({0, file.count()}));
    return work_.cipher->verify(scratch).empty();
  }

  const std::function<void()>& check_source_;
  BufferPool written_pool_;
};

// Compares the tags that the file has for these chunks with those of `sealed`.
bool has_tags_of(const Source& file, const Extent& extent, Buffer& sealed) {
  const std::size_t chunk_bytes = extent.chunking.chunk_bytes();
  const std::size_t tag_bytes = extent.chunking.tag_bytes;
  std::vector<std::uint8_t> tags(sealed.items * tag_bytes);
  std::size_t rest = sealed.bytes;
  for (std::size_t i = 0; i < sealed.items; ++i) {
    const std::size_t bytes = std::min(rest, chunk_bytes);
    const MutableBytes tag = MutableBytes(tags).subspan(i * tag_bytes, tag_bytes);
    file.read_at(extent.chunk_offset(sealed.first_item + i) + bytes - tag_bytes, tag);
    if (!equal_constant_time(tag, Bytes(sealed.item(i) + bytes - tag_bytes, tag_bytes))) {
      return false;
    }
    rest -= bytes;
  }
  return true;
}

class OpenedStripes : public StripeByStripe {
 public:
  using StripeByStripe::StripeByStripe;

 private:
  // Seals the text again in memory and compares the tags with the file's. This reads only the text
  // and the tags; opening the file would read both files completely.
  bool is_kept(Range chunks, Buffer& scratch) override {
    const Range text = work_.extent.text_of(chunks);
    read_written(scratch, text, scratch.out({0, text.count()}));
    work_.cipher->seal(scratch);
    return has_tags_of(work_.source, work_.extent, scratch);
  }
};

}  // namespace

Bytes key_salt(const std::optional<container::Suite>& suite, const PayloadPrefix& prefix) noexcept {
  return suite ? salt_of(prefix) : Bytes(prefix).first(age::payload_nonce_bytes);
}

std::unique_ptr<const PayloadCipher> cipher_of(const std::optional<container::Suite>& suite,
                                               const PayloadPrefix& prefix, Bytes key,
                                               const Work& how) {
  const Bytes salt = key_salt(suite, prefix);
  if (!suite) {
    return std::make_unique<const AgeCipher>(key, salt);
  }
  return std::make_unique<const ChunkCipher>(*suite, key, container::context(*suite), salt,
                                             how.kernel, how.device_use);
}

StripeWork::StripeWork(const StripePlan& started, Bytes key, Source& from, Sink& to,
                       int journal_file, int to_file, const std::string& to_name, const Work& how)
    : extent(started.extent),
      source(from),
      output(to),
      output_file(to_file),
      cipher(cipher_of(started.suite, started.prefix, key, how)),
      journal_key(key, key_salt(started.suite, started.prefix)),
      journal(journal_key, started.header, journal_file, to_file, to_name) {
  if (started.continues) {
    written.emplace(Input::of(Descriptor(to_file, false), to_name));
  }
}

void seal_stripes(StripeWork& work, Range stripes, const std::function<void()>& check_source,
                  const Work& how) {
  const Layout layout = within_stripes(sealing_layout(
      work.extent.payload_offset, work.extent.text_bytes, how, work.extent.chunking));
  SealedStripes continuation(work, layout, check_source);
  (void)transfer(work.source, &work.output, layout, sealing(*work.cipher),
                 work.extent.chunks_of(stripes), how, &continuation);
  check_source();
}

void open_stripes(StripeWork& work, Range stripes, const Work& how) {
  const Layout layout = within_stripes(opening_layout(
      work.extent.payload_offset, work.extent.text_bytes, how, work.extent.chunking));
  SparseSink sink(work.output, work.written ? std::optional(work.output_file) : std::nullopt);
  OpenedStripes continuation(work, layout);
  (void)transfer(work.source, &sink, layout,
                 opening(*work.cipher, work.source.name(), work.extent.payload_offset),
                 work.extent.chunks_of(stripes), how, &continuation);
}

}  // namespace paes::stream
