// SPDX-License-Identifier: Apache-2.0
// Two models of how a mount syncs, while the disk writes what it likes and may lose something once.
// The system tells of a loss once for each descriptor, and takes the data for written.
//
// The volume's own files (src/volume/change/unsynced.cpp): one thread makes a folder, whose IV is
// such a file, then writes a file in it and syncs that; others sync something, move an old file
// into the new folder (removals.cpp, move_entry), or fail to remove the folder. Whoever is told
// that a sync has succeeded finds what was there before on the disk, and what is moved never
// depends on an IV that is not there.
//
// Files for which no sync of everything answers (src/volume/change/written_files.cpp): two
// descriptors of a file write, sync and close it, while another thread syncs all.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "interleavings/explorer.hpp"

namespace paes::explore {
namespace {

using U8 = std::uint8_t;

constexpr U8 most_losses = 1;

// Data of one file in the cache and on the disk: a bit for each page.
struct Data {
  U8 is_there, dirty, lost;
  U8 error_is_pending;  // the descriptor that wrote it has yet to hear of the loss

  [[nodiscard]] bool is_safe() const { return is_there != 0 && dirty == 0 && lost == 0; }
  [[nodiscard]] bool has(unsigned pages) const { return (pages & (dirty | lost | ~is_there)) == 0; }
  void write(U8 page = 1) {
    is_there |= page;
    dirty |= page;
    lost &= static_cast<U8>(~page);
  }
};

enum class Mutation : U8 {
  none,
  syncs_without_syncing_mutex,
  fails_once_only,
  error_drops_it,
  add_comes_before_the_write,
  moves_without_sync,
  takes_without_syncing_mutex,
  puts_nothing_back,
};

enum class Job : U8 { make_and_sync, sync, move, remove_in_vain };

struct State {
  Data iv, file;
  U8 is_made, is_added, is_moved;
  U8 list, has_failed;  // UnsyncedFiles::files_, of one file that can be in it
  U8 lost;              // UnsyncedFiles::lost_
  U8 syncing;           // 1 + who holds syncing_
  U8 losses;
  U8 told_too_much;
  struct Place {
    U8 at, taken, owed;  // owed: what was added before the call began
  } threads[3];
};

class OwnFiles {
 public:
  using State = explore::State;

  OwnFiles(std::vector<Job> jobs, Mutation mutation)
      : jobs_(std::move(jobs)), mutation_(mutation) {}

  [[nodiscard]] State start() const { return {}; }
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(jobs_.size()) + 1; }
  [[nodiscard]] bool is_over(const State& s, unsigned t) const {
    return t == jobs_.size() || s.threads[t].at == over;
  }
  [[nodiscard]] const char* wrong(const State& s) const {
    if (s.told_too_much != 0) {
      return "a sync has succeeded, and something is not on the disk";
    }
    return s.is_moved != 0 && !s.iv.is_safe() ? "what is moved depends on an IV that may be lost"
                                              : nullptr;
  }
  [[nodiscard]] const char* wrong_at_end(const State& s) const {
    return s.iv.is_there != 0 && !s.iv.is_safe() && s.list == 0 && s.lost == 0
               ? "nobody will sync the IV any more, nor say that it is lost"
               : nullptr;
  }

