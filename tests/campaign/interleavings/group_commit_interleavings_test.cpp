// SPDX-License-Identifier: Apache-2.0
// A model of the group commit (src/stream/file/group_commit.cpp): three threads add outputs to
// groups of two while any of their system calls may fail; commit_all() is called at any time, and
// once more at the end. At each
// moment the power may fail: a name may then be on the disk or not, and data is only if it has been
// synced.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "interleavings/explorer.hpp"

namespace paes::explore {
namespace {

using U8 = std::uint8_t;

constexpr unsigned adders = 3;
constexpr unsigned files_of_each[adders] = {2, 1, 1};
constexpr unsigned files = 4;
constexpr U8 full = 2;  // Limits::files
constexpr U8 most_failures = 1;

enum class Mutation : U8 {
  none,
  names_before_syncs,
  folder_before_names,
  told_before_folder,
  group_stays,
  adds_without_mutex,
  waits_with_mutex,
  failed_ones_go_on,
};

struct State {
  U8 synced, named, lasting, told, told_twice, failed;  // a bit for each file
  U8 group;                                             // GroupCommit::group_
  U8 mutex, commit_mutex;                               // 1 + who holds them
  U8 failures;
  struct Place {
    U8 at, added;
    U8 seen;           // the group as it was read, for the mutation without a mutex
    U8 members, step;  // what is being committed: in which step, and which of them it has yet to do
    U8 left;
    U8 is_whole;  // the file system was synced as a whole
  } threads[adders + 1];
};

class Commits {
 public:
  using State = explore::State;

  explicit Commits(Mutation mutation) : mutation_(mutation) {}

  [[nodiscard]] State start() const { return {}; }
  [[nodiscard]] unsigned threads() const { return adders + 1; }
  [[nodiscard]] bool is_over(const State& s, unsigned t) const { return s.threads[t].at == over; }

  [[nodiscard]] const char* wrong(const State& s) const {
    if ((s.named & ~s.synced) != 0) {
      return "a name that may outlive the data";
    }
    if ((s.told & ~s.failed & ~s.lasting) != 0) {
      return "reported as done, and the name may not last";
    }
    if (s.told_twice != 0) {
      return "reported twice";
    }
    // The group that is being filled and what those who wait have added to it.
    return count(s.group) > int{full - 1 + adders} ? "a group without a limit" : nullptr;
  }
  [[nodiscard]] const char* wrong_at_end(const State& s) const {
    return s.told != (1U << files) - 1 ? "an output that nobody has committed" : nullptr;
  }

  void step(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    switch (me.at) {
      case begins:
        if (t == adders) {
          for (unsigned other = 0; other < adders && me.added != 0; ++other) {
            if (!is_over(s, other)) {
              return;
            }
          }
          ++me.added;
          me.at = waits;
          return next.add(s, "commit_all");
        }
        if (me.added == files_of_each[t]) {
          me.at = over;
          return next.add(s, "ends");
        }
        if (is(Mutation::adds_without_mutex)) {
          me.seen = s.group;
          me.at = adds;
          return next.add(s, "add: reads the group");
        }
        if (take(s.mutex, t)) {
          me.seen = s.group;
          me.at = adds;
          next.add(s, "add: locks");
        }
        return;
      case adds:
        s.group = static_cast<U8>(me.seen | 1U << (first_of(t) + me.added++));
        if (count(s.group) < full) {
          release(s.mutex, t);
          me.at = begins;
          return next.add(s, "add: adds");
        }
        if (!is(Mutation::waits_with_mutex)) {
          release(s.mutex, t);
        }
        me.at = waits;
        return next.add(s, "add: adds, and the group is full");
      case waits:
        if (take(s.commit_mutex, t)) {
          me.at = locks_again;
          next.add(s, "locks commit_mutex_");
        }
        return;
      case locks_again:
        if (is(Mutation::waits_with_mutex) ? s.mutex == t + 1 || take(s.mutex, t)
                                           : take(s.mutex, t)) {
          me.at = takes;
          next.add(s, "locks mutex_ again");
        }
        return;
      case takes:
        if (t != adders && count(s.group) < full) {
          release(s.mutex, t);
          release(s.commit_mutex, t);
          me.at = begins;
          return next.add(s, "finds that another thread has taken the group");
        }
        me.members = s.group;
        if (!is(Mutation::group_stays)) {
          s.group = 0;
        }
        release(s.mutex, t);
        me.step = 0;
        me.is_whole = 0;
        me.left = me.members;
        me.at = commits;
        return next.add(s, "takes the group");
      case commits:
        return commit(s, t, next);
      default:
        return;
    }
  }

 private:
  enum At : U8 { begins, adds, waits, locks_again, takes, commits, over };
  enum Step : U8 { sync, name, folder, tell };

