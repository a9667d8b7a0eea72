// SPDX-License-Identifier: Apache-2.0
// A system that refuses some of its calls: a seccomp filter on a separate thread.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "paes/error.hpp"

namespace paes {

// Runs `fn` where the system calls of these numbers fail with `error`, or, if that is 0, report
// success and do nothing. Returns what `fn` threw, or "".
inline std::string run_without(std::initializer_list<long> calls, int error,
                               const std::function<void()>& fn) {
  std::string thrown;
  std::thread thread([&] {
    std::vector<sock_filter> steps = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long number : calls) {
      steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(number), 0, 1));
      steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<__u32>(error)));
    }
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program = {static_cast<unsigned short>(steps.size()), steps.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      thrown = "no seccomp filter: " + std::string(std::strerror(errno));
      return;
    }
    try {
      fn();
    } catch (const Error& refusal) {
      thrown = refusal.what();
    }
  });
  thread.join();
  return thrown;
}

}  // namespace paes