  void step(State s, unsigned t, NextStates<State>& next) const {
    if (t == jobs_.size()) {
      return write_back(s, next);
    }
    State::Place& me = s.threads[t];
    switch (me.at) {
      case begins:
        return begin(s, t, next);
      case adds:  // write_own_file, UnsyncedFiles::add
        s.is_added = s.list = 1;
        me.at = is(Mutation::add_comes_before_the_write) ? writes_iv : appears;
        return next.add(s, "add");
      case writes_iv:
        s.iv.write();
        me.at = is(Mutation::add_comes_before_the_write) ? appears : adds;
        return next.add(s, "writes the IV");
      case appears:
        s.is_made = 1;
        s.file.write();
        me.owed = 1;
        me.at = locks;
        return next.add(s, "gives the folder its name and writes a file");
      case locks:  // UnsyncedFiles::sync
        if (!is(Mutation::syncs_without_syncing_mutex) && !lock(s, t)) {
          return;
        }
        if (s.lost != 0) {
          return answer(s, t, false, next);
        }
        me.taken = s.list;
        s.list = 0;
        me.at = me.taken != 0 ? syncs : own_are_synced;
        return next.add(s, "sync: takes the list");
      case syncs:  // UnsyncedFiles::sync(File&)
        if (s.has_failed != 0) {
          s.iv.write();  // its content is written anew
        }
        return sync_data(s, &State::iv, [&](State done, bool fails) {
          done.has_failed = fails && !is(Mutation::fails_once_only) ? 1 : done.has_failed;
          done.threads[t].taken = 0;
          if (fails) {
            done.list = is(Mutation::error_drops_it) ? 0 : 1;
            return answer(done, t, false, next);
          }
          done.threads[t].at = own_are_synced;
          next.add(done, "sync: the IV is synced");
        });
      case own_are_synced:
        unlock(s, t);
        me.at = jobs_[t] == Job::make_and_sync ? syncs_file : has_synced;
        return next.add(s, "sync: is done");
      case syncs_file:  // WritableFile::sync
        return sync_data(s, &State::file,
                         [&](const State& done, bool fails) { answer(done, t, !fails, next); });
      case has_synced:
        if (jobs_[t] == Job::move) {
          s.is_moved = 1;
          me.at = over;
          return next.add(s, "moves");
        }
        return answer(s, t, true, next);
      case locks_to_lose:  // UnsyncedFiles::lose, where what is open would only be hidden
        if (!is(Mutation::takes_without_syncing_mutex) && !lock(s, t)) {
          return;
        }
        me.taken = s.list;
        s.list = 0;
        if (me.taken != 0) {
          s.iv.error_is_pending = 0;  // its descriptor is closed, and nobody else hears of it
        }
        me.at = fails_to_lose;
        return next.add(s, "lose: takes it from the list and closes it");
      case fails_to_lose:
        if (me.taken != 0 && !is(Mutation::puts_nothing_back)) {
          s.list = s.has_failed = 1;  // put_back
        }
        unlock(s, t);
        me.at = over;
        return next.add(s, "lose: fails and puts it back");
      default:
        return;
    }
  }

 private:
  enum At : U8 {
    begins,
    writes_iv,
    adds,
    appears,
    locks,
    syncs,
    own_are_synced,
    syncs_file,
    has_synced,
    locks_to_lose,
    fails_to_lose,
    over
  };

  [[nodiscard]] bool is(Mutation mutation) const { return mutation_ == mutation; }
  static bool lock(State& s, unsigned t) {
    if (s.syncing != 0) {
      return false;
    }
    s.syncing = static_cast<U8>(t + 1);
    return true;
  }
  static void unlock(State& s, unsigned t) { s.syncing = s.syncing == t + 1 ? 0 : s.syncing; }

  void begin(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    switch (jobs_[t]) {
      case Job::make_and_sync:
        me.at = is(Mutation::add_comes_before_the_write) ? adds : writes_iv;
        return next.add(s, "begins to make a folder");
      case Job::sync:
        me.owed = s.is_added;
        me.at = locks;
        return next.add(s, "calls sync");
      case Job::move:  // once the folder is there
      case Job::remove_in_vain:
        if (s.is_made != 0) {
          me.at = jobs_[t] == Job::move && is(Mutation::moves_without_sync) ? has_synced
                  : jobs_[t] == Job::move                                   ? locks
                                                                            : locks_to_lose;
          next.add(s, jobs_[t] == Job::move ? "calls rename" : "calls rmdir");
        }
        return;
    }
  }

  void answer(State s, unsigned t, bool has_succeeded, NextStates<State>& next) const {
    unlock(s, t);
    State::Place& me = s.threads[t];
    me.at = over;
    const bool is_safe =
        (me.owed == 0 || s.iv.is_safe()) && (jobs_[t] != Job::make_and_sync || s.file.is_safe());
    s.told_too_much = has_succeeded && !is_safe ? 1 : s.told_too_much;
    next.add(s, has_succeeded ? "is told that it has succeeded" : "is told that it has failed");
  }

