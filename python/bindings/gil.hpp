// Giving up the GIL and taking it, in any thread and also while the interpreter ends. Until 3.14,
// Python ends a thread that asks for the GIL then by unwinding its stack (pthread_exit), which C++
// answers with std::terminate. Here such a thread stops where it is until the process has ended,
// as in later versions of Python.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace paes::python {

namespace nb = nanobind;

[[noreturn]] inline void stop_this_thread() noexcept {
  for (;;) {
    (void)pause();
  }
}

// For calls of Python's that may take the GIL, and nothing of C++ between them and here.
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

// The GIL in this scope, whether or not the thread has it or knows Python.
class Held {
 public:
  Held() : state_(take()) {}
  ~Held() { PyGILState_Release(state_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  static PyGILState_STATE take() {
    // A thread without a state of its own would make one in an interpreter that is gone.
    if (PyGILState_Check() == 0 && Py_IsInitialized() == 0) {
      stop_this_thread();
    }
    return or_stop([] { return PyGILState_Ensure(); });
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
