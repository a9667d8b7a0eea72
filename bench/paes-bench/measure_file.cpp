// SPDX-License-Identifier: Apache-2.0
// `paes-bench file`: what a user waits for. Whole programs, including paes, take turns on the same
// random file in the same folder.
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/decimal.hpp"
#include "cli/report.hpp"
#include "paes-bench/bench_commands.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/child.hpp"
#include "paes-bench/place.hpp"
#include "paes-bench/tools.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct MeasureFileCommand {
  std::uint64_t file_bytes = 0;  // 0: 2 GiB, or less if there is no room
  std::string folder;            // empty: memory (/dev/shm) if it has room, else TMPDIR or /tmp
  std::optional<std::vector<std::string>> against;  // age, openssl, gpg; unset: those installed
  unsigned runs = 5;
  unsigned threads = 0;  // for paes; 0: all
  std::string device = "auto";
  bool json = false;
};

constexpr std::uint64_t usual_file_bytes = std::uint64_t{2} << 30;
constexpr std::uint64_t least_file_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t small_file_bytes = 1024;
constexpr unsigned small_runs_factor = 5;  // start-up times are short and scatter

// One program, or several in a pipe, taking turns with others.
struct Entry {
  std::string name;
  std::vector<Child> pipe;
  std::string output;              // removed before each run; empty: none
  std::uint64_t output_bytes = 0;  // of the run whose output was checked byte by byte
  std::vector<ChildCost> costs = {};
};

struct Contest {
  std::string operation;
  std::uint64_t file_bytes;
  std::vector<Entry> entries;
};

// All contests over one file. Setting it up makes and checks the file's encrypted copies.
class FileContests {
 public:
  FileContests(const Tools& tools, const ScratchFolder& scratch, const std::string& name,
               std::uint64_t bytes)
      : tools_(tools), scratch_(scratch), file_(scratch.path(name)), bytes_(bytes) {
    write_random_file(file_, bytes);
    for (const Tool& tool : tools.ciphers()) {
      check_stream(tool);
    }
    for (const Tool& tool : tools.ciphers()) {
      run(Tools::child(tool.encrypt, file_, encrypted(tool)));
      run(Tools::child(tool.decrypt, encrypted(tool), out_));
      require_equal_files(out_, file_, tool.name);
      fs::remove(out_);
    }
  }

  ~FileContests() {
    std::error_code ignored;  // the scratch folder removes the rest
    (void)fs::remove(file_, ignored);
    for (const Tool& tool : tools_.ciphers()) {
      (void)fs::remove(encrypted(tool), ignored);
    }
  }
  FileContests(const FileContests&) = delete;
  FileContests& operator=(const FileContests&) = delete;

  [[nodiscard]] Contest encrypt() const {
    Contest contest{"encrypt", bytes_, {copy()}};
    for (const Tool& tool : tools_.ciphers()) {
      contest.entries.push_back({tool.name,
                                 {Tools::child(tool.encrypt, file_, out_)},
                                 out_,
                                 fs::file_size(encrypted(tool))});
    }
    return contest;
  }

  [[nodiscard]] Contest decrypt() const {
    Contest contest{"decrypt", bytes_, {copy()}};
    for (const Tool& tool : tools_.ciphers()) {
      contest.entries.push_back(
          {tool.name, {Tools::child(tool.decrypt, encrypted(tool), out_)}, out_, bytes_});
    }
    return contest;
  }

  [[nodiscard]] Contest verify() const {
    Contest contest{"verify", bytes_, {{"cat", {{{"cat", file_}}}, ""}}};
    for (const Tool& tool : tools_.ciphers()) {
      if (!tool.verify.empty()) {
        contest.entries.push_back(
            {tool.name, {Tools::child(tool.verify, encrypted(tool), "")}, ""});
      }
    }
    return contest;
  }

  [[nodiscard]] Contest encrypt_pipe() const {
    Contest contest{
        "encrypt-pipe", bytes_, {{"cat", {{{"cat", file_}}, {{"cat"}}, {{"cat"}}}, ""}}};
    for (const Tool& tool : tools_.ciphers()) {
      contest.entries.push_back(
          {tool.name, {{{"cat", file_}}, {tool.encrypt_stream}, {{"cat"}}}, ""});
    }
    return contest;
  }

