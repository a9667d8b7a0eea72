// A sink that leaves pages of zero bytes out of another one, where they become holes. What is
// written to it must be authentic: the holes show where the text is zero.
#pragma once

#include <functional>

#include "stream/sink.hpp"

namespace paes::stream {

// Removes what lies in a part of a file, so that it reads as zero; false where that cannot be done.
using MakeHole = std::function<bool(std::uint64_t offset, std::uint64_t bytes)>;
[[nodiscard]] MakeHole hole_maker(int descriptor);

class SparseSink : public Sink {
 public:
  // `sink` must outlive it. A pipe has no holes, and gets everything.
  explicit SparseSink(Sink& sink) : sink_(sink) {}
  // For a sink that an earlier run may have written to: the place of each write is cleared by
  // `make_hole` first, and what cannot be cleared is written as a whole.
  SparseSink(Sink& sink, MakeHole make_hole)
      : sink_(sink), is_dirty_(true), make_hole_(std::move(make_hole)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return sink_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return sink_.is_seekable(); }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  void stop_waiting() noexcept override { sink_.stop_waiting(); }

 private:
  Sink& sink_;
  bool is_dirty_ = false;
  MakeHole make_hole_;
};

}  // namespace paes::stream
