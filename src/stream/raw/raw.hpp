// SPDX-License-Identifier: Apache-2.0
// Raw messages in the modes of SP 800-38A and XTS, without any format of ours around them.
// raw_gcm.hpp has GCM as one message.
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
  std::uint64_t max_blocks = 0;  // for encryption, including padding; 0: no limit
  // What precedes the ciphertext. Encryption writes it. The input of decryption begins with it; on
  // a pipe it has been read already.
  Bytes head = {};
  const char* hint_when_wrong = "the key, the IV or the mode is another, or the file is damaged";

  [[nodiscard]] bool encrypts() const noexcept { return direction == Direction::encrypt; }
};

// Checks a length, without the head. Throws Error(usage) "NAME: ..." if the mode cannot take a text
// of this length, Error(corrupt) for such a ciphertext. `is_all` says that nothing follows.
void check_raw_length(const std::string& name, const RawTask& task, std::uint64_t bytes,
                      bool is_all);

// The room that the output needs at least for `bytes` of input, not counting the input's head.
[[nodiscard]] Need raw_need(const RawTask& task, std::uint64_t bytes);

// How one message is transferred. An item is a piece, whose place in the mode (counter, preceding
// ciphertext block, number of the data unit) follows from its offset. If data units are too long
// for each thread to have one, an item is one unit, and all threads work on it. Padding belongs to
// the last item.
class RawTransfer {
 public:
  // `bytes` is the length of the message in the source without the head, or empty for a pipe.
  // `item_bytes` comes from item_bytes_of(); several processes use the smallest of theirs. `task`
  // must outlive this.
  RawTransfer(std::string name, const RawTask& task, const Work& work,
              std::optional<std::uint64_t> bytes, std::size_t item_bytes);
  RawTransfer(const RawTransfer&) = delete;
  RawTransfer& operator=(const RawTransfer&) = delete;

  // How many bytes an item has if this process alone decides. Throws like buffer_bytes.
  [[nodiscard]] static std::size_t item_bytes_of(const RawTask& task, const Work& work);
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  // Transfers these items of the message, or all items of a pipe. In a chained direction `items`
  // must be all items. `work` must have the same piece_bytes and device as in the constructor.
  MovedBytes run(Source& source, Sink& sink, Range items, const Work& work);

 private:
  void crypt(Buffer& buffer, const Executor& executor, std::size_t piece_bytes);

  std::string name_;
  const RawTask& task_;
  bool has_long_units_;
  bool is_chained_;
  RawPosition chain_;  // in chained directions: where the next piece begins
  Layout layout_;
};

// Writes the whole message and commits the output. Throws Error(usage) for a text whose length the
// mode cannot take, and Error(corrupt) for such a ciphertext and for wrong padding. If the length
// is known, it is checked before anything is written.
Totals crypt_raw(Source& input, Output& output, const RawTask& task, const Work& work);

}  // namespace paes::stream
