#include "paes/abandoned.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "paes/report.hpp"
#include "stream/temporary.hpp"

namespace paes::cli {

void warn_of_abandoned(const stream::Output& output) {
  static std::set<std::string> looked_into;
  const std::string folder = output.folder();
  if (folder.empty() || !looked_into.insert(folder).second) {
    return;
  }
  stream::Abandoned found = stream::find_abandoned(folder);
  std::vector<std::string>& files = found.files;
  std::erase(files, std::filesystem::path(output.temporary_path()).filename());
  if (files.empty()) {
    return;
  }
  constexpr std::size_t most = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), most); ++i) {
    names += (i == 0 ? "" : ", ") + files[i];
  }
  if (files.size() > most) {
    names += " and " + std::to_string(files.size() - most) + " more";
  }
  print_warning(folder + ": a run that was killed left " + names);
  print_hint(std::string("delete them, for they may hold decrypted text") +
             (found.may_be_in_use ? ", unless another run is still writing them" : ""));
}

}  // namespace paes::cli