 private:
  [[nodiscard]] std::string encrypted(const Tool& tool) const { return file_ + "." + tool.name; }

  [[nodiscard]] Entry copy() const { return {"cp", {{{"cp", file_, out_}}}, out_, bytes_}; }

  void run(const Child& program) const {
    (void)run_children({&program, 1}, scratch_.path("messages"));
  }

  void check_stream(const Tool& tool) const {
    const Child pipe[] = {{{"cat", file_}}, {tool.encrypt_stream, "", encrypted(tool)}};
    (void)run_children(pipe, scratch_.path("messages"));
    run(Tools::child(tool.decrypt, encrypted(tool), out_));
    require_equal_files(out_, file_, tool.name);
    fs::remove(out_);
    fs::remove(encrypted(tool));
  }

  const Tools& tools_;
  const ScratchFolder& scratch_;
  std::string file_;
  std::string out_ = scratch_.path("out");
  std::uint64_t bytes_;
};

void take_turns(Contest& contest, const ScratchFolder& scratch, unsigned runs) {
  for (unsigned round = 0; round < runs; ++round) {
    for (Entry& entry : contest.entries) {
      entry.costs.push_back(run_children(entry.pipe, scratch.path("messages")));
      if (entry.output.empty()) {
        continue;
      }
      if (fs::file_size(entry.output) != entry.output_bytes) {
        throw Error(ErrorCode::failure, entry.name + ": wrong output: its size changed");
      }
      fs::remove(entry.output);
    }
  }
}

std::vector<double> seconds_of(const Entry& entry) {
  std::vector<double> seconds;
  seconds.reserve(entry.costs.size());
  for (const ChildCost& cost : entry.costs) {
    seconds.push_back(cost.seconds);
  }
  return seconds;
}

struct Row {
  const Contest& contest;
  const Entry& entry;
  std::string command;
  double seconds;
  double gb_per_s;
  Ratio ratio;
  double cpu_seconds;
  std::uint64_t peak_memory_bytes;
};

std::vector<Row> summarize(const Contest& contest, const Tools& tools) {
  std::vector<Row> rows;
  const std::vector<double> first = seconds_of(contest.entries.front());
  for (const Entry& entry : contest.entries) {
    const std::vector<double> seconds = seconds_of(entry);
    std::vector<double> cpu_seconds;
    std::uint64_t peak = 0;
    for (const ChildCost& cost : entry.costs) {
      cpu_seconds.push_back(cost.cpu_seconds);
      peak = std::max(peak, cost.peak_memory);
    }
    const double typical = median(seconds);
    rows.push_back({contest, entry, tools.as_typed(entry.pipe), typical,
                    static_cast<double>(contest.file_bytes) / typical / 1e9,
                    rate_ratio(seconds, first), median(cpu_seconds), peak});
  }
  return rows;
}

ordered_json to_json(const Row& row) {
  return {{"operation", row.contest.operation},
          {"program", row.entry.name},
          {"command", row.command},
          {"bytes", row.contest.file_bytes},
          {"runs", row.entry.costs.size()},
          {"seconds_median", row.seconds},
          {"gb_per_s", row.gb_per_s},
          {"ratio_to_first", to_json(row.ratio)},
          {"cpu_seconds_median", row.cpu_seconds},
          {"peak_memory_bytes", row.peak_memory_bytes}};
}

// On Linux, a program's memory includes that of the process that started it.
std::string shown_memory(std::uint64_t peak_bytes) {
  struct rusage own = {};
  (void)getrusage(RUSAGE_SELF, &own);
  const bool is_own = peak_bytes <= static_cast<std::uint64_t>(own.ru_maxrss) * 1024;
  return (is_own ? "< " : "") + human_bytes(static_cast<double>(peak_bytes));
}

std::string to_text(const std::vector<Row>& rows) {
  const Contest& contest = rows.front().contest;
  double fastest = 0;
  for (const Row& row : rows) {
    fastest = std::max(fastest, row.gb_per_s);
  }
  const bool small = contest.file_bytes == small_file_bytes;
  std::string text = fmt::format("\n{}, {}, {} runs\n", contest.operation,
                                 exact_bytes(contest.file_bytes), rows.front().entry.costs.size());
  for (const Row& row : rows) {
    const std::string speed =
        small ? fmt::format("{:>9.2f} ms", row.seconds * 1e3)
              : fmt::format("{:>7.3f} s {:>6.2f} GB/s", row.seconds, row.gb_per_s);
    text += fmt::format("  {:<8} {}  {:>5.2f} x  cpu {:>6.3f} s  {:>11}  {}\n", row.entry.name,
                        speed, row.ratio.median, row.cpu_seconds,
                        shown_memory(row.peak_memory_bytes), bar(row.gb_per_s, fastest, 24));
  }
  for (const Row& row : rows) {
    text += "    " + row.command + "\n";
  }
  return text;
}

