// SPDX-License-Identifier: Apache-2.0
// Gives up the GIL and takes it, in any thread and also while the interpreter ends. Before 3.14,
// Python ends a thread that then asks for the GIL by unwinding its stack (pthread_exit), and C++
// answers that with std::terminate. Here such a thread stops where it is until the process has
// ended, as in later versions of Python.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace paes::python {

namespace nb = nanobind;

[[noreturn]] inline void stop_this_thread() noexcept {
  for (;;) {
    (void)pause();
  }
}

// For calls of Python that may take the GIL. Between here and the call there must be nothing of C++
// that may not be unwound.
template <typename Call>
auto or_stop(const Call& call) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    stop_this_thread();
  }
}

// Gives up the GIL until the end of its scope.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    or_stop([this] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// While it lives, its thread may ask for the GIL. A thread must not ask once the interpreter is
// gone, and Python itself gives no sign of that in time. So the interpreter's end waits for those
// who ask, and stops whoever comes later.
class GilRequest {
 public:
  GilRequest() noexcept {
    ++askers;
    if (is_over.load() && !ends_here) {
      --askers;
      stop_this_thread();
    }
  }
  ~GilRequest() { --askers; }
  GilRequest(const GilRequest&) = delete;
  GilRequest& operator=(const GilRequest&) = delete;

  // In a forked child nobody asks: it has none of its parent's other threads.
  static void begin_in_child() noexcept { askers.store(0); }

  // If the interpreter goes away, this thread does it, with the GIL. Those who have asked already
  // are stopped when they get it.
  static void end() noexcept {
    if (!is_ending()) {
      return;  // somebody has removed the module
    }
    ends_here = true;
    is_over.store(true);
    const GilReleased released;
    constexpr std::chrono::milliseconds step(1);
    for (int steps = 0; askers.load() != 0 && steps < 1000; ++steps) {
      std::this_thread::sleep_for(step);
    }
  }

 private:
  static bool is_ending() noexcept {
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }

  static inline std::atomic<int> askers{0};
  static inline std::atomic<bool> is_over{false};
  static inline thread_local bool ends_here = false;
};

// Takes the GIL until the end of its scope, whether or not the thread has it or is known to Python.
class GilHeld {
 public:
  GilHeld() : state_(take()) {}
  ~GilHeld() { PyGILState_Release(state_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  static PyGILState_STATE take() {
    return or_stop([] {
      const GilRequest asking;
      return PyGILState_Ensure();
    });
  }

  PyGILState_STATE state_;
};

// Calls a Python object, with the GIL held.
template <typename... Arguments>
nb::object call_python(nb::handle callable, Arguments&&... arguments) {
  const nb::tuple given = nb::make_tuple(std::forward<Arguments>(arguments)...);
  nb::object result =
      nb::steal(or_stop([&] { return PyObject_CallObject(callable.ptr(), given.ptr()); }));
  if (!result.is_valid()) {
    nb::raise_python_error();
  }
  return result;
}

}  // namespace paes::python
