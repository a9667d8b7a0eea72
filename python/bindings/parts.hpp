// SPDX-License-Identifier: Apache-2.0
// The functions with which each file of this folder adds its part to the module.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace paes::python {

// Raises the exception of this name in paes/errors.py, for errors without an ErrorCode.
[[noreturn]] void raise(const char* name, const std::string& message);

void add_errors(nanobind::module_& module);
void add_keys(nanobind::module_& module);
void add_files(nanobind::module_& module);
void add_ciphers(nanobind::module_& module);
void add_cobblestone(nanobind::module_& module);
void add_keystream(nanobind::module_& module);
void add_vault(nanobind::module_& module);

}  // namespace paes::python