// The source, an encrypted copy by each program, one output, and a little more.
std::uint64_t needed_bytes(std::uint64_t file_bytes, std::size_t ciphers) {
  return file_bytes * (ciphers + 2) + file_bytes / 4 + least_file_bytes;
}

std::uint64_t choose_file_bytes(const MeasureFileCommand& command, const MeasuredPlace& place,
                                std::size_t ciphers) {
  std::uint64_t bytes = command.file_bytes != 0 ? command.file_bytes : usual_file_bytes;
  while (command.file_bytes == 0 && bytes > least_file_bytes &&
         needed_bytes(bytes, ciphers) > place.room_bytes) {
    bytes /= 2;
  }
  if (needed_bytes(bytes, ciphers) > place.room_bytes) {
    throw Error(ErrorCode::failure,
                fmt::format("{}: {} free, {} needed", place.folder,
                            human_bytes(static_cast<double>(place.room_bytes)),
                            human_bytes(static_cast<double>(needed_bytes(bytes, ciphers)))),
                "choose a smaller --size, another --dir, or fewer programs with --against");
  }
  return bytes;
}

ordered_json describe(const Tools& tools) {
  ordered_json programs = ordered_json::array();
  for (const Tool& tool : tools.ciphers()) {
    programs.push_back({{"name", tool.name}, {"version", tool.version}});
  }
  return programs;
}

int run(const MeasureFileCommand& command) {
  const std::vector<std::string> against = choose_tools(command.against);
  const MeasuredPlace place = find_place(command.folder);
  const std::uint64_t file_bytes = choose_file_bytes(command, place, against.size() + 1);
  const ScratchFolder scratch(place.folder);
  const Tools tools(scratch, against, command.threads, command.device);
  ordered_json results = ordered_json::array();
  const auto measure = [&](Contest contest, unsigned runs) {
    take_turns(contest, scratch, runs);
    const std::vector<Row> rows = summarize(contest, tools);
    if (!command.json) {
      print_result(to_text(rows));
    }
    for (const Row& row : rows) {
      results.push_back(to_json(row));
    }
  };
  if (!command.json) {
    print_result(machine_line() +
                 fmt::format("files in {} ({})\n", place.folder, place.filesystem));
  }
  {
    const FileContests small(tools, scratch, "small", small_file_bytes);
    measure(small.encrypt(), command.runs * small_runs_factor);
    measure(small.decrypt(), command.runs * small_runs_factor);
  }
  const FileContests large(tools, scratch, "file", file_bytes);
  measure(large.encrypt(), command.runs);
  measure(large.decrypt(), command.runs);
  measure(large.verify(), command.runs);
  measure(large.encrypt_pipe(), command.runs);
  if (command.json) {
    print_json({{"command", "bench file"},
                {"machine", describe_machine()},
                {"place", {{"folder", place.folder}, {"filesystem", place.filesystem}}},
                {"threads", command.threads},
                {"device", command.device},
                {"programs", describe(tools)},
                {"results", results}});
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureFileCommand>();
  takes_bytes(app.add_option(
      "--size", command->file_bytes,
      "bytes of the file, 500MB or 2GiB (the default, or less where there is no room)"));
  app.add_option("--dir", command->folder,
                 "where to work; the default is memory (/dev/shm) if it has room, else TMPDIR");
  app.add_option("--against", command->against,
                 "age, openssl, gpg; several with commas; the default is those installed")
      ->delimiter(',');
  app.add_option("--runs", command->runs, "runs of each program (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_option("-T,--threads", command->threads, "threads of paes; 0 is all, the default")
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_option("--device", command->device,
                 "who computes in paes: auto (the default), cpu, cuda, hybrid")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "hybrid"}));
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-file.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_file = {"file", "compare whole programs on a file", declare};

}  // namespace paes::cli
