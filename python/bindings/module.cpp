// paes._paes: the public headers of libpaes for Python. The package's other modules are its users;
// what Python can say as well is said there.
#include "parts.hpp"

NB_MODULE(_paes, module) {
  module.doc() = "libpaes for Python. Import paes instead.";
  // A program that ends with objects in circles, or in the middle of a thread, has no bug.
  nanobind::set_leak_warnings(false);
  paes::python::add_errors(module);
  paes::python::add_keys(module);
  paes::python::add_files(module);
  paes::python::add_ciphers(module);
  paes::python::add_cobblestone(module);
  paes::python::add_keystream(module);
}
