// SPDX-License-Identifier: Apache-2.0
// A model of the keystream engine's entries (src/keystream/entry.hpp): a window of one entry and
// one slot, for which two chunks of two halves compete. Clients use them while workers fill them,
// the client's own thread computes ahead in idle(), and the precomputer takes the memory away.
//
// Memory orders: for each thread, and for the word and each mutex, the model keeps whether it
// happens after every access to what only the holder may touch. An access by a thread that does not
// is a data race, whatever the processor. So a store that is too weak is found, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "interleavings/explorer.hpp"

namespace paes::explore {
namespace {

using U8 = std::uint8_t;

enum Word : U8 { empty, filling, abandoned, begun, ready, taken, evicting };
constexpr U8 no_chunk = 2;
constexpr U8 halves = 2;

// What a thread does, one after the other.
enum Job : U8 { nothing, first_half, second_half, whole, idle, fill, evict };
struct Thread {
  std::array<Job, 4> jobs;
  U8 chunk = 0;  // where a client begins
};

enum class Mutation : U8 {
  none,
  publish_forgets_abandoned,
  take_leaves_filling,
  publish_is_relaxed,
  give_back_is_relaxed,
  hold_for_does_not_wipe,
  evict_does_not_hold,
  bypass_is_not_wiped,
  another_thread_fetches,
};

enum Knower : U8 { of_word = 4, of_precomputer = 5, of_context = 6 };

struct State {
  U8 chunk, word;  // Entry::word
  U8 known;        // a bit for each thread and Knower
  U8 has_slot, fresh_from, fresh_end;
  U8 half[halves];  // in the slot: 0, or 1 + the chunk whose keystream it is
  U8 free_slots;
  U8 precomputer, context;  // the mutexes: 1 + who holds them
  U8 next;                  // Window::next_
  U8 used;                  // what clients have taken: a bit for each half of each chunk
  U8 is_late;               // the chunk had been used when whoever fills it took hold of it
  U8 race, misuse;
  struct Place {
    U8 job, at;                   // where the thread is
    U8 seen_chunk, seen;          // the word as it was read last
    U8 chunk, from, end, target;  // the request; the chunk to fill
  } threads[4];
};

class Entries {
 public:
  using State = explore::State;

  Entries(std::vector<Thread> threads, Mutation mutation)
      : all_(std::move(threads)), mutation_(mutation) {}

  [[nodiscard]] State start() const {
    State s = {};
    s.chunk = no_chunk;
    s.known = 0xff;
    s.free_slots = 1;
    for (unsigned t = 0; t < threads(); ++t) {
      s.threads[t].chunk = all_[t].chunk;
    }
    return s;
  }
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(all_.size()); }
  [[nodiscard]] bool is_over(const State& s, unsigned t) const { return job_of(s, t) == nothing; }

  [[nodiscard]] const char* wrong(const State& s) const {
    if (s.race != 0) {
      return "a data race";
    }
    switch (s.misuse) {
      case 1:
        return "a client uses keystream of another chunk";
      case 2:
        return "keystream is computed over bytes that are not zero";
      case 3:
        return "a slot is given back that is not zero";
      case 4:
        return "a slot is used that is not there";
      default:
        break;
    }
    const bool offers = s.word == ready || s.word == begun;
    if (offers && s.is_late == 0 && (s.used >> (s.chunk * halves) & fresh(s)) != 0) {
      return "keystream that has been used is kept";
    }
    return nullptr;
  }
  [[nodiscard]] const char* wrong_at_end(const State& s) const {
    if (s.word == filling || s.word == abandoned || s.word == taken || s.word == evicting) {
      return "somebody holds the entry for ever";
    }
    for (U8 i = 0; i < halves; ++i) {
      const bool is_fresh = s.word != empty && (fresh(s) >> i & 1) != 0;
      if (s.half[i] != (is_fresh ? 1 + s.chunk : 0)) {
        return "what lies in the slot is not what the entry says";
      }
    }
    return s.has_slot + s.free_slots != 1 ? "a slot is lost" : nullptr;
  }

  void step(const State& s, unsigned t, NextStates<State>& next) const {
    switch (job_of(s, t)) {
      case nothing:
        return;
      case first_half:
      case second_half:
      case whole:
        return use(s, t, next);
      case evict:
        return take_memory(s, t, next);
      case fill:
      case idle:
        return compute_ahead(s, t, next);
    }
  }

 private:
  [[nodiscard]] Job job_of(const State& s, unsigned t) const {
    return s.threads[t].job < all_[t].jobs.size() ? all_[t].jobs[s.threads[t].job] : nothing;
  }
  [[nodiscard]] bool is(Mutation mutation) const { return mutation_ == mutation; }
  // The halves that are computed and not yet used.
  [[nodiscard]] static unsigned fresh(const State& s) {
    return (1U << s.fresh_end) - (1U << std::min(s.fresh_from, s.fresh_end));
  }

