// SPDX-License-Identifier: Apache-2.0
// Raw messages: the modes of SP 800-38A and XTS. No format of ours is around them. GCM as one
// message is in raw_gcm.hpp.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "message/raw_key.hpp"
#include "stream/container/container_file.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

struct RawTask {
  const RawKey& key;
  Direction direction;
  Bytes iv;                      // key.iv_bytes()
  bool pads = false;             // PKCS#7, for ECB and CBC
  std::uint64_t max_blocks = 0;  // to encrypt, with the padding; 0 is no limit
  // What stands before the ciphertext. Encryption writes it; the input of decryption begins with
  // it, and on a pipe it has been read already.
  Bytes head = {};
  // What to think of when the padding is wrong.
  const char* hint_when_wrong = "the key, the IV or the mode is another, or the file is damaged";

  [[nodiscard]] bool encrypts() const noexcept { return direction == Direction::encrypt; }
};

// Throws Error(usage) "NAME: ..." for a text of a length that the mode cannot take, Error(corrupt)
// for such a ciphertext. `bytes` is the length without the head. `is_all` says that no more
// follows.
void check_raw_length(const std::string& name, const RawTask& task, std::uint64_t bytes,
                      bool is_all);

// At least how much room the output needs for `bytes` of input, not counting the input's head.
[[nodiscard]] Need raw_need(const RawTask& task, std::uint64_t bytes);

// How one message is transferred. An item is a piece. Its place in the mode (counter, preceding
// ciphertext block, number of the data unit) follows from its offset. If data units are too long
// for each thread to have one, an item is one unit, and all threads work on it. Padding belongs to
// the last item.
class RawTransfer {
 public:
  // `bytes` is the length of the message in the source, without the head; nothing for a pipe.
  // `item_bytes` is item_bytes_of(); several processes take the smallest of theirs. `task` must
  // outlive this.
  RawTransfer(std::string name, const RawTask& task, const Work& work,
              std::optional<std::uint64_t> bytes, std::size_t item_bytes);
  RawTransfer(const RawTransfer&) = delete;
  RawTransfer& operator=(const RawTransfer&) = delete;

  // How many bytes an item has if this process alone decides. Throws as buffer_bytes does.
  [[nodiscard]] static std::size_t item_bytes_of(const RawTask& task, const Work& work);
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  // Transfers these items of the message; on a pipe, all. In a chained direction `items` must be
  // all items. `work` must have the same piece_bytes and device as in the constructor.
  Moved run(Source& source, Sink& sink, Range items, const Work& work);

 private:
  void crypt(Buffer& buffer, const Executor& executor, std::size_t piece_bytes);

  std::string name_;
  const RawTask& task_;
  bool has_long_units_;
  bool is_chained_;
  RawPosition chain_;  // of chained directions: where the next piece begins
  Layout layout_;
};

// Writes the whole message and commits the output. Throws Error(usage) for a text whose length the
// mode cannot take, and Error(corrupt) for such a ciphertext and for wrong padding. If the length
// is known, it is checked before anything is written.
Totals crypt_raw(Source& input, Output& output, const RawTask& task, const Work& work);

}  // namespace paes::stream
