// SPDX-License-Identifier: Apache-2.0
// paes::Error as the exceptions of paes/errors.py.
#include <nanobind/stl/string.h>

#include <exception>

#include "paes/error.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace paes::python {

namespace {

const char* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return "UsageError";
    case ErrorCode::corrupt:
      return "CorruptError";
    case ErrorCode::wrong_key:
      return "WrongKeyError";
    case ErrorCode::failure:
      return "FailureError";
  }
  return "Error";
}

// Leaves the exception with the interpreter, or another one that was raised on the way to it.
void set(const char* name, const std::string& message, const std::string& hint) {
  try {
    const nb::object type = nb::module_::import_("paes.errors").attr(name);
    PyErr_SetObject(type.ptr(), type(message, hint).ptr());
  } catch (nb::python_error& instead) {
    instead.restore();
  }
}

}  // namespace

void raise(const char* name, const std::string& message) {
  set(name, message, "");
  nb::raise_python_error();
}

void add_errors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set(class_of(error.code), error.what(), error.hint);
    }
  });
}

}  // namespace paes::python
