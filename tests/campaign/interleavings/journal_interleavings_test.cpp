// SPDX-License-Identifier: Apache-2.0
// Two models of what --resume relies on.
//
// The journal (src/stream/resume/journal.cpp, stripes.cpp): two threads write stripes of two
// buffers and record those that are complete, while the disk writes the data when it likes and may
// lose some of it. The system then tells that once, and takes the data for written. A record may be
// on the disk as soon as it is written, so at that moment its stripe must be there for good.
//
// The two files (src/stream/file/resumable_files.cpp, new_file.cpp): after a power failure at any
// step, a partial file has a journal beside it that is not empty. Without one the next run would
// not know whose file it is, and refuse.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "interleavings/explorer.hpp"

namespace paes::explore {
namespace {

using U8 = std::uint8_t;

enum class Mutation : U8 {
  none,
  failure_is_forgotten,
  taken_after_the_sync,
  two_sync_at_once,
  recorded_before_the_sync,
  complete_with_its_first_buffer,
  goes_on_at_the_commit,
};

constexpr unsigned writers = 2;
constexpr U8 stripes = 2;
constexpr U8 most_losses = 1;

struct State {
  // A bit for each buffer, of which stripe s has 2 s and 2 s + 1.
  U8 written, dirty, lost;
  U8 error_is_pending;  // the descriptor of the data has yet to hear of what was lost
  U8 losses;
  U8 left[stripes];  // StripeByStripe::buffers_left_
  U8 complete;       // a bit for each stripe, also in the next two
  U8 waiting;        // Journal::waiting_
  U8 recorded;       // has a record in the journal
  U8 sync_mutex;     // 1 + who holds it
  U8 failed;         // Journal::failed_
  U8 next;           // the buffer that a thread takes next
  U8 thrown, kept, committed;
  struct Place {
    U8 at, buffer, taken, in_sync, must_end;
  } threads[writers + 1];
};

class JournalOf {
 public:
  using State = explore::State;

  explicit JournalOf(Mutation mutation) : mutation_(mutation) {}

  [[nodiscard]] State start() const {
    State s = {};
    s.left[0] = s.left[1] = 2;
    return s;
  }
  [[nodiscard]] unsigned threads() const { return writers + 2; }
  [[nodiscard]] bool is_over(const State& s, unsigned t) const {
    return t == disk || s.threads[t].at == over;
  }

  [[nodiscard]] const char* wrong(const State& s) const {
    const unsigned safe = s.written & ~s.dirty & ~s.lost;
    for (U8 stripe = 0; stripe < stripes; ++stripe) {
      if ((s.recorded >> stripe & 1) != 0 && (safe >> (2 * stripe) & 3) != 3) {
        return "a record of a stripe that is not on the disk";
      }
    }
    return s.committed != 0 && safe != 0xf ? "committed, and not on the disk" : nullptr;
  }
  [[nodiscard]] const char* wrong_at_end(const State& s) const {
    return s.kept != 0 && s.thrown == 0 && s.recorded != s.complete
               ? "a complete stripe that has no record"
               : nullptr;
  }

  void step(State s, unsigned t, NextStates<State>& next) const {
    if (t == disk) {
      return write_back(s, next);
    }
    State::Place& me = s.threads[t];
    switch (me.at) {
      case begins:
        return t == writers ? end_run(s, next) : write(s, t, next);
      case has_written: {  // StripeByStripe::has_written, under its mutex
        const U8 stripe = me.buffer / 2;
        const bool is_last = --s.left[stripe] == 0;
        const bool is_complete =
            is_last || (is(Mutation::complete_with_its_first_buffer) && s.left[stripe] == 1);
        s.complete |= static_cast<U8>(is_last ? 1U << stripe : 0);
        me.at = begins;
        if (!is_complete || (is_last && is(Mutation::complete_with_its_first_buffer))) {
          return next.add(s, "has written a buffer");
        }
        s.waiting |= static_cast<U8>(1U << stripe);  // Journal::complete
        next.add(s, "complete: a later call records it");
        me.at = tries;
        return next.add(s, "complete");
      }
      case tries:  // it is time for a sync
        if (s.sync_mutex == 0 || is(Mutation::two_sync_at_once)) {
          s.sync_mutex = static_cast<U8>(t + 1);
          me.at = takes;
        } else {
          me.at = begins;
        }
        return next.add(s, "tries to lock sync_mutex_");
      case flushes:
        if (s.sync_mutex == 0) {
          s.sync_mutex = static_cast<U8>(t + 1);
          me.at = takes;
          next.add(s, "flush: locks sync_mutex_");
        }
        return;
      case over:
        return;
      default:
        return sync_and_record(s, t, next);
    }
  }

