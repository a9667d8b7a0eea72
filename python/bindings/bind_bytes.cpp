// SPDX-License-Identifier: Apache-2.0
#include "bind_bytes.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "paes/error.hpp"

namespace paes::python {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw nb::type_error(what.c_str()); }

}  // namespace

std::string PathArgument::path() const {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &encoded) == 0) {
    nb::raise_python_error();
  }
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  return {bytes.c_str(), bytes.size()};
}

Buffer::Buffer(nb::handle object, int flags, const char* name) {
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) == 0) {
    return;
  }
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0 &&
      PyErr_ExceptionMatches(PyExc_BufferError) == 0) {
    nb::raise_python_error();  // a buffer that was released or closed
  }
  PyErr_Clear();
  const std::string type = nb::cast<std::string>(nb::str(object.type().attr("__name__")));
  if (nb::hasattr(object, "__cuda_array_interface__")) {
    refuse(std::string(name) + ": a " + type +
           " lies on a GPU; give a copy in the host's memory, such as numpy.asarray(x.get()) or "
           "x.cpu().numpy()");
  }
  if (PyObject_CheckBuffer(object.ptr()) != 0) {
    refuse(std::string(name) + ": a " + type +
           ((flags & PyBUF_WRITABLE) != 0 ? " cannot be written, or is not contiguous"
                                          : " is not contiguous"));
  }
  refuse(std::string(name) + ": a bytes-like object is required, not " + type);
}

NewBytes::NewBytes(std::size_t size)
    : object_(nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))) {
  if (!object_.is_valid()) {
    nb::raise_python_error();
  }
}

std::span<std::uint8_t> NewBytes::span() const noexcept {
  return {reinterpret_cast<std::uint8_t*>(PyBytes_AsString(object_.ptr())),
          static_cast<std::size_t>(PyBytes_Size(object_.ptr()))};
}

nb::bytes NewBytes::take(std::size_t size) && {
  const auto wanted = static_cast<Py_ssize_t>(size);
  if (PyBytes_Size(object_.ptr()) == wanted) {
    return nb::steal<nb::bytes>(object_.release());
  }
#ifdef Py_LIMITED_API
  // The stable ABI has no function that shortens one.
  PyObject* const taken = PyBytes_FromStringAndSize(PyBytes_AsString(object_.ptr()), wanted);
#else
  PyObject* taken = object_.release().ptr();
  (void)_PyBytes_Resize(&taken, wanted);  // null after a failure
#endif
  if (taken == nullptr) {
    nb::raise_python_error();
  }
  return nb::steal<nb::bytes>(taken);
}

nb::bytes random_key(std::size_t size) {
  return nb::cast<nb::bytes>(nb::module_::import_("secrets").attr("token_bytes")(size));
}

Turn::Turn(std::atomic_flag& taken) : taken_(taken) {
  if (taken_.test_and_set()) {
    throw Error(ErrorCode::usage, "the object is in use by another call",
                "give each thread one of its own");
  }
}

void check_room(std::size_t room, std::size_t needed) {
  if (room < needed) {
    throw Error(ErrorCode::usage, "buffer must be at least " + std::to_string(needed) +
                                      " bytes long, not " + std::to_string(room));
  }
}

std::span<std::uint8_t> exact_room(const WritableBuffer& buffer, std::size_t bytes) {
  if (buffer.size() != bytes) {
    throw Error(ErrorCode::usage, "buffer must be " + std::to_string(bytes) + " bytes long, not " +
                                      std::to_string(buffer.size()));
  }
  return buffer.span();
}

bool overlap(std::span<const std::uint8_t> in, std::span<const std::uint8_t> out) {
  return !in.empty() && !out.empty() && in.data() < out.data() + out.size() &&
         out.data() < in.data() + in.size();
}

void check_overlap(std::span<const std::uint8_t> in, std::span<const std::uint8_t> out) {
  if (in.data() != out.data() && overlap(in, out)) {
    throw Error(ErrorCode::usage, "buffer: shares a part of the memory of data",
                "give both the same first byte, or memory of their own");
  }
}

}  // namespace paes::python