  // Whether a client has used some of the chunk. It may then be computed all the same, by somebody
  // who has read next_ before, or because the entry was somebody else's when the client looked.
  // That costs time, and the next chunk of the entry wipes it.
  [[nodiscard]] static U8 is_used(const State& s, U8 chunk) {
    return (s.used >> (chunk * halves) & 3) != 0 ? 1 : 0;
  }

  // --- Memory orders.

  static bool knows(const State& s, unsigned who) { return (s.known >> who & 1) != 0; }
  static void set_known(State& s, unsigned who, bool is_known) {
    s.known = static_cast<U8>((s.known & ~(1U << who)) | (is_known ? 1U << who : 0));
  }
  // Whoever holds the entry touches the slot, its bounds and who made it.
  static void touch(State& s, unsigned t) {
    s.race = s.race != 0 || !knows(s, t) ? 1 : 0;
    s.known = static_cast<U8>(1U << t);
  }
  static void acquire(State& s, unsigned t, unsigned from) {
    set_known(s, t, knows(s, t) || knows(s, from));
  }
  static void read_word(State& s, unsigned t) {
    acquire(s, t, of_word);
    s.threads[t].seen = s.word;
    s.threads[t].seen_chunk = s.chunk;
  }
  // Entry::change: what was released before, stays so.
  static bool change(State& s, unsigned t, U8 chunk, Word word, bool is_relaxed = false) {
    if (s.word != s.threads[t].seen || s.chunk != s.threads[t].seen_chunk) {
      read_word(s, t);
      return false;
    }
    if (!is_relaxed) {
      acquire(s, t, of_word);
      set_known(s, of_word, knows(s, of_word) || knows(s, t));
    }
    s.chunk = chunk;
    s.word = word;
    return true;
  }
  // Entry::publish.
  static void publish(State& s, unsigned t, U8 chunk, Word word, bool is_relaxed = false) {
    s.chunk = chunk;
    s.word = word;
    set_known(s, of_word, !is_relaxed && knows(s, t));
  }
  static bool lock(State& s, unsigned t, U8 State::*mutex, unsigned knower) {
    if (s.*mutex != 0) {
      return false;
    }
    s.*mutex = static_cast<U8>(t + 1);
    acquire(s, t, knower);
    return true;
  }
  static void unlock(State& s, unsigned t, U8 State::*mutex, unsigned knower) {
    s.*mutex = 0;
    set_known(s, knower, knows(s, t));
  }

  static void wipe(State& s) { s.half[0] = s.half[1] = 0; }
  static void end_job(State& s, unsigned t) {
    ++s.threads[t].job;
    s.threads[t].at = 0;
  }

  // --- A client: CtrContext::crypt, of which Context::take and Window::slide run under the
  // context's mutex.

  void use(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    switch (me.at) {
      case 0: {  // the ledger
        if (!lock(s, t, &State::context, of_context)) {
          return;
        }
        const Job job = job_of(s, t);
        me.from = job == second_half ? 1 : 0;
        me.end = job == first_half ? 1 : halves;
        me.at = 1;
        return next.add(s, "claims");
      }
      case 1:
        read_word(s, t);
        decide(s, t);
        return next.add(s, "take: reads the word");
      case 2: {  // Window::take
        const bool is_here = me.seen_chunk == me.chunk;
        const bool is_there = is_here && me.seen != filling;
        if (change(s, t, me.chunk, !is_here ? empty : is_there ? taken : abandoned)) {
          me.at = is_there ? 3 : 4;
          note_use(s, t);
        } else {
          decide(s, t);
        }
        return next.add(s, "take: changes the word");
      }
      case 3:  // has an entry; whether its keystream begins where the request does
        touch(s, t);
        me.at = s.fresh_from == me.from ? 5 : 7;
        s.next = static_cast<U8>(me.chunk + 1);
        unlock(s, t, &State::context, of_context);
        return next.add(s, "slides and unlocks");
      case 4:
        s.next = static_cast<U8>(me.chunk + 1);
        unlock(s, t, &State::context, of_context);
        end_request(s, t);
        return next.add(s, "slides, unlocks and computes");
      case 5:  // CtrContext::crypt_part
        touch(s, t);
        for (U8 i = me.from; i < std::min(me.end, s.fresh_end); ++i) {
          s.misuse = s.half[i] != 1 + me.chunk ? 1 : s.misuse;
          s.half[i] = 0;
          s.fresh_from = static_cast<U8>(i + 1);
        }
        me.at = 6;
        return next.add(s, "uses and wipes");
      case 6: {  // Window::give_back
        const bool has_rest = s.fresh_from < s.fresh_end;
        publish(s, t, me.chunk,
                !has_rest               ? empty
                : s.fresh_end == halves ? ready
                                        : begun,
                is(Mutation::give_back_is_relaxed));
        break;
      }
      case 7:  // Window::discard
        touch(s, t);
        if (!is(Mutation::bypass_is_not_wiped)) {
          wipe(s);
        }
        me.at = 8;
        return next.add(s, "wipes what it bypasses");
      default:
        publish(s, t, me.chunk, empty);
        break;
    }
    end_request(s, t);
    next.add(s, "gives back");
  }