 private:
  enum At : U8 {
    begins,
    has_written,
    tries,
    flushes,
    takes,
    looks,
    syncs,
    records,
    syncs_journal,
    over
  };
  static constexpr unsigned disk = writers + 1;

  [[nodiscard]] bool is(Mutation mutation) const { return mutation_ == mutation; }

  // A thread takes the next buffer, unless it has thrown.
  void write(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    if (s.next == 2 * stripes || me.must_end != 0) {
      me.at = over;
      return next.add(s, "ends");
    }
    me.buffer = s.next++;
    s.written = static_cast<U8>(s.written | 1U << me.buffer);
    s.dirty = static_cast<U8>(s.dirty | 1U << me.buffer);
    me.at = has_written;
    next.add(s, "writes a buffer");
  }

  // run_and_commit (resume.cpp), when the threads have ended.
  void end_run(const State& s, NextStates<State>& next) const {
    if (!is_over(s, 0) || !is_over(s, 1)) {
      return;
    }
    if (s.kept == 0) {
      State interrupted = s;
      interrupted.kept = 1;
      interrupted.threads[writers].at = flushes;
      next.add(interrupted, "keep, after a failure or a signal");
    }
    if (s.thrown == 0 && s.written == 0xf) {  // NewFile::sync
      const bool is_stopped = !is(Mutation::goes_on_at_the_commit);
      sync_data(s, s.dirty, next, [=](State done, bool fails, NextStates<State>& then) {
        done.failed = is_stopped ? 1 : done.failed;  // Journal::stop
        done.threads[writers].at = fails ? flushes : over;
        done.kept = done.thrown = fails ? 1 : 0;
        done.committed = fails ? 0 : 1;
        then.add(done, fails ? "cannot sync the output" : "commits");
      });
    }
  }

  void sync_and_record(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    const auto leave = [&](State done, const char* what) {
      if (done.sync_mutex == t + 1 || is(Mutation::two_sync_at_once)) {
        done.sync_mutex = 0;
      }
      done.threads[t].taken = 0;
      done.threads[t].at = t == writers ? over : begins;
      next.add(done, what);
    };
    const auto throws = [&](State done, const char* what) {
      done.thrown = 1;
      done.threads[t].must_end = 1;
      leave(done, what);
    };
    switch (me.at) {
      case takes:
        if (!is(Mutation::taken_after_the_sync)) {
          me.taken = s.waiting;
          s.waiting = 0;
        }
        me.at = looks;
        return next.add(s, "takes what waits");
      case looks:
        if ((me.taken == 0 && !is(Mutation::taken_after_the_sync)) || s.failed != 0) {
          return leave(s, "has nothing to record");
        }
        s.failed = is(Mutation::failure_is_forgotten) ? 0 : 1;
        if (is(Mutation::recorded_before_the_sync)) {
          s.recorded |= me.taken;
        }
        me.in_sync = s.dirty;
        me.at = syncs;
        return next.add(s, "begins to sync the data");
      case syncs:
        return sync_data(s, me.in_sync & s.dirty, next,
                         [&](State done, bool fails, NextStates<State>& then) {
                           if (fails) {
                             return throws(done, "hears that data was lost");
                           }
                           if (is(Mutation::taken_after_the_sync)) {
                             done.threads[t].taken = done.waiting;
                             done.waiting = 0;
                           }
                           done.threads[t].at = records;
                           then.add(done, "has synced the data");
                         });
      case records:
        s.recorded |= me.taken;
        me.at = syncs_journal;
        return next.add(s, "writes the records");
      default:
        if (s.losses < most_losses) {
          State lost = s;
          ++lost.losses;
          throws(lost, "cannot sync the journal");
        }
        s.failed = 0;
        return leave(s, "has synced the journal");
    }
  }