  [[nodiscard]] bool is(Mutation mutation) const { return mutation_ == mutation; }
  [[nodiscard]] static int count(unsigned set) { return __builtin_popcount(set); }
  [[nodiscard]] static unsigned first_of(unsigned t) {
    unsigned first = 0;
    for (unsigned other = 0; other < t; ++other) {
      first += files_of_each[other];
    }
    return first;
  }
  static bool take(U8& mutex, unsigned t) {
    if (mutex != 0) {
      return false;
    }
    mutex = static_cast<U8>(t + 1);
    return true;
  }
  static void release(U8& mutex, unsigned t) {
    if (mutex == t + 1) {
      mutex = 0;
    }
  }

  // The order of GroupCommit::commit, or of its mutation.
  [[nodiscard]] Step step_at(U8 place) const {
    constexpr Step right[] = {sync, name, folder, tell};
    constexpr Step names_first[] = {name, sync, folder, tell};
    constexpr Step folder_first[] = {sync, folder, name, tell};
    constexpr Step told_early[] = {sync, name, tell, folder};
    return (is(Mutation::names_before_syncs)    ? names_first
            : is(Mutation::folder_before_names) ? folder_first
            : is(Mutation::told_before_folder)  ? told_early
                                                : right)[place];
  }

  // GroupCommit::commit: a step for all files before the next, without those that have failed.
  void commit(const State& before, unsigned t, NextStates<State>& next) const {
    State s = before;
    State::Place& me = s.threads[t];
    if (me.step == 4) {
      release(s.commit_mutex, t);
      me.at = t == adders && me.added == 2 ? over : begins;
      return next.add(s, "unlocks commit_mutex_");
    }
    const Step now = step_at(me.step);
    if (now != tell && !is(Mutation::failed_ones_go_on)) {
      me.left &= static_cast<U8>(~s.failed);
    }
    if (me.left == 0) {
      ++me.step;
      me.left = me.members;
      return next.add(s, "goes to the next step");
    }
    const U8 file = static_cast<U8>(me.left & -me.left);
    const auto rest = [&](State made, const char* what, bool fails) {
      made.threads[t].left &= static_cast<U8>(~file);
      if (fails) {
        made.failed |= file;
        ++made.failures;
      }
      next.add(made, what);
    };
    const bool may_fail = s.failures < most_failures;
    State made = s;
    switch (now) {
      case sync:
        if (me.is_whole == 0 && me.left == me.members) {  // WholeSyncs::covers
          made.synced |= me.members;
          made.threads[t].is_whole = 1;
          rest(made, "syncs the file system", false);
          made = s;
        }
        if (may_fail) {  // NewFile::sync, or check_synced after a sync of all
          made.synced &= static_cast<U8>(~file);
          rest(made, "cannot be written", true);
          made = s;
        }
        made.synced |= me.is_whole == 0 ? file : 0;
        return rest(made, "syncs, or asks whether it is synced", false);
      case name:
        if (may_fail) {
          rest(s, "fails to give the name", true);
        }
        made.named |= file;
        return rest(made, "gives the name", false);
      case folder:  // once for all, and its error is that of each
        made.lasting |= static_cast<U8>(s.named & me.members);
        made.threads[t].left = file;
        rest(made, "syncs the folder", false);
        if (may_fail) {
          made = s;
          made.failed |= me.left;
          made.threads[t].left = file;
          rest(made, "fails to sync the folder", true);
        }
        return;
      case tell:
        made.told_twice |= static_cast<U8>(made.told & file);
        made.told |= file;
        return rest(made, "reports", false);
    }
  }

  Mutation mutation_;
};

TEST(GroupCommitInterleavings, NothingIsWrong) {
  const Exploration done = explore(Commits(Mutation::none));
  std::cout << "campaign: group commit: " << done << "\n";
  EXPECT_EQ(done.fault, "");
  EXPECT_GT(done.states, 10'000U);
  EXPECT_GT(done.ends, 10U);
}

class GroupCommitMutations : public testing::TestWithParam<Mutation> {};

TEST_P(GroupCommitMutations, IsFound) {
  const Exploration done = explore(Commits(GetParam()));
  std::cout << "mutation " << static_cast<int>(GetParam()) << ": " << done << "\n";
  EXPECT_NE(done.fault, "");
}
INSTANTIATE_TEST_SUITE_P(All, GroupCommitMutations,
                         testing::Values(Mutation::names_before_syncs,
                                         Mutation::folder_before_names,
                                         Mutation::told_before_folder, Mutation::group_stays,
                                         Mutation::adds_without_mutex, Mutation::waits_with_mutex,
                                         Mutation::failed_ones_go_on));

}  // namespace
}  // namespace paes::explore
