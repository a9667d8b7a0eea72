// An order of candidates, by priority and by a number. A candidate's place in it is made when its
// context is opened, and moves in and out: nothing is allocated while keystream is computed.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

namespace paes::keystream {

class Candidate;

// Not thread-safe: the precomputer's mutex guards it.
class Order {
 public:
  struct Key {
    std::int64_t priority;  // the least is first
    std::uint64_t at;       // then the least of these
    Candidate* candidate;

    bool operator<(const Key& other) const noexcept {
      return std::tie(priority, at, candidate) <
             std::tie(other.priority, other.at, other.candidate);
    }
  };
  using Keys = std::set<Key>;

  // Belongs to one candidate and one order.
  class Place {
   public:
    Place() {
      Keys keys;
      node_ = keys.extract(keys.insert(Key{}).first);
    }
    [[nodiscard]] bool is_taken() const noexcept { return node_.empty(); }
    // Unless it is there already.
    void enter(Order& order, const Key& key) noexcept {
      if (!is_taken()) {
        node_.value() = key;
        at_ = order.keys_.insert(std::move(node_)).position;
      }
    }
    void leave(Order& order) noexcept {
      if (is_taken()) {
        node_ = order.keys_.extract(at_);
      }
    }

   private:
    Keys::iterator at_;     // where it is in the order
    Keys::node_type node_;  // else it keeps the node
  };

  [[nodiscard]] bool is_empty() const noexcept { return keys_.empty(); }
  [[nodiscard]] const Key& first() const noexcept { return *keys_.begin(); }
  [[nodiscard]] const Key& last() const noexcept { return *keys_.rbegin(); }
  [[nodiscard]] Keys::const_iterator begin() const noexcept { return keys_.begin(); }
  [[nodiscard]] Keys::const_iterator end() const noexcept { return keys_.end(); }

 private:
  Keys keys_;
};

}  // namespace paes::keystream
