// SPDX-License-Identifier: Apache-2.0
// Giving up the GIL and taking it, in any thread and also while the interpreter ends. Until 3.14,
// Python ends a thread that asks for the GIL then by unwinding its stack (pthread_exit), which C++
// answers with std::terminate. Here such a thread stops where it is until the process has ended,
// as in later versions of Python.
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

// For calls of Python's that may take the GIL, and between them and here nothing of C++ that may
// not be unwound.
template <typename Call>
auto or_stop(const Call& call) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    stop_this_thread();
  }
}

// No GIL in this scope.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released() {
    or_stop([this] { PyEval_RestoreThread(state_); });
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// A thread asks for the GIL. It must not do so once the interpreter is gone, of which Python itself
// gives no sign that could not be outrun: so the interpreter's end waits for those who ask, and
// whoever comes later is stopped.
class Asking {
 public:
  Asking() noexcept {
    ++askers;
    if (is_over.load() && !ends_here) {
      --askers;
      stop_this_thread();
    }
  }
  ~Asking() { --askers; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  // In a forked child nobody asks: it has none of its parent's other threads.
  static void begin_in_child() noexcept { askers.store(0); }

  // If the interpreter goes away, that is in this thread, which has the GIL. Those who ask already
  // are stopped when they get it.
  static void end() noexcept {
    if (!is_ending()) {
      return;  // somebody has thrown the module away
    }
    ends_here = true;
    is_over.store(true);
    const Released released;
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

// The GIL in this scope, whether or not the thread has it or knows Python.
class Held {
 public:
  Held() : state_(take()) {}
  ~Held() { PyGILState_Release(state_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  static PyGILState_STATE take() {
    return or_stop([] {
      const Asking asking;
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