  // A sync by the descriptor that wrote the data.
  template <typename Then>
  void sync_data(const State& s, Data State::*data, const Then& then) const {
    for (const bool is_lost : {false, true}) {
      if (is_lost && ((s.*data).dirty == 0 || s.losses >= most_losses)) {
        continue;
      }
      State done = s;
      Data& now = done.*data;
      now.lost = is_lost ? 1 : now.lost;
      now.dirty = 0;
      done.losses = static_cast<U8>(done.losses + (is_lost ? 1 : 0));
      const bool fails = is_lost || now.error_is_pending != 0;
      now.error_is_pending = 0;
      then(done, fails);
    }
  }

  void write_back(const State& s, NextStates<State>& next) const {
    for (Data State::*data : {&State::iv, &State::file}) {
      if ((s.*data).dirty == 0) {
        continue;
      }
      State done = s;
      (done.*data).dirty = 0;
      next.add(done, "is written back");
      if (s.losses < most_losses) {
        (done.*data).lost = (done.*data).error_is_pending = 1;
        ++done.losses;
        next.add(done, "is lost");
      }
    }
  }

  std::vector<Job> jobs_;
  Mutation mutation_;
};

const std::vector<std::vector<Job>>& scenes() {
  static const std::vector<std::vector<Job>> all = {
      {Job::make_and_sync, Job::sync, Job::sync},
      {Job::make_and_sync, Job::sync, Job::move},
      {Job::make_and_sync, Job::sync, Job::remove_in_vain},
      {Job::make_and_sync, Job::move, Job::remove_in_vain},
  };
  return all;
}

TEST(SyncInterleavings, NothingIsWrongWithOwnFiles) {
  std::size_t states = 0;
  for (const auto& scene : scenes()) {
    const Exploration done = explore(OwnFiles(scene, Mutation::none));
    std::cout << "campaign: own files of a volume: " << done << "\n";
    EXPECT_EQ(done.fault, "");
    EXPECT_GT(done.ends, 2U);
    states += done.states;
  }
  EXPECT_GT(states, 2'000U);
}

class SyncMutations : public testing::TestWithParam<Mutation> {};

TEST_P(SyncMutations, IsFound) {
  std::string faults;
  for (const auto& scene : scenes()) {
    faults += explore(OwnFiles(scene, GetParam())).fault;
  }
  std::cout << "mutation " << static_cast<int>(GetParam()) << ": " << faults.substr(0, 600) << "\n";
  EXPECT_NE(faults, "");
}
INSTANTIATE_TEST_SUITE_P(All, SyncMutations,
                         testing::Values(Mutation::syncs_without_syncing_mutex,
                                         Mutation::fails_once_only, Mutation::error_drops_it,
                                         Mutation::add_comes_before_the_write,
                                         Mutation::moves_without_sync,
                                         Mutation::takes_without_syncing_mutex,
                                         Mutation::puts_nothing_back));

// --- Files that are open.

enum class FileMutation : U8 {
  none,
  written_is_forgotten_after_the_sync,
  others_do_not_wait,
  closes_unsynced,
  close_tells_nobody,
  sync_of_all_tells_nobody,
  loss_is_told_once,
};

enum class FileJob : U8 { write_and_sync, write_and_close, sync_all };

struct FilesState {
  Data data[2];  // what each descriptor has written
  U8 is_open[2], is_written[2], is_being_synced[2];
  U8 noted[2];       // the pages whose write has ended
  U8 lost;           // WrittenFiles::lost_
  U8 lost_at_close;  // for this file
  U8 untold[2];      // File::untold_
  U8 is_reported;    // somebody was told of what was lost
  U8 losses;
  U8 told_too_much;
  struct Place {
    U8 at, which, writes;
    U8 in_sync;  // the pages that were dirty when its sync began
    U8 owed[2];  // pages of each file that must be on the disk when the sync succeeds
  } threads[3];
};

// The mutex of WrittenFiles is held between two syncs, so what happens there is one step.
class OpenFiles {
 public:
  using State = FilesState;

  OpenFiles(std::vector<FileJob> jobs, FileMutation mutation)
      : jobs_(std::move(jobs)), mutation_(mutation) {}

  [[nodiscard]] State start() const {
    State s = {};
    for (unsigned t = 0; t < jobs_.size(); ++t) {
      if (t < 2 && jobs_[t] != FileJob::sync_all) {
        s.is_open[t] = 1;
      }
    }
    return s;
  }
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(jobs_.size()) + 1; }
  [[nodiscard]] bool is_over(const State& s, unsigned t) const {
    return t == jobs_.size() || s.threads[t].at == over;
  }
  [[nodiscard]] const char* wrong(const State& s) const {
    return s.told_too_much != 0 ? "a sync has succeeded, and something is not on the disk"
                                : nullptr;
  }
  [[nodiscard]] const char* wrong_at_end(const State& s) const {
    for (unsigned file = 0; file < 2; ++file) {
      if (s.is_open[file] == 0 && s.data[file].is_there != 0 && !s.data[file].is_safe() &&
          s.lost == 0 && s.is_reported == 0) {
        return "lost at its end, and nobody will be told";
      }
    }
    return nullptr;
  }

  void step(State s, unsigned t, NextStates<State>& next) const {
    if (t == jobs_.size()) {
      return write_back(s, next);
    }
    State::Place& me = s.threads[t];
    switch (me.at) {
      case begins:
        if (jobs_[t] == FileJob::sync_all) {
          me.owed[0] = s.noted[0];
          me.owed[1] = s.noted[1];
          me.which = 0;
          me.at = waits;
          return next.add(s, "sync of all begins");
        }
        me.which = static_cast<U8>(t);
        s.data[t].write(static_cast<U8>(1U << me.writes));
        me.at = notes;
        return next.add(s, "writes");
      case notes:
        s.is_written[t] = 1;
        s.noted[t] = me.owed[t] = s.data[t].is_there;
        me.at = ++me.writes < 2 ? begins : waits;
        return next.add(s, "note_write");
      case waits:
        return begin_sync(s, t, next);
      case syncs:
        return end_sync(s, t, next);
      default:
        return;
    }
  }

 private:
  enum At : U8 { begins, notes, waits, syncs, over };

  [[nodiscard]] bool is(FileMutation mutation) const { return mutation_ == mutation; }
  void begin_sync(State s, unsigned t, NextStates<State>& next) const {
    State::Place& me = s.threads[t];
    const bool is_all = jobs_[t] == FileJob::sync_all;
    if (is_all && me.which == 2) {
      return answer(s, t, s.lost == 0, next);
    }
    const unsigned file = me.which;
    if (s.is_open[file] != 0 && s.is_being_synced[file] != 0 &&
        !is(FileMutation::others_do_not_wait)) {
      return;
    }
    if (is_all && (s.is_open[file] == 0 || s.is_written[file] == 0)) {
      ++me.which;
      return next.add(s, "sync of all: passes over a file");
    }
    if (jobs_[t] == FileJob::write_and_close &&
        (s.is_written[file] == 0 || is(FileMutation::closes_unsynced))) {
      s.is_open[file] = 0;
      me.at = over;
      return next.add(s, "closes");
    }
    s.is_being_synced[file] = 1;
    me.in_sync = s.data[file].dirty;
    if (!is(FileMutation::written_is_forgotten_after_the_sync)) {
      s.is_written[file] = 0;
    }
    me.at = syncs;
    next.add(s, "begins to sync a file");
  }

  void end_sync(const State& before, unsigned t, NextStates<State>& next) const {
    for (const bool is_lost : {false, true}) {
      State s = before;
      State::Place& me = s.threads[t];
      const unsigned file = me.which;
      Data& data = s.data[file];
      const auto due = static_cast<U8>(data.dirty & me.in_sync);
      if (is_lost && (due == 0 || s.losses >= most_losses)) {
        continue;
      }
      data.lost |= is_lost ? due : U8{0};
      data.dirty &= static_cast<U8>(~due);
      s.losses = static_cast<U8>(s.losses + (is_lost ? 1 : 0));
      const bool fails = is_lost || data.error_is_pending != 0;
      data.error_is_pending = 0;
      s.is_being_synced[file] = 0;
      if (is(FileMutation::written_is_forgotten_after_the_sync)) {
        s.is_written[file] = 0;
      }
      switch (jobs_[t]) {
        case FileJob::sync_all:  // WrittenFiles::sync
          if (fails) {
            s.lost = is(FileMutation::loss_is_told_once) ? 0 : 1;
            s.untold[file] = is(FileMutation::sync_of_all_tells_nobody) ? 0 : 1;
            me.at = is(FileMutation::loss_is_told_once) ? U8{over} : U8{waits};
          } else {
            me.at = waits;
          }
          ++me.which;
          next.add(s,
                   fails ? "sync of all: cannot write a file" : "sync of all: has synced a file");
          break;
        case FileJob::write_and_sync:  // File::sync
          if (fails) {
            s.lost = is(FileMutation::loss_is_told_once) ? 0 : 1;
            answer(s, t, false, next);
          } else {
            U8& lost = s.untold[file] != 0 ? s.untold[file] : s.lost_at_close;
            const bool is_told = lost != 0;
            lost = 0;
            answer(s, t, !is_told, next);
          }
          break;
        case FileJob::write_and_close:  // File::~File
          if (fails && !is(FileMutation::close_tells_nobody)) {
            s.lost = s.lost_at_close = 1;
          }
          s.is_open[file] = 0;
          me.at = over;
          next.add(s, "closes");
          break;
      }
    }
  }

  void answer(State s, unsigned t, bool has_succeeded, NextStates<State>& next) const {
    const U8* const owed = s.threads[t].owed;
    const bool is_safe = s.data[0].has(owed[0]) && s.data[1].has(owed[1]);
    s.told_too_much = has_succeeded && !is_safe ? 1 : s.told_too_much;
    s.is_reported = has_succeeded ? s.is_reported : 1;
    s.threads[t].at = over;
    next.add(s, has_succeeded ? "is told that it has succeeded" : "is told that it has failed");
  }

  void write_back(const State& s, NextStates<State>& next) const {
    for (unsigned file = 0; file < 2; ++file) {
      if (s.data[file].dirty == 0) {
        continue;
      }
      State done = s;
      done.data[file].dirty = 0;
      next.add(done, "is written back");
      if (s.losses < most_losses) {
        done.data[file].lost |= s.data[file].dirty;
        done.data[file].error_is_pending = 1;
        ++done.losses;
        next.add(done, "is lost");
      }
    }
  }

  std::vector<FileJob> jobs_;
  FileMutation mutation_;
};

const std::vector<std::vector<FileJob>>& file_scenes() {
  static const std::vector<std::vector<FileJob>> all = {
      {FileJob::write_and_sync, FileJob::write_and_close, FileJob::sync_all},
      {FileJob::write_and_sync, FileJob::write_and_sync, FileJob::sync_all},
      {FileJob::write_and_sync, FileJob::sync_all, FileJob::sync_all},
      {FileJob::write_and_close, FileJob::sync_all, FileJob::sync_all},
  };
  return all;
}

TEST(SyncInterleavings, NothingIsWrongWithOpenFiles) {
  for (const auto& scene : file_scenes()) {
    const Exploration done = explore(OpenFiles(scene, FileMutation::none));
    std::cout << "campaign: open files of a volume: " << done << "\n";
    EXPECT_EQ(done.fault, "");
    EXPECT_GT(done.ends, 2U);
  }
}

class FileMutations : public testing::TestWithParam<FileMutation> {};

TEST_P(FileMutations, IsFound) {
  std::string faults;
  for (const auto& scene : file_scenes()) {
    faults += explore(OpenFiles(scene, GetParam())).fault;
  }
  std::cout << "mutation " << static_cast<int>(GetParam()) << ": " << faults.substr(0, 600) << "\n";
  EXPECT_NE(faults, "");
}
INSTANTIATE_TEST_SUITE_P(All, FileMutations,
                         testing::Values(FileMutation::written_is_forgotten_after_the_sync,
                                         FileMutation::others_do_not_wait,
                                         FileMutation::closes_unsynced,
                                         FileMutation::close_tells_nobody,
                                         FileMutation::sync_of_all_tells_nobody,
                                         FileMutation::loss_is_told_once));

}  // namespace
}  // namespace paes::explore
