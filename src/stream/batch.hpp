// A batch is what a thread takes at a time: a run of whole chunks, transformed in place in a buffer
// of page-aligned memory. Every chunk begins on a cache line, so plaintext and ciphertext of a
// batch are lists of buffers rather than one. Raw modes have no chunks: their batch is one.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "format/cobblestone.hpp"
#include "message/engine.hpp"

namespace paes::stream {

// The bytes of a whole chunk before and after the cipher.
struct ChunkShape {
  std::size_t text_bytes = cobblestone::chunk_text_bytes;
  std::size_t cipher_bytes = cobblestone::chunk_bytes;
};

class Batch {
 public:
  // With an engine, which must outlive it, the memory is pinned for it.
  explicit Batch(std::size_t max_chunks, ChunkShape shape = {}, Engine* engine = nullptr);
  ~Batch();  // wipes the buffer
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  [[nodiscard]] std::size_t max_chunks() const noexcept { return max_chunks_; }
  [[nodiscard]] std::size_t max_text_bytes() const noexcept {
    return max_chunks_ * shape_.text_bytes;
  }
  [[nodiscard]] std::size_t max_cipher_bytes() const noexcept {
    return max_chunks_ * shape_.cipher_bytes;
  }

  // Chunk number `index` of the batch: text, then its tag.
  [[nodiscard]] std::uint8_t* chunk(std::size_t index) noexcept {
    return memory_ + index * stride_bytes();
  }
  [[nodiscard]] std::size_t stride_bytes() const noexcept {
    return (shape_.cipher_bytes + 63) / 64 * 64;
  }
  // The places of so many bytes of text, or of ciphertext with tags, from the first chunk on. Valid
  // until the next call.
  [[nodiscard]] std::span<const iovec> text(std::size_t text_bytes) {
    return list(text_bytes, shape_.text_bytes);
  }
  [[nodiscard]] std::span<const iovec> cipher(std::size_t cipher_bytes) {
    return list(cipher_bytes, shape_.cipher_bytes);
  }

  // Set by whoever fills the batch.
  std::uint64_t first_chunk = 0;
  std::size_t bytes = 0;   // of text before sealing, of ciphertext before opening
  std::size_t chunks = 0;  // that it holds
  bool is_last = false;    // the stream ends with it

 private:
  [[nodiscard]] std::span<const iovec> list(std::size_t bytes, std::size_t step);

  std::size_t max_chunks_;
  ChunkShape shape_;
  std::size_t mapped_bytes_;
  std::uint8_t* memory_;
  Engine* engine_;
  std::vector<iovec> list_;
};

// Batches for as many threads as ask at the same time; the one given back last is handed out first,
// because its memory is still in a cache.
class BatchPool {
 public:
  explicit BatchPool(std::size_t max_chunks, ChunkShape shape = {}, Engine* engine = nullptr)
      : max_chunks_(max_chunks), shape_(shape), engine_(engine) {}

  // A batch on loan for one scope.
  class Loan {
   public:
    explicit Loan(BatchPool& pool) : pool_(pool), batch_(pool.take()) {}
    ~Loan() { pool_.give_back(std::move(batch_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Batch& operator*() noexcept { return *batch_; }

   private:
    BatchPool& pool_;
    std::unique_ptr<Batch> batch_;
  };

 private:
  std::unique_ptr<Batch> take();
  void give_back(std::unique_ptr<Batch> batch) noexcept;

  std::size_t max_chunks_;
  ChunkShape shape_;
  Engine* engine_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Batch>> free_;
  std::size_t made_ = 0;
};

}  // namespace paes::stream
