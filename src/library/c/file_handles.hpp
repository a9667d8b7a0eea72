// SPDX-License-Identifier: Apache-2.0
// The handles of paes/file.h, and options as the C++ classes take them.
#pragma once

#include <memory>

#include "library/c/calls.hpp"
#include "paes/cancel.hpp"
#include "paes/file.h"
#include "paes/file.hpp"
#include "paes/keys.hpp"

struct paes_identity : paes::Identity {};
struct paes_seal_for : paes::SealFor {};
struct paes_open_with : paes::OpenWith {};
struct paes_source : paes::FileSource {};

struct paes_cancel {
  std::shared_ptr<paes::Cancel> cancel;
};

// The C++ classes expect that whoever made them keeps the Cancel.
struct paes_reader {
  std::shared_ptr<paes::Cancel> cancel;
  paes::Reader reader;
};
struct paes_writer {
  std::shared_ptr<paes::Cancel> cancel;
  paes::Writer writer;
};

namespace paes::c {

[[nodiscard]] FileOptions options_of(const paes_file_options* options);
// Null if there is none.
[[nodiscard]] std::shared_ptr<Cancel> cancel_of(const paes_file_options* options) noexcept;

}  // namespace paes::c
