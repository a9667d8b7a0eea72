// SPDX-License-Identifier: Apache-2.0
// Gives up the GIL and takes it, in any thread and also while the interpreter ends. Before 3.14,
// Python ends a thread that then asks for the GIL (pthread_exit), which unwinds the stack of C++ or
// ends the process. Here such a thread stops where it is until the process has ended, as in later
// versions of Python.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ended_thread.h"

namespace paes::python {

namespace nb = nanobind;

[[noreturn]] inline void stop_this_thread() noexcept {
  for (;;) {
    (void)pause();
  }
}

// For calls of Python that may take the GIL. What is called must have no objects with destructors.
// A thread that Python ends in there calls `last`, and then stops.
template <typename Call, typename Last>
void or_stop(Call call, Last last) {
  paes_call_or_stop([](void* given) { (*static_cast<Call*>(given))(); }, &call,
                    [](void* given) {
                      (*static_cast<Last*>(given))();
                      stop_this_thread();
                    },
                    &last);
}
template <typename Call>
void or_stop(Call call) {
  or_stop(call, [] {});
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
      stop_asking();
      stop_this_thread();
    }
  }
  ~GilRequest() { stop_asking(); }
  GilRequest(const GilRequest&) = delete;
  GilRequest& operator=(const GilRequest&) = delete;

  // For a thread that stops while it asks.
  static void stop_asking() noexcept { --askers; }

  // Call it before anything else here.
  static void begin() {
    is_finalizing = nb::object(nb::module_::import_("sys").attr("is_finalizing")).release().ptr();
  }

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
  // The stable ABI has no function of C for it before 3.13.
  static bool is_ending() noexcept {
    PyObject* answer = PyObject_CallNoArgs(is_finalizing);
    if (answer == nullptr) {
      PyErr_Clear();
      return true;
    }
    const bool is = answer == Py_True;
    Py_DECREF(answer);
    return is;
  }

  static inline PyObject* is_finalizing = nullptr;  // sys.is_finalizing, ours for good
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
    const GilRequest asking;
    PyGILState_STATE state = PyGILState_UNLOCKED;
    or_stop([&state] { state = PyGILState_Ensure(); }, [] { GilRequest::stop_asking(); });
    return state;
  }

  PyGILState_STATE state_;
};

// Calls a Python object, with the GIL held.
template <typename... Arguments>
nb::object call_python(nb::handle callable, Arguments&&... arguments) {
  const nb::tuple given = nb::make_tuple(std::forward<Arguments>(arguments)...);
  PyObject* returned = nullptr;
  or_stop([&] { returned = PyObject_CallObject(callable.ptr(), given.ptr()); });
  nb::object result = nb::steal(returned);
  if (!result.is_valid()) {
    nb::raise_python_error();
  }
  return result;
}

}  // namespace paes::python
