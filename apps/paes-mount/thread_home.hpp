// SPDX-License-Identifier: Apache-2.0
// Where a thread runs that answers what is asked on one processor. If it runs there, too, the
// system need not wake another processor for each request and each answer, which takes longer than
// most requests themselves. Large ones are better answered elsewhere, while whoever asks goes on.
#pragma once

#include <sched.h>

namespace paes::mount {

class ThreadHome {
 public:
  // In the thread itself, which runs there from now on, if it may.
  void settle(unsigned processor) noexcept;
  // The thread has received a request. It stays where it is for a few small requests more, because
  // to move takes time.
  void note_request(bool is_large) noexcept;

 private:
  void go(const cpu_set_t& processors, bool is_home) noexcept;

  cpu_set_t anywhere_{};
  cpu_set_t home_{};
  bool has_home_ = false;
  bool is_home_ = false;
  unsigned small_requests_ = 0;  // without a large one since
};

}  // namespace paes::mount
