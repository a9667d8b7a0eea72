#include "bytes.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "paes/error.hpp"

namespace paes::python {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw nb::type_error(what.c_str()); }

}  // namespace

Buffer::Buffer(nb::handle object, int flags, const char* name) {
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) == 0) {
    return;
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
  PyObject* taken = object_.release().ptr();
  if (static_cast<std::size_t>(PyBytes_Size(taken)) != size &&
      _PyBytes_Resize(&taken, static_cast<Py_ssize_t>(size)) != 0) {
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

bool overlap(std::span<const std::uint8_t> in, std::span<const std::uint8_t> out) {
  return in.data() < out.data() + out.size() && out.data() < in.data() + in.size();
}

}  // namespace paes::python
