// SPDX-License-Identifier: Apache-2.0
// What every measurement reports besides its figures: the machine. Also shows figures as bars.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "paes-bench/statistics.hpp"

namespace paes::cli {

// How many processors this process may run on, as the executors count them.
[[nodiscard]] unsigned usable_cores();

// {cpu, cores, features, memory_bytes, os, compiler, flags, libcrypto, paes, commit, date}.
[[nodiscard]] nlohmann::ordered_json describe_machine();
[[nodiscard]] std::string machine_line();

[[nodiscard]] nlohmann::ordered_json to_json(const Ratio& ratio);

// `value` as a bar in eighths of a character; a bar of `full` fills `width`.
[[nodiscard]] std::string bar(double value, double full, std::size_t width);

// "16 KiB", "1 MiB", "1000 B": binary units where they fit exactly.
[[nodiscard]] std::string exact_bytes(std::uint64_t bytes);

}  // namespace paes::cli
