// SPDX-License-Identifier: Apache-2.0
// What a mount should do, in memory: names, bytes and targets of links. Left out are modes, owners,
// times, extended attributes, where holes lie, what others change beside the mount, and what is
// asked of a folder that has no name any more.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

namespace paes::fuzz {

struct Item;
using SharedItem = std::shared_ptr<Item>;

struct Item {
  mode_t type = S_IFREG;
  std::string bytes;  // a file's text, or a link's target
  std::map<std::string, SharedItem> entries;
  unsigned names = 0;
  // It has lost one of several names. If that was the only one that the mount has told of, the node
  // is to be looked up anew.
  bool may_be_stale = false;

  [[nodiscard]] bool is_folder() const { return S_ISDIR(type); }
  [[nodiscard]] SharedItem at(const std::string& name) const {
    const auto found = entries.find(name);
    return found == entries.end() ? nullptr : found->second;
  }
  [[nodiscard]] bool contains(const SharedItem& item) const {
    return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
      return entry.second == item || entry.second->contains(item);
    });
  }
  void resize(std::size_t length) { bytes.resize(length, '\0'); }
  void put(std::size_t offset, const std::string& text) {
    resize(std::max(bytes.size(), offset + text.size()));
    bytes.replace(offset, text.size(), text);
  }
  [[nodiscard]] std::string part(std::size_t offset, std::size_t length) const {
    return offset < bytes.size() ? bytes.substr(offset, length) : std::string();
  }
};

// What an answer's error has to be: a number of errno.h, 0 for success, or one of these.
constexpr int any_error = -1;
constexpr int anything = -2;
constexpr int stale_or_done = -3;

inline bool is_as_expected(int error, int expected) {
  return expected == anything || error == expected || (expected == any_error && error != 0) ||
         (expected == stale_or_done && (error == 0 || error == ESTALE));
}

// What a request about a file that is not open has to answer.
inline int for_node(const Item& item) {
  return item.names == 0 ? anything : item.may_be_stale ? stale_or_done : 0;
}

// Changes of names. Each says what the answer has to be, and has to be called with `is_done` once
// the answer is known to be that it was done.
class Model {
 public:
  Model() {
    root->type = S_IFDIR;
    root->names = 1;
  }

  // What a request about a name in a folder has to answer, unless something is wrong with neither.
  static int for_name(const Item& folder, const std::string& name) {
    if (!folder.is_folder() || folder.names == 0) {
      return any_error;
    }
    return name.size() > NAME_MAX ? ENAMETOOLONG : 0;
  }

  static int for_new(const Item& folder, const std::string& name) {
    const int expected = for_name(folder, name);
    return expected != 0 ? expected : folder.at(name) != nullptr ? EEXIST : 0;
  }
  static int for_link(const Item& item, const Item& folder, const std::string& name) {
    const int expected = for_new(folder, name);
    if (item.is_folder() || item.names == 0) {
      return any_error;
    }
    return expected != 0 && item.may_be_stale ? any_error
           : expected != 0                    ? expected
                                              : for_node(item);
  }
  static void add(Item& folder, const std::string& name, const SharedItem& item) {
    folder.entries[name] = item;
    ++item->names;
  }

  static int for_removal(const Item& folder, const std::string& name, bool is_folder) {
    if (const int expected = for_name(folder, name); expected != 0) {
      return expected;
    }
    const SharedItem found = folder.at(name);
    if (found == nullptr) {
      return ENOENT;
    }
    if (found->is_folder() != is_folder) {
      return is_folder ? ENOTDIR : EISDIR;
    }
    return found->entries.empty() ? 0 : ENOTEMPTY;
  }
  static void remove(Item& folder, const std::string& name) {
    const SharedItem item = folder.at(name);
    folder.entries.erase(name);
    --item->names;
    item->may_be_stale = item->names != 0;
  }

  static int for_rename(const SharedItem& from, const std::string& name, const SharedItem& to,
                        const std::string& to_name, unsigned flags) {
    if (const int expected = for_name(*from, name); expected != 0) {
      return for_name(*to, to_name) == any_error ? any_error : expected;
    }
    if (const int expected = for_name(*to, to_name); expected != 0) {
      return expected;
    }
    const SharedItem moved = from->at(name);
    const SharedItem replaced = to->at(to_name);
    if (moved == nullptr || (replaced == nullptr && (flags & RENAME_EXCHANGE) != 0)) {
      return ENOENT;
    }
    if (moved == to || moved->contains(to) || replaced == from ||
        (replaced != nullptr && replaced->contains(from))) {
      return any_error;  // within itself, or not empty
    }
    if (replaced == nullptr || (flags & RENAME_EXCHANGE) != 0) {
      return 0;
    }
    if ((flags & RENAME_NOREPLACE) != 0) {
      return EEXIST;
    }
    if (moved == replaced) {
      return 0;
    }
    if (moved->is_folder() != replaced->is_folder()) {
      return moved->is_folder() ? ENOTDIR : EISDIR;
    }
    return replaced->entries.empty() ? 0 : ENOTEMPTY;
  }
  static void rename(Item& from, const std::string& name, Item& to, const std::string& to_name,
                     unsigned flags) {
    const SharedItem moved = from.at(name);
    const SharedItem replaced = to.at(to_name);
    if (moved == replaced) {
      return;
    }
    from.entries.erase(name);
    if (replaced != nullptr && (flags & RENAME_EXCHANGE) != 0) {
      from.entries[name] = replaced;
    } else if (replaced != nullptr) {
      remove(to, to_name);
    }
    to.entries[to_name] = moved;
  }

  const SharedItem root = std::make_shared<Item>();
};

}  // namespace paes::fuzz
