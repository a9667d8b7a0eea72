// SPDX-License-Identifier: Apache-2.0
// Prints all that a volume holds, as src/volume reads it, for tests that compare it with what
// another program shows. list_volume DIR < MASTER_KEY_IN_HEX: a JSON array with an object for each
// name. Names, targets and values are in hexadecimal, because they need not be UTF-8.
#include <dirent.h>
#include <fcntl.h>

#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "crypto/libcrypto.hpp"
#include "hex.hpp"
#include "kernel/registry.hpp"
#include "stream/file/small_file.hpp"
#include "vault/configuration.hpp"
#include "volume/read/attributes.hpp"
#include "volume/read/link.hpp"
#include "volume/read/volume_file.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::volume {
namespace {

using nlohmann::json;

std::string hex_of(Bytes bytes) { return test::to_hex(bytes); }
std::string hex_of(std::string_view text) { return test::to_hex(libcrypto::bytes_of(text)); }

class Lister {
 public:
  explicit Lister(const Volume& volume) : volume_(volume) {}

  void enter(FolderRef parent, const std::string& stored, const std::string& path) {
    const Result<Folder> folder = Folder::open(volume_, parent, stored.c_str(), path);
    if (!folder) {
      fail(path, folder.error());
      return;
    }
    add(path, "folder")["attributes"] = attributes(folder->descriptor(), path);
    const Result<void> listed = folder->list(path, [&](const FolderEntry& entry) {
      const std::string inner = path_of(path, entry.name);
      switch (entry.type) {
        case DT_DIR:
          enter(folder->descriptor(), entry.stored, inner);
          break;
        case DT_REG:
          list_file(folder->descriptor(), entry.stored, inner);
          break;
        case DT_LNK:
          list_link(folder->descriptor(), entry.stored, inner);
          break;
        default:
          add(inner, "other");
      }
    });
    if (!listed) {
      fail(path, listed.error());
    }
  }

  json all = json::array();

 private:
  json& add(const std::string& path, const char* type) {
    all.push_back({{"path", hex_of(path)}, {"type", type}});
    return all.back();
  }
  void fail(const std::string& path, Errno error) { add(path, "error")["error"] = error.number(); }

  json attributes(FileRef file, const std::string& path) {
    json found = json::object();
    const Result<std::vector<std::string>> names = list_attributes(volume_, file, path);
    if (!names) {
      fail(path, names.error());
      return found;
    }
    for (const std::string& name : *names) {
      const auto value = read_attribute(volume_, file, name, path);
      if (value) {
        found[hex_of(name)] = hex_of(*value);
      } else {
        fail(path, value.error());
      }
    }
    return found;
  }

  void list_link(FolderRef parent, const std::string& stored, const std::string& path) {
    const Result<struct stat> status = volume_.backing().status({parent, stored.c_str()});
    const Result<std::string> target = read_link(volume_, {parent, stored.c_str()}, path);
    if (!status || !target) {
      fail(path, status ? target.error() : status.error());
      return;
    }
    json& entry = add(path, "link");
    entry["size"] = length_of(volume_, *status, {parent, stored.c_str()});
    entry["target"] = hex_of(*target);
  }

  void list_file(FolderRef parent, const std::string& stored, const std::string& path) {
    Result<Descriptor> opened = volume_.backing().open(parent, stored.c_str(), O_RDONLY);
    if (!opened) {
      fail(path, opened.error());
      return;
    }
    const File file(volume_, std::move(*opened));
    const Result<struct stat> status = volume_.backing().status(file.descriptor());
    std::vector<std::uint8_t> text;
    for (std::size_t read = 0;; text.resize(read)) {
      text.resize(read + odd_bytes);
      const Result<std::size_t> bytes =
          file.read(read, MutableBytes(text).subspan(read, odd_bytes), path);
      if (!bytes) {
        fail(path, bytes.error());
        return;
      }
      if (*bytes == 0) {
        text.resize(read);
        break;
      }
      read += *bytes;
    }
    std::array<std::uint8_t, libcrypto::sha256_bytes> hash;
    libcrypto::sha256(text, hash);
    json& entry = add(path, "file");
    entry["size"] = length_of(volume_, *status, file.descriptor());
    entry["read"] = text.size();
    entry["sha256"] = hex_of(Bytes(hash));
    entry["attributes"] = attributes(file.descriptor(), path);
  }

  static constexpr std::size_t odd_bytes = 10'001;  // reads begin and end anywhere in blocks
  const Volume& volume_;
};

}  // namespace
}  // namespace paes::volume

int main(int argc, char** argv) try {
  using namespace paes;
  std::string digits;
  if (argc != 2 || !(std::cin >> digits)) {
    std::cerr << "usage: list_volume DIR < MASTER_KEY_IN_HEX\n";
    return 2;
  }
  const std::string folder = argv[1];
  const SecretBytes text =
      stream::read_small_file(folder + "/gocryptfs.conf", vault::max_configuration_bytes, nullptr);
  const volume::Volume vault(Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                             vault::parse_configuration(text, folder).features,
                             vault::MasterKey(test::from_hex(digits)), best_kernel(Cipher::aes),
                             std::make_unique<volume::Backing>(),
                             [](const volume::Finding& finding) {
                               std::cerr << finding.path << ": " << finding.what << "\n";
                             });
  volume::Lister lister(vault);
  lister.enter(vault.root(), "", "");
  std::cout << lister.all << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