  // From here on nobody may begin to compute it.
  static void note_use(State& s, unsigned t) {
    const State::Place& me = s.threads[t];
    for (unsigned i = me.from; i < me.end; ++i) {
      s.used = static_cast<U8>(s.used | 1U << (me.chunk * halves + i));
    }
  }
  // Whether the word is to be changed. If not, the entry is somebody's or another chunk's, and does
  // not say that the chunk has been used.
  void decide(State& s, unsigned t) const {
    State::Place& me = s.threads[t];
    const bool is_here = me.seen_chunk == me.chunk;
    const bool changes = is_here ? me.seen == ready || me.seen == begun ||
                                       (me.seen == filling && !is(Mutation::take_leaves_filling))
                                 : me.seen == empty;
    me.at = changes ? 2 : 4;
    if (!changes) {
      note_use(s, t);
    }
  }
  static void end_request(State& s, unsigned t) {
    State::Place& me = s.threads[t];
    me.chunk = static_cast<U8>(me.chunk + (me.end == halves ? 1 : 0));
    end_job(s, t);
  }

  // --- Whoever fills: Precomputer::work with its mutex (next_fill, fill_one), or
  // Candidate::fill_again without, and Window::fetch_next after that.

  void compute_ahead(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    const bool has_mutex = job_of(s, t) == fill;
    const auto leave = [&](const char* what) {
      if (has_mutex && s.precomputer == t + 1) {
        unlock(s, t, &State::precomputer, of_precomputer);
      }
      if (has_mutex && !is(Mutation::another_thread_fetches)) {
        end_job(s, t);
      } else {
        me.at = 9;
      }
      next.add(s, what);
    };
    switch (me.at) {
      case 0:
        if (has_mutex && !lock(s, t, &State::precomputer, of_precomputer)) {
          return;
        }
        me.target = s.next;
        me.at = 1;
        return me.target > 1 ? leave("has nothing to fill") : next.add(s, "next_fill: looks");
      case 1:
        read_word(s, t);
        me.at = 2;
        return next.add(s, "hold_for: reads the word");
      case 2: {  // Window::hold_for
        const bool is_here = me.seen_chunk == me.target;
        const bool is_passed_over = !is_here && (me.seen == ready || me.seen == begun);
        if (!(is_here ? me.seen == begun : me.seen == empty || is_passed_over)) {
          return leave("hold_for: is not free");
        }
        if (!change(s, t, is_passed_over ? me.seen_chunk : me.target,
                    is_passed_over ? evicting : filling)) {
          return next.add(s, "hold_for: tries again");
        }
        me.at = is_passed_over ? 3 : 5;
        if (!is_passed_over && !is_here) {
          touch(s, t);
          s.fresh_from = s.fresh_end = 0;
          s.is_late = is_used(s, me.target);
        }
        return next.add(s, "hold_for: holds");
      }
      case 3:
        touch(s, t);
        if (!is(Mutation::hold_for_does_not_wipe)) {
          wipe(s);
        }
        s.fresh_from = s.fresh_end = 0;
        me.at = 4;
        return next.add(s, "hold_for: wipes another chunk");
      case 4:
        publish(s, t, me.target, filling);
        s.is_late = is_used(s, me.target);
        me.at = 5;
        return next.add(s, "hold_for: says what it fills");
      case 5:  // a slot
        touch(s, t);
        if (s.has_slot == 0 && has_mutex && s.free_slots != 0) {
          s.has_slot = 1;
          --s.free_slots;
        }
        if (s.has_slot == 0) {  // Window::give_up
          publish(s, t, no_chunk, empty);
          return leave("gives up");
        }
        if (has_mutex) {
          unlock(s, t, &State::precomputer, of_precomputer);
        }
        me.at = 6;
        return next.add(s, "has a slot");
      case 6:  // Candidate::compute, of all that is missing or of a half
        for (U8 halves_now = 1; s.fresh_end + halves_now <= halves; ++halves_now) {
          State made = s;
          touch(made, t);
          made.misuse = made.has_slot == 0 ? 4 : made.misuse;
          for (U8 i = 0; i < halves_now; ++i) {
            U8& half = made.half[made.fresh_end++];
            made.misuse = half != 0 ? 2 : made.misuse;
            half = static_cast<U8>(1 + me.target);
          }
          made.threads[t].at = 7;
          next.add(made, "computes");
        }
        return;
      case 7: {  // Window::publish
        const Word word = s.fresh_end == halves ? ready : begun;
        me.seen = filling;
        me.seen_chunk = me.target;
        if (is(Mutation::publish_forgets_abandoned)) {
          publish(s, t, me.target, word);
          return leave("publishes");
        }
        if (change(s, t, me.target, word, is(Mutation::publish_is_relaxed))) {
          return leave("publishes");
        }
        me.at = 8;
        return next.add(s, "finds that it is abandoned");
      }
      case 8:
        touch(s, t);
        wipe(s);
        publish(s, t, me.target, empty);
        return leave("wipes what is abandoned");
      case 9:  // Window::fetch_next
        me.seen = ready;
        me.seen_chunk = me.target = s.next;
        if (me.target > 1 || !change(s, t, me.target, taken)) {
          end_job(s, t);
          return next.add(s, "has nothing to fetch");
        }
        me.at = 10;
        return next.add(s, "fetches");
      default:
        touch(s, t);
        publish(s, t, me.target, ready);
        end_job(s, t);
        return next.add(s, "has fetched");
    }
  }