  // The end of a sync: what was dirty when it began is on the disk, or lost. Whoever syncs first
  // after a loss hears of it.
  template <typename Then>
  void sync_data(const State& s, U8 due, NextStates<State>& next, const Then& then) const {
    for (unsigned lost = 0; lost <= due; ++lost) {
      if ((lost & ~due) != 0 || (lost != 0 && s.losses >= most_losses)) {
        continue;
      }
      State done = s;
      done.dirty &= static_cast<U8>(~due);
      done.lost |= static_cast<U8>(lost);
      done.losses = static_cast<U8>(done.losses + (lost != 0 ? 1 : 0));
      const bool fails = lost != 0 || done.error_is_pending != 0;
      done.error_is_pending = 0;
      then(done, fails, next);
    }
  }

  // The system writes a buffer when it likes.
  void write_back(const State& s, NextStates<State>& next) const {
    for (unsigned buffer = 1; buffer <= s.dirty; buffer <<= 1) {
      if ((s.dirty & buffer) == 0) {
        continue;
      }
      State done = s;
      done.dirty &= static_cast<U8>(~buffer);
      next.add(done, "is written back");
      if (s.losses < most_losses) {
        done.lost |= static_cast<U8>(buffer);
        done.error_is_pending = 1;
        ++done.losses;
        next.add(done, "is lost");
      }
    }
  }

