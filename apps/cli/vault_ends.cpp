// SPDX-License-Identifier: Apache-2.0
#include "cli/vault_ends.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "stream/transfer/sparse_sink.hpp"
#include "stream/transfer/wait.hpp"
#include "vault/vault_blocks.hpp"

namespace paes::cli {

Descriptor VaultSource::open(const volume::Volume& volume, const VaultEntry& entry) {
  // A pipe that takes the name meanwhile must not make anybody wait.
  Result<Descriptor> opened = volume.backing().open(
      entry.folder->descriptor(), entry.stored.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened) {
    throw Error(ErrorCode::failure, entry.path + ": " + opened.error().message());
  }
  return std::move(*opened);
}

VaultSource::VaultSource(const volume::Volume& volume, const VaultEntry& entry)
    : path_(entry.path), volume_(volume, met_.reporter()), file_(volume_, open(volume, entry)) {
  const Result<struct stat> status = volume_.backing().status(file_.descriptor());
  if (!status || !S_ISREG(status->st_mode)) {
    throw Error(ErrorCode::failure, path_ + (status ? ": is no regular file any more"
                                                    : ": " + status.error().message()));
  }
  opened_ = *status;
  bytes_ = volume_.content().layout().text_length(static_cast<std::uint64_t>(status->st_size));
}

std::size_t VaultSource::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  std::size_t done = 0;
  for (const iovec& part : to) {
    const MutableBytes into(static_cast<std::uint8_t*>(part.iov_base), part.iov_len);
    const Result<std::size_t> bytes = file_.read(offset + done, into, path_);
    if (!bytes) {
      // Whoever writes a block meanwhile leaves half of it to be read for a moment.
      if (bytes.error().is(EIO) && has_changed()) {
        throw Error(ErrorCode::failure, path_ + ": changed while it was read");
      }
      throw volume_error(path_, bytes.error(), met_);
    }
    if (*bytes != part.iov_len) {
      throw Error(ErrorCode::failure, path_ + ": became shorter while it was read");
    }
    done += part.iov_len;
  }
  return done;
}

bool VaultSource::has_changed() const {
  const Result<struct stat> now = volume_.backing().status(file_.descriptor());
  return !now || now->st_size != opened_.st_size || now->st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
         now->st_mtim.tv_nsec != opened_.st_mtim.tv_nsec;
}

void VaultSource::check_unchanged() const {
  if (has_changed()) {
    throw Error(ErrorCode::failure, path_ + ": changed while it was read");
  }
}

void VaultSink::write_at(std::uint64_t offset, std::span<const iovec> from) {
  end_ = offset;
  for (const iovec& part : from) {
    Bytes rest(static_cast<const std::uint8_t*>(part.iov_base), part.iov_len);
    while (!rest.empty()) {
      std::size_t run = rest.size();
      if (keeps_holes_) {
        // Blocks that are passed over, and then those up to the next of zeros.
        const auto block_at = [&](std::size_t at) {
          const std::size_t left = vault::block_bytes - (end_ + at) % vault::block_bytes;
          return std::min(left, rest.size() - at);
        };
        const auto is_hole = [&](std::size_t at) {
          return block_at(at) == vault::block_bytes &&
                 stream::is_zero(rest.data() + at, vault::block_bytes);
        };
        if (is_hole(0)) {
          end_ += vault::block_bytes;
          rest = rest.subspan(vault::block_bytes);
          continue;
        }
        run = 0;
        while (run < rest.size() && !is_hole(run)) {
          run += block_at(run);
        }
      }
      write(end_, rest.first(run));
      end_ += run;
      rest = rest.subspan(run);
    }
  }
}

void VaultSink::write(std::uint64_t offset, Bytes text) {
  while (!text.empty()) {
    const Result<std::size_t> bytes = file_.write(offset, text, path_);
    if (!bytes) {
      throw Error(ErrorCode::failure, path_ + ": cannot be written: " + bytes.error().message());
    }
    offset += *bytes;
    text = text.subspan(*bytes);
  }
  written_ = offset;
}

void VaultSink::finish() {
  if (end_ == written_) {
    return;
  }
  if (const Result<void> set = file_.set_length(end_, path_); !set) {
    throw Error(ErrorCode::failure, path_ + ": cannot be written: " + set.error().message());
  }
}

stream::Layout plain_layout(std::optional<std::uint64_t> bytes, const stream::Work& work) {
  stream::Layout layout;
  layout.in_bytes = stream::buffer_bytes(work);
  layout.out_bytes = layout.in_bytes;
  layout.total_bytes = bytes;
  return layout;
}

std::uint64_t move_text(stream::Source& source, stream::Sink& sink, const stream::Layout& layout,
                        const stream::Work& work) {
  const stream::Transform as_it_is{.run = [](stream::Buffer&) {}};
  const stream::MovedBytes moved =
      stream::transfer(source, &sink, layout, as_it_is, layout.all_items(), work);
  source.check_unchanged();
  return moved.written_bytes;
}

}  // namespace paes::cli
