// SPDX-License-Identifier: Apache-2.0
// paes._paes: the public headers of libpaes for Python. The package's other modules use it, and
// contain everything that can be written in Python.
#include <openssl/crypto.h>
#include <pthread.h>

#include "gil.hpp"
#include "parts.hpp"

NB_MODULE(_paes, module) {
  module.doc() = "libpaes for Python. Import paes instead.";
  // A program that ends with objects in circles, or in the middle of a thread, has no bug.
  nanobind::set_leak_warnings(false);
  // Python does not wait for daemon threads, so one may be in here while the process exits, and
  // libcrypto must not free its tables then. It obeys only its first user: in a program that shares
  // it with Python's ssl and has imported that before, the tables are freed.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  paes::python::GilRequest::begin();
  // Python clears its modules when nobody else gets the GIL any more, and before it goes away.
  static const char interpreter = 0;
  module.attr("_end") =
      nanobind::capsule(&interpreter, [](void*) noexcept { paes::python::GilRequest::end(); });
  // If the system refuses this, a child only waits a second at its end.
  (void)pthread_atfork(nullptr, nullptr, [] { paes::python::GilRequest::begin_in_child(); });
  paes::python::add_errors(module);
  paes::python::add_keys(module);
  paes::python::add_files(module);
  paes::python::add_ciphers(module);
  paes::python::add_cobblestone(module);
  paes::python::add_keystream(module);
  paes::python::add_vault(module);
}