  Mutation mutation_;
};

TEST(JournalInterleavings, NothingIsWrong) {
  const Exploration done = explore(JournalOf(Mutation::none));
  std::cout << "campaign: journal: " << done << "\n";
  EXPECT_EQ(done.fault, "");
  EXPECT_GT(done.states, 10'000U);
  EXPECT_GT(done.ends, 10U);
}

class JournalMutations : public testing::TestWithParam<Mutation> {};

TEST_P(JournalMutations, IsFound) {
  const Exploration done = explore(JournalOf(GetParam()));
  std::cout << "mutation " << static_cast<int>(GetParam()) << ": " << done << "\n";
  EXPECT_NE(done.fault, "");
}
INSTANTIATE_TEST_SUITE_P(All, JournalMutations,
                         testing::Values(Mutation::failure_is_forgotten,
                                         Mutation::taken_after_the_sync, Mutation::two_sync_at_once,
                                         Mutation::recorded_before_the_sync,
                                         Mutation::complete_with_its_first_buffer,
                                         Mutation::goes_on_at_the_commit));

// --- The two files. What of a name or of the journal's content may be on the disk after a power
// failure is a set, because names that have not been synced may have got there or not, each by
// itself.

enum Content : U8 { nothing = 1, zeros = 2, of_earlier_run = 4, of_this_run = 8 };

enum Call : U8 {
  makes_journal,
  removes_partial,
  syncs_folder,
  empties_journal,
  writes_header,
  syncs_journal_file,
  syncs_folder_again,
  makes_partial,
  gives_name,
  syncs_folder_at_commit,
  removes_journal,
  removes_partial_at_end,
  syncs_folder_at_end,
  removes_journal_at_end,
};

struct FilesState {
  U8 call;     // the next one
  U8 journal;  // whether the journal may have its name: a set of `nothing` and anything else
  U8 content;  // what may lie in it
  U8 partial;  // what may have the partial file's name
  U8 named_now, partial_now, content_now;  // what programs see
};

class Files {
 public:
  using State = FilesState;

  Files(bool was_interrupted, unsigned without)
      : interrupted_(was_interrupted), without_(without) {}

  [[nodiscard]] State start() const {
    State s = {};
    const U8 left = interrupted_ ? of_earlier_run : nothing;
    s.call = interrupted_ ? removes_partial : makes_journal;
    s.journal = s.content = s.partial = s.named_now = s.partial_now = s.content_now = left;
    return s;
  }
  [[nodiscard]] unsigned threads() const { return 1; }
  [[nodiscard]] bool is_over(const State& s, unsigned) const {
    return s.call > removes_journal_at_end;
  }

  [[nodiscard]] const char* wrong(const State& s) const {
    const bool may_have_partial = (s.partial & ~nothing) != 0;
    const bool may_lack_journal =
        (s.journal & nothing) != 0 || (s.content & (zeros | nothing)) != 0;
    return may_have_partial && may_lack_journal ? "a partial file that no journal speaks of"
                                                : nullptr;
  }
  [[nodiscard]] const char* wrong_at_end(const State&) const { return nullptr; }

  void step(State s, unsigned, NextStates<State>& next) const {
    const U8 call = s.call++;
    if (call > removes_journal_at_end) {
      return;
    }
    if (call != without_) {
      make(s, call);
    }
    if (call == makes_journal) {  // there is no partial file to remove
      s.call = empties_journal;
    }
    if (call == removes_journal || call == removes_journal_at_end) {
      s.call = removes_journal_at_end + 1;
    }
    next.add(s, "a call");
    if (call == makes_partial) {  // ResumableFiles::remove: the work has failed, and starts afresh
      s.call = removes_partial_at_end;
      next.add(s, "cannot be continued");
    }
  }

 private:
  static void change(U8& on_disk, U8& now, U8 to) {
    now = to;
    on_disk |= to;
  }
  static void sync_folder(State& s) {
    s.journal = s.named_now;
    s.partial = s.partial_now;
  }
  static void make(State& s, U8 call) {
    switch (call) {
      case makes_journal:  // open_journal
        change(s.journal, s.named_now, of_this_run);
        s.content = s.content_now = zeros;
        break;
      case removes_partial:
      case removes_partial_at_end:
      case gives_name:  // NewFile::rename_from
        change(s.partial, s.partial_now, nothing);
        break;
      case empties_journal:
        change(s.content, s.content_now, zeros);
        break;
      case writes_header:
        change(s.content, s.content_now, of_this_run);
        break;
      case syncs_journal_file:
        s.content = s.content_now;
        break;
      case makes_partial:
        change(s.partial, s.partial_now, of_this_run);
        break;
      case removes_journal:
      case removes_journal_at_end:  // finish
        change(s.journal, s.named_now, nothing);
        break;
      default:
        sync_folder(s);
        break;
    }
  }

  bool interrupted_;
  unsigned without_;  // this call is left out
};

constexpr unsigned none_of_them = 100;

TEST(FilesOfAResumableRun, NoPowerFailureLeavesAPartialFileAlone) {
  for (const bool was_interrupted : {false, true}) {
    const Exploration done = explore(Files(was_interrupted, none_of_them));
    std::cout << "campaign: files of --resume: " << done << "\n";
    EXPECT_EQ(done.fault, "");
    EXPECT_GT(done.states, 8U);
  }
}

TEST(FilesOfAResumableRun, EachSyncIsNeeded) {
  for (const Call call : {syncs_folder, syncs_journal_file, syncs_folder_again,
                          syncs_folder_at_commit, syncs_folder_at_end}) {
    std::string faults;
    for (const bool was_interrupted : {false, true}) {
      faults += explore(Files(was_interrupted, call)).fault;
    }
    EXPECT_NE(faults, "") << "without " << static_cast<int>(call);
  }
}

}  // namespace
}  // namespace paes::explore
