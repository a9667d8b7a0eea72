// SPDX-License-Identifier: Apache-2.0
// A mount beside its model: each request is decided by the input, and its answer is the model's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/mount_driver.hpp"
#include "fuzz/mount_model.hpp"

namespace paes::fuzz {

class Comparison {
 public:
  Comparison(Driver& driver, Model& model, Decisions& decisions)
      : driver_(driver), decisions_(decisions) {
    items_[FUSE_ROOT_ID] = model.root;
  }

  void step();
  // All that the mount shows is what the model has, and the other way round.
  void check_all() { check_folder(FUSE_ROOT_ID); }

 private:
  struct OpenFile {
    std::uint64_t handle;
    SharedItem item;
    bool can_write;
  };

  // ---- what the input decides

  std::string name() {
    static const std::string names[] = {"a",
                                        "b",
                                        "c",
                                        " d\xc3\xa4",
                                        "gocryptfs.diriv",
                                        std::string(200, 'l'),
                                        std::string(255, 'm'),
                                        std::string(256, 'n')};
    return names[decisions_.number(std::size(names))];
  }
  std::uint64_t any_node() { return driver_.node_at(decisions_.byte()); }
  // A folder, as far as the system knows.
  std::uint64_t any_folder() {
    std::vector<std::uint64_t> folders;
    for (const auto& [number, item] : items_) {
      if (item->is_folder()) {
        folders.push_back(number);
      }
    }
    // In the order in which they were given: numbers are addresses.
    std::sort(folders.begin(), folders.end(),
              [&](std::uint64_t a, std::uint64_t b) { return place_of(a) < place_of(b); });
    return folders[decisions_.byte() % folders.size()];
  }
  [[nodiscard]] std::size_t place_of(std::uint64_t number) const {
    std::size_t at = 0;
    while (at <= driver_.nodes.size() && driver_.node_at(at) != number) {
      ++at;
    }
    return at;
  }
  std::size_t offset() { return decisions_.number(20'000); }
  std::size_t length() { return 1 + decisions_.number(9'000); }
  const OpenFile* any_file() {
    return files_.empty() ? nullptr : &files_[decisions_.byte() % files_.size()];
  }

  // ---- what is compared

  Answer ask(std::uint32_t opcode, std::uint64_t node, const Body& body, int expected) {
    Answer answer = driver_.ask(opcode, node, body);
    if (!is_as_expected(answer.error, expected)) {
      std::fprintf(stderr, "request %u: error %d, and the model says %d\n", opcode, answer.error,
                   expected);
    }
    require(is_as_expected(answer.error, expected), "an answer's error is the model's");
    return answer;
  }
  static void check_attributes(const fuse_attr& attributes, const Item& item) {
    require((attributes.mode & S_IFMT) == item.type, "a node's type is the model's");
    require(item.is_folder() || attributes.size == item.bytes.size(), "a length is the model's");
    require(item.is_folder() || attributes.nlink == item.names,
            "the number of names is the model's");
  }
  // A node that the mount tells of is that of the item.
  std::uint64_t check_entry(const Answer& answer, const SharedItem& item) {
    const auto entry = answer.as<fuse_entry_out>();
    require(entry.nodeid != 0, "what is there has a node");
    check_attributes(entry.attr, *item);
    SharedItem& known = items_[entry.nodeid];
    require(known == nullptr || known == item, "a node stays what it was");
    known = item;
    return entry.nodeid;
  }
  void note_opened(const Answer& answer, std::size_t at, const SharedItem& item, bool can_write) {
    fuse_open_out opened{};
    std::memcpy(&opened, answer.body.data() + at, sizeof opened);
    files_.push_back({opened.fh, item, can_write});
  }

  void lookup();
  void create();
  void make();
  void link();
  void remove();
  void rename();
  void open_file();
  void read();
  void write();
  void set_length();
  void get_attributes();
  void allocate();
  void copy();
  void release();
  void forget();
  void do_something_else();
  void check_folder(std::uint64_t number);
  std::vector<ListedEntry> check_list(std::uint64_t number, const Item& item, bool has_attributes);
  void check_text(std::uint64_t handle, const Item& item, std::size_t from, std::size_t bytes);

  Driver& driver_;
  Decisions& decisions_;
  std::map<std::uint64_t, SharedItem> items_;  // of the nodes that the system knows
  std::vector<OpenFile> files_;
};

}  // namespace paes::fuzz