  // --- Window::evict, under the precomputer's mutex.

  void take_memory(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    const auto leave = [&](const char* what) {
      unlock(s, t, &State::precomputer, of_precomputer);
      end_job(s, t);
      next.add(s, what);
    };
    switch (me.at) {
      case 0:
        if (!lock(s, t, &State::precomputer, of_precomputer)) {
          return;
        }
        read_word(s, t);
        me.at = 1;
        return next.add(s, "evict: reads the word");
      case 1: {
        const bool has_keystream = me.seen == ready || me.seen == begun;
        if (s.has_slot == 0 || (!has_keystream && me.seen != empty)) {
          return leave("evict: leaves it");
        }
        me.target = has_keystream ? no_chunk : me.seen_chunk;
        if (!is(Mutation::evict_does_not_hold) && !change(s, t, me.seen_chunk, evicting)) {
          return leave("evict: leaves it");
        }
        me.at = 2;
        return next.add(s, "evict: holds");
      }
      default:
        touch(s, t);
        wipe(s);
        s.has_slot = 0;
        ++s.free_slots;
        publish(s, t, me.target, empty);
        return leave("evict: wipes and gives back");
    }
  }

  std::vector<Thread> all_;
  Mutation mutation_;
};

constexpr Thread halves_then_whole = {{first_half, second_half, whole, nothing}};
constexpr Thread one_chunk = {{whole, nothing, nothing, nothing}};
constexpr Thread with_idle_time = {{idle, whole, idle, whole}};
constexpr Thread other_chunk = {{whole, nothing, nothing, nothing}, 1};
constexpr Thread worker = {{fill, fill, fill, nothing}};
constexpr Thread brief_worker = {{fill, nothing, nothing, nothing}};
constexpr Thread evictor = {{evict, evict, nothing, nothing}};

const std::vector<std::vector<Thread>>& scenes() {
  static const std::vector<std::vector<Thread>> all = {
      {halves_then_whole, worker, brief_worker, evictor},
      {one_chunk, other_chunk, worker, evictor},
      {with_idle_time, worker, evictor},
  };
  return all;
}

TEST(EntryInterleavings, NothingIsWrong) {
  for (const auto& scene : scenes()) {
    const Exploration done = explore(Entries(scene, Mutation::none));
    std::cout << "campaign: keystream entries: " << done << "\n";
    EXPECT_EQ(done.fault, "");
    EXPECT_GT(done.states, 10'000U);
    EXPECT_GT(done.ends, 10U);
  }
}

class EntryMutations : public testing::TestWithParam<Mutation> {};

TEST_P(EntryMutations, IsFound) {
  std::string faults;
  for (const auto& scene : scenes()) {
    faults += explore(Entries(scene, GetParam())).fault;
  }
  std::cout << "mutation " << static_cast<int>(GetParam()) << ": " << faults.substr(0, 600) << "\n";
  EXPECT_NE(faults, "");
}
INSTANTIATE_TEST_SUITE_P(
    All, EntryMutations,
    testing::Values(Mutation::publish_forgets_abandoned, Mutation::take_leaves_filling,
                    Mutation::publish_is_relaxed, Mutation::give_back_is_relaxed,
                    Mutation::hold_for_does_not_wipe, Mutation::evict_does_not_hold,
                    Mutation::bypass_is_not_wiped, Mutation::another_thread_fetches));

}  // namespace
}  // namespace paes::explore
