// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_report.hpp"

namespace paes::bench {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}
std::string number(std::size_t value) { return std::to_string(value); }
std::string number(unsigned value) { return std::to_string(value); }

// Members of an object, in order.
class Object {
 public:
  Object& text(const char* name, const std::string& value) { return raw(name, quoted(value)); }
  template <class Number>
  Object& value(const char* name, Number value) {
    return raw(name, number(value));
  }
  Object& raw(const char* name, const std::string& value) {
    members_ += (members_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
  [[nodiscard]] std::string str() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

template <class Rows, class Print>
std::string array(const Rows& rows, const Print& print) {
  std::string out;
  for (const auto& row : rows) {
    out += (out.empty() ? "\n      " : ",\n      ") + print(row);
  }
  return "[" + out + "\n    ]";
}

std::string as_json(const ResidentRow& row) {
  Object object;
  object.text("cipher", row.cipher)
      .text("direction", row.direction)
      .text("kernel", row.kernel)
      .text("way", row.way)
      .value("bytes", row.bytes)
      .value("repetitions", row.repetitions)
      .value("seconds_median", row.seconds_median)
      .value("gb_per_s", row.gb_per_s());
  if (row.limit) {
    object.raw("limit", Object()
                            .text("of", row.limit->of)
                            .value("per_block", row.limit->per_block)
                            .value("gb_per_s", row.limit->gb_per_s)
                            .value("percent", 100 * row.gb_per_s() / row.limit->gb_per_s)
                            .str());
  }
  return object.str();
}

std::string as_json(const HostRow& row, const CopyRates& copies) {
  return Object()
      .text("cipher", row.cipher)
      .text("kernel", row.kernel)
      .text("way", row.way)
      .value("slots", row.slots)
      .value("piece_bytes", row.piece_bytes)
      .value("threads", row.threads)
      .value("bytes", row.bytes)
      .value("repetitions", row.repetitions)
      .value("seconds_median", row.seconds_median)
      .value("gb_per_s", row.gb_per_s())
      .value("percent_of_copies", 100 * row.gb_per_s() / copies.both)
      .str();
}

std::string as_json(const Measurement& row) {
  Object of;
  for (const auto& [name, value] : row.of) {
    of.raw(name.c_str(), value);
  }
  return Object()
      .raw("of", of.str())
      .text("quantity", row.quantity)
      .text("unit", row.unit)
      .value("median", row.median)
      .value("min", row.least)
      .value("max", row.most)
      .value("rounds", row.rounds)
      .str();
}

std::string as_json(const Study& study) {
  Object object;
  object.value("seconds", study.seconds);
  if (study.others) {
    object.value("others", *study.others);
  }
  return object
      .raw("measurements",
           array(study.measurements, [](const Measurement& row) { return as_json(row); }))
      .raw("left_out",
           array(study.left_out,
                 [](const auto& row) {
                   return Object().text("what", row.first).text("why", row.second).str();
                 }))
      .str();
}

}  // namespace

void write_json(const Report& report, std::FILE* file) {
  const CopyRates copies = report.copies.value_or(CopyRates{});
  const std::string device = Object()
                                 .text("name", report.device)
                                 .text("architecture", report.architecture)
                                 .raw("emulated", report.is_emulated ? "true" : "false")
                                 .value("multiprocessors", report.multiprocessors)
                                 .value("clock_hz", report.clock_hz)
                                 .value("memory_bytes", report.memory_bytes)
                                 .value("shared_bytes", report.shared_bytes)
                                 .value("driver", static_cast<unsigned>(report.driver))
                                 .value("toolkit", static_cast<unsigned>(report.toolkit))
                                 .str();
  const std::string processor =
      Object().text("name", report.processor).value("threads", report.threads).str();
  const std::string rates = Object()
                                .value("in_gb_per_s", copies.in)
                                .value("out_gb_per_s", copies.out)
                                .value("both_gb_per_s", copies.both)
                                .str();
  std::fprintf(file, "{\n    \"device\": %s,\n    \"processor\": %s,\n    \"resident\": %s,\n",
               device.c_str(), processor.c_str(),
               array(report.resident, [](const ResidentRow& row) { return as_json(row); }).c_str());
  std::fprintf(
      file, "    \"copies\": %s,\n    \"host\": %s,\n", report.copies ? rates.c_str() : "null",
      array(report.host, [&](const HostRow& row) { return as_json(row, copies); }).c_str());
  Object studies;
  for (const Study& study : report.studies) {
    studies.raw(study.experiment.c_str(), as_json(study));
  }
  std::fprintf(file, "    \"studies\": %s,\n", studies.str().c_str());
  std::fprintf(file, "    \"left_out\": %s,\n    \"failures\": %u\n  }\n",
               array(report.left_out, quoted).c_str(), report.failures);
}

void print(const ResidentRow& row) {
  std::printf("%-13s %-8s %-8s %-19s %8.1f GB/s", row.cipher.c_str(), row.direction.c_str(),
              row.way.c_str(), row.kernel.c_str(), row.gb_per_s());
  if (row.limit) {
    std::printf(", %5.1f %% of %.0f (%.0f %s a block)", 100 * row.gb_per_s() / row.limit->gb_per_s,
                row.limit->gb_per_s, row.limit->per_block, row.limit->of);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print(const HostRow& row, const CopyRates& copies) {
  std::printf("%-13s %-10s %-19s", row.cipher.c_str(), row.way.c_str(), row.kernel.c_str());
  if (row.slots != 0) {
    std::printf(" %u slots of %2zu MiB", row.slots, row.piece_bytes >> 20);
  }
  std::printf(" %2u threads %8.2f GB/s, %5.1f %% of the copies\n", row.threads, row.gb_per_s(),
              100 * row.gb_per_s() / copies.both);
  std::fflush(stdout);
}

}  // namespace paes::bench
