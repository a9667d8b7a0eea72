// SPDX-License-Identifier: Apache-2.0
// Tries every interleaving of the steps of a model's threads, and every outcome of each step, until
// no new state comes up. A model is a class with
//
//   State              trivially copyable, without padding; all zero or as start() makes it
//   start()            the first state
//   threads()          how many threads it has
//   step(s, t, next)   adds each state in which the next step of thread t may end; none if it waits
//   is_over(s, t)      whether thread t has ended
//   wrong(s)           what is wrong with this state, or null: asked of every state
//   wrong_at_end(s)    the same where all threads have ended
//
// A state in which nobody can go on is wrong as well, unless all threads have ended. Steps happen
// one after the other (sequential consistency). What weaker orders may show is for the model to
// say: entry_interleavings_test.cpp keeps account of who has seen what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace paes::explore {

template <typename State>
class NextStates {
 public:
  struct One {
    State state;
    const char* what;  // the step's name, for the account of a fault
  };
  void add(const State& state, const char* what) { all_.push_back({state, what}); }
  [[nodiscard]] const std::vector<One>& all() const noexcept { return all_; }
  void clear() noexcept { all_.clear(); }

 private:
  std::vector<One> all_;
};

struct Exploration {
  std::size_t states = 0;
  std::size_t steps = 0;
  std::size_t ends = 0;  // states in which all threads have ended
  std::string fault;     // empty if nothing is wrong; otherwise with the shortest way to it

  friend std::ostream& operator<<(std::ostream& out, const Exploration& done) {
    return out << done.states << " states, " << done.steps << " steps, " << done.ends << " ends"
               << (done.fault.empty() ? "" : ": ") << done.fault;
  }
};

template <typename Model>
class Explorer {
  using State = typename Model::State;
  static_assert(std::has_unique_object_representations_v<State>);

 public:
  explicit Explorer(const Model& model) : model_(model) {}

  // Breadth first, so that the first fault is one that takes the fewest steps.
  [[nodiscard]] Exploration run() {
    Exploration done;
    NextStates<State> next;
    visit(model_.start(), {});
    for (std::size_t at = 0; at < states_.size() && done.fault.empty(); ++at) {
      const State state = states_[at];
      const char* wrong = model_.wrong(state);
      bool all_over = true;
      bool goes_on = false;
      for (unsigned thread = 0; thread < model_.threads() && wrong == nullptr; ++thread) {
        all_over = all_over && model_.is_over(state, thread);
        next.clear();
        model_.step(state, thread, next);
        for (const auto& one : next.all()) {
          goes_on = true;
          ++done.steps;
          visit(one.state, {at, thread, one.what});
        }
      }
      if (wrong == nullptr && !goes_on) {
        wrong = all_over ? model_.wrong_at_end(state) : "nobody can go on";
        done.ends += all_over ? 1 : 0;
      }
      if (wrong != nullptr) {
        done.fault = way_to(at) + wrong;
      }
    }
    done.states = states_.size();
    return done;
  }

 private:
  struct Origin {
    std::size_t from = 0;
    unsigned thread = 0;
    const char* what = nullptr;
  };
  struct Hash {
    const std::vector<State>* states;
    std::size_t operator()(std::size_t index) const noexcept {
      return std::hash<std::string_view>()(bytes((*states)[index]));
    }
  };
  struct Equal {
    const std::vector<State>* states;
    bool operator()(std::size_t a, std::size_t b) const noexcept {
      return bytes((*states)[a]) == bytes((*states)[b]);
    }
  };

  [[nodiscard]] static std::string_view bytes(const State& state) noexcept {
    return {reinterpret_cast<const char*>(&state), sizeof state};
  }
  void visit(const State& state, const Origin& origin) {
    states_.push_back(state);
    if (known_.insert(states_.size() - 1).second) {
      origins_.push_back(origin);
    } else {
      states_.pop_back();
    }
  }
  [[nodiscard]] std::string way_to(std::size_t at) const {
    std::string way;
    for (; origins_[at].what != nullptr; at = origins_[at].from) {
      way = std::to_string(origins_[at].thread) + " " + origins_[at].what + "; " + way;
    }
    return way;
  }

  const Model& model_;
  std::vector<State> states_;
  std::vector<Origin> origins_;
  std::unordered_set<std::size_t, Hash, Equal> known_{1024, Hash{&states_}, Equal{&states_}};
};

template <typename Model>
[[nodiscard]] Exploration explore(const Model& model) {
  return Explorer<Model>(model).run();
}

}  // namespace paes::explore
