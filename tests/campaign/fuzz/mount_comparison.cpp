// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mount_comparison.hpp"

#include <linux/falloc.h>

namespace paes::fuzz {

namespace {

constexpr std::uint32_t usual_mask = 022;

std::string text_of(const Buffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Comparison::step() {
  switch (decisions_.number(20)) {
    case 0:
      return lookup();
    case 1:
    case 2:
      return create();
    case 3:
    case 4:
      return make();
    case 5:
      return link();
    case 6:
      return remove();
    case 7:
    case 8:
      return rename();
    case 9:
      return open_file();
    case 10:
      return read();
    case 11:
    case 12:
      return write();
    case 13:
      return set_length();
    case 14:
      return get_attributes();
    case 15:
      return allocate();
    case 16:
      return copy();
    case 17:
      return release();
    case 18:
      return forget();
    default:
      return do_something_else();
  }
}

// ---- names

void Comparison::lookup() {
  const std::uint64_t number = any_folder();
  const SharedItem folder = items_.at(number);
  const std::string wanted = name();
  const SharedItem item = folder->at(wanted);
  Answer answer = driver_.ask(FUSE_LOOKUP, number, Body().name(wanted));
  if (answer.error == 0 && answer.as<fuse_entry_out>().nodeid == 0) {
    answer.error = ENOENT;  // and the system may believe that for a while
  }
  const int expected = Model::for_name(*folder, wanted);
  require(is_as_expected(answer.error, expected != 0     ? expected
                                       : item == nullptr ? ENOENT
                                                         : 0),
          "what is found is what the model has");
  if (answer.error == 0) {
    check_entry(answer, item);
  }
}

void Comparison::create() {
  const std::uint64_t number = any_folder();
  const SharedItem folder = items_.at(number);
  const std::string wanted = name();
  const std::uint8_t choice = decisions_.byte();
  const int access = choice % 4 == 0 ? O_RDONLY : choice % 4 == 1 ? O_WRONLY : O_RDWR;
  fuse_create_in in{};
  in.flags = static_cast<std::uint32_t>(O_CREAT | access | ((choice & 4) != 0 ? O_EXCL : 0));
  in.mode = S_IFREG | 0644;
  in.umask = usual_mask;
  int expected = Model::for_new(*folder, wanted);
  SharedItem item = std::make_shared<Item>();
  const bool is_there = expected == EEXIST;
  if (is_there && (in.flags & O_EXCL) == 0) {
    item = folder->at(wanted);  // the system has seen the name before others have made it
    expected = S_ISREG(item->type) ? 0 : ESTALE;
  }
  const Answer answer = ask(FUSE_CREATE, number, Body().add(in).name(wanted), expected);
  if (answer.error == 0) {
    if (!is_there) {
      Model::add(*folder, wanted, item);
    }
    check_entry(answer, item);
    note_opened(answer, sizeof(fuse_entry_out), item, !is_there || access != O_RDONLY);
  }
}

// A folder, an empty file or a symbolic link.
void Comparison::make() {
  const std::uint64_t number = any_folder();
  const SharedItem folder = items_.at(number);
  const std::string wanted = name();
  const SharedItem item = std::make_shared<Item>();
  Body body;
  std::uint32_t opcode = FUSE_MKDIR;
  switch (decisions_.number(3)) {
    case 0:
      item->type = S_IFDIR;
      body.add(fuse_mkdir_in{0755, usual_mask}).name(wanted);
      break;
    case 1:
      opcode = FUSE_MKNOD;
      body.add(fuse_mknod_in{S_IFREG | 0644, 0, usual_mask, 0}).name(wanted);
      break;
    default:
      opcode = FUSE_SYMLINK;
      item->type = S_IFLNK;
      item->bytes = name();
      body.name(wanted).name(item->bytes);
  }
  const Answer answer = ask(opcode, number, body, Model::for_new(*folder, wanted));
  if (answer.error == 0) {
    Model::add(*folder, wanted, item);
    check_entry(answer, item);
  }
}

void Comparison::link() {
  const std::uint64_t number = any_folder();
  const std::uint64_t of = any_node();
  const SharedItem folder = items_.at(number);
  const SharedItem item = items_.at(of);
  const std::string wanted = name();
  const Answer answer = ask(FUSE_LINK, number, Body().add(fuse_link_in{of}).name(wanted),
                            Model::for_link(*item, *folder, wanted));
  if (answer.error == 0) {
    Model::add(*folder, wanted, item);
    check_entry(answer, item);
  }
}

void Comparison::remove() {
  const std::uint64_t number = any_folder();
  const SharedItem folder = items_.at(number);
  const std::string wanted = name();
  const bool is_folder = decisions_.one_in(2);
  const Answer answer = ask(is_folder ? FUSE_RMDIR : FUSE_UNLINK, number, Body().name(wanted),
                            Model::for_removal(*folder, wanted, is_folder));
  if (answer.error == 0) {
    Model::remove(*folder, wanted);
  }
}

void Comparison::rename() {
  const std::uint64_t number = any_folder();
  const std::uint64_t to_number = any_folder();
  const SharedItem from = items_.at(number);
  const SharedItem to = items_.at(to_number);
  const std::string wanted = name();
  const std::string to_name = name();
  const auto flags = static_cast<std::uint32_t>(decisions_.number(3));
  const Body body =
      flags == 0 ? Body().add(fuse_rename_in{to_number}).name(wanted).name(to_name)
                 : Body().add(fuse_rename2_in{to_number, flags, 0}).name(wanted).name(to_name);
  const Answer answer = ask(flags == 0 ? FUSE_RENAME : FUSE_RENAME2, number, body,
                            Model::for_rename(from, wanted, to, to_name, flags));
  if (answer.error == 0) {
    Model::rename(*from, wanted, *to, to_name, flags);
  }
}

// ---- files

void Comparison::open_file() {
  const std::uint64_t number = any_node();
  const SharedItem item = items_.at(number);
  const bool can_write = decisions_.one_in(2);
  fuse_open_in in{};
  in.flags = can_write ? O_RDWR : O_RDONLY;
  const Answer answer =
      ask(FUSE_OPEN, number, Body().add(in), S_ISREG(item->type) ? for_node(*item) : any_error);
  if (answer.error == 0) {
    note_opened(answer, 0, item, can_write);
  }
}

void Comparison::check_text(std::uint64_t handle, const Item& item, std::size_t from,
                            std::size_t bytes) {
  fuse_read_in in{};
  in.fh = handle;
  in.offset = from;
  in.size = static_cast<std::uint32_t>(bytes);
  const Answer answer = ask(FUSE_READ, FUSE_ROOT_ID, Body().add(in), 0);
  require(text_of(answer.body) == item.part(from, bytes), "a text is the model's");
}

void Comparison::read() {
  if (const OpenFile* const file = any_file()) {
    const std::size_t from = offset();
    check_text(file->handle, *file->item, from, length());
  }
}

void Comparison::write() {
  const OpenFile* const file = any_file();
  if (file == nullptr) {
    return;
  }
  fuse_write_in in{};
  in.fh = file->handle;
  in.offset = offset();
  in.size = static_cast<std::uint32_t>(length());
  const std::uint8_t seed = decisions_.byte();
  in.write_flags = (seed & 1) != 0 ? FUSE_WRITE_KILL_SUIDGID : 0;
  // The system holds back only what somebody may write.
  in.write_flags |= file->can_write && (seed & 2) != 0 ? FUSE_WRITE_CACHE : 0;
  std::string text(in.size, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(seed + i * 7 + i / 251);
  }
  const Answer answer = ask(FUSE_WRITE, FUSE_ROOT_ID, Body().add(in).add(text.data(), text.size()),
                            file->can_write ? 0 : any_error);
  if (answer.error == 0) {
    require(answer.as<fuse_write_out>().size == text.size(), "everything is written");
    text.back() = static_cast<char>(is_planted("model") ? ~text.back() : text.back());
    file->item->put(in.offset, text);
  }
}

void Comparison::set_length() {
  std::uint64_t number = any_node();
  const SharedItem item = items_.at(number);
  fuse_setattr_in in{};
  in.valid = FATTR_SIZE;
  in.size = offset();
  int expected = S_ISREG(item->type) ? for_node(*item) : any_error;
  const bool has_handle = decisions_.one_in(2);
  if (const OpenFile* const file = has_handle ? any_file() : nullptr;
      file != nullptr && file->item == item) {
    in.valid |= FATTR_FH;
    in.fh = file->handle;
    expected = file->can_write ? 0 : expected;
  }
  const Answer answer = ask(FUSE_SETATTR, number, Body().add(in), expected);
  if (answer.error == 0) {
    item->resize(in.size);
    check_attributes(answer.as<fuse_attr_out>().attr, *item);
  }
}

void Comparison::get_attributes() {
  const std::uint64_t number = any_node();
  const SharedItem item = items_.at(number);
  fuse_getattr_in in{};
  int expected = for_node(*item);
  const bool has_handle = decisions_.one_in(2);
  if (const OpenFile* const file = has_handle ? any_file() : nullptr;
      file != nullptr && file->item == item) {
    in.getattr_flags = FUSE_GETATTR_FH;
    in.fh = file->handle;
    expected = 0;
  }
  const Answer answer = ask(FUSE_GETATTR, number, Body().add(in), expected);
  if (answer.error == 0) {
    check_attributes(answer.as<fuse_attr_out>().attr, *item);
  }
}

void Comparison::allocate() {
  const OpenFile* const file = any_file();
  if (file == nullptr) {
    return;
  }
  static constexpr std::uint32_t modes[] = {
      0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE,
      FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE};
  fuse_fallocate_in in{};
  in.fh = file->handle;
  in.mode = modes[decisions_.number(std::size(modes))];
  in.offset = offset();
  in.length = length();
  const bool zeros = (in.mode & (FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE)) != 0;
  // Not every file system in memory knows ranges of zeros.
  const bool is_sure = file->can_write && (in.mode & FALLOC_FL_ZERO_RANGE) == 0;
  const Answer answer = ask(FUSE_FALLOCATE, FUSE_ROOT_ID, Body().add(in), is_sure ? 0 : anything);
  if (answer.error != 0) {
    return;
  }
  Item& item = *file->item;
  const std::size_t end = in.offset + in.length;
  if ((in.mode & FALLOC_FL_KEEP_SIZE) == 0) {
    item.resize(std::max(item.bytes.size(), end));
  }
  if (zeros && in.offset < item.bytes.size()) {
    item.put(in.offset, std::string(std::min(end, item.bytes.size()) - in.offset, '\0'));
  }
}

void Comparison::copy() {
  const OpenFile* const from = any_file();
  const OpenFile* const to = any_file();
  if (from == nullptr) {
    return;
  }
  fuse_copy_file_range_in in{};
  in.fh_in = from->handle;
  in.nodeid_out = FUSE_ROOT_ID;
  in.fh_out = to->handle;
  in.off_in = offset();
  in.off_out = offset();
  in.len = length();
  const bool overlaps =
      from->item == to->item && in.off_in < in.off_out + in.len && in.off_out < in.off_in + in.len;
  const std::string text = from->item->part(in.off_in, in.len);
  const Answer answer = ask(FUSE_COPY_FILE_RANGE, FUSE_ROOT_ID, Body().add(in),
                            overlaps                        ? EINVAL
                            : to->can_write || text.empty() ? 0
                                                            : any_error);
  if (answer.error == 0) {
    require(answer.as<fuse_write_out>().size == text.size(), "all that there is is copied");
    if (!text.empty()) {
      to->item->put(in.off_out, text);
    }
  }
}

void Comparison::release() {
  if (const OpenFile* const file = any_file()) {
    driver_.release(FUSE_RELEASE, file->handle);
    files_.erase(files_.begin() + (file - files_.data()));
  }
}

// ---- others

void Comparison::forget() {
  const std::uint64_t number = any_node();
  const SharedItem item = items_.at(number);
  // The system forgets a file after it has closed it, and a folder after all that it knows in it.
  const auto is_inside = [&](const auto& known) {
    return std::any_of(item->entries.begin(), item->entries.end(),
                       [&](const auto& entry) { return entry.second == known.second; });
  };
  const auto is_it = [&](const OpenFile& file) { return file.item == item; };
  if (number == FUSE_ROOT_ID || std::any_of(files_.begin(), files_.end(), is_it) ||
      std::any_of(items_.begin(), items_.end(), is_inside)) {
    return;
  }
  driver_.forget(number, 1 + decisions_.number(4));
  if (std::none_of(driver_.nodes.begin(), driver_.nodes.end(),
                   [&](const KnownNode& one) { return one.number == number; })) {
    items_.erase(number);
  }
}

// What the model does not know of, or what changes nothing in it.
void Comparison::do_something_else() {
  const std::uint64_t number = any_node();
  const SharedItem item = items_.at(number);
  const OpenFile* const file = any_file();
  switch (decisions_.number(8)) {
    case 0:
      driver_.ask(FUSE_STATFS, number, {});
      return;
    case 1: {
      const Answer answer =
          ask(FUSE_READLINK, number, {}, S_ISLNK(item->type) ? for_node(*item) : any_error);
      require(answer.error != 0 || text_of(answer.body) == item->bytes, "a target is the model's");
      return;
    }
    case 2: {
      const bool has_attributes = decisions_.one_in(2);
      const std::uint64_t folder = any_folder();
      if (items_.at(folder)->names != 0) {
        check_list(folder, *items_.at(folder), has_attributes);
      }
      return;
    }
    case 3:
      if (file != nullptr) {
        fuse_fsync_in in{};
        in.fh = file->handle;
        ask(FUSE_FSYNC, number, Body().add(in), 0);
      }
      return;
    case 4: {
      const std::string value = name();
      driver_.ask(FUSE_SETXATTR, number,
                  Body()
                      .add(static_cast<std::uint32_t>(value.size()))
                      .add(std::uint32_t{0})
                      .name("user." + name().substr(0, 16))
                      .add(value.data(), value.size()));
      return;
    }
    case 5:
      driver_.ask(FUSE_GETXATTR, number,
                  Body().add(fuse_getxattr_in{300, 0}).name("user." + name().substr(0, 16)));
      return;
    case 6:
      driver_.ask(FUSE_LISTXATTR, number, Body().add(fuse_getxattr_in{300, 0}));
      return;
    default:
      if (file != nullptr) {
        fuse_lseek_in in{};
        in.fh = file->handle;
        in.offset = offset();
        in.whence = decisions_.one_in(2) ? SEEK_DATA : SEEK_HOLE;
        driver_.ask(FUSE_LSEEK, number, Body().add(in));
      }
  }
}

// ---- everything

std::vector<ListedEntry> Comparison::check_list(std::uint64_t number, const Item& item,
                                                bool has_attributes) {
  const Answer opened = ask(FUSE_OPENDIR, number, Body().add(fuse_open_in{}), 0);
  fuse_read_in in{};
  in.fh = opened.as<fuse_open_out>().fh;
  in.size = 16'384;
  const Answer answer =
      ask(has_attributes ? FUSE_READDIRPLUS : FUSE_READDIR, number, Body().add(in), 0);
  driver_.release(FUSE_RELEASEDIR, in.fh);
  std::vector<ListedEntry> entries = Driver::entries_of(answer.body, has_attributes);
  std::erase_if(entries,
                [](const ListedEntry& entry) { return entry.name == "." || entry.name == ".."; });
  require(entries.size() == item.entries.size(), "a folder has as many names as the model");
  for (const ListedEntry& entry : entries) {
    const SharedItem listed = item.at(entry.name);
    require(listed != nullptr, "a folder's names are the model's");
    if (entry.node != 0) {
      SharedItem& known = items_[entry.node];
      require(known == nullptr || known == listed, "a node stays what it was");
      known = listed;
    }
  }
  return entries;
}

void Comparison::check_folder(std::uint64_t number) {
  const SharedItem folder = items_.at(number);
  check_list(number, *folder, false);
  for (const auto& [entry_name, item] : folder->entries) {
    const Answer found = ask(FUSE_LOOKUP, number, Body().name(entry_name), 0);
    const std::uint64_t node = check_entry(found, item);
    if (item->is_folder()) {
      check_folder(node);
    } else if (S_ISLNK(item->type)) {
      require(text_of(ask(FUSE_READLINK, node, {}, 0).body) == item->bytes,
              "a target is the model's");
    } else {
      const Answer opened = ask(FUSE_OPEN, node, Body().add(fuse_open_in{O_RDONLY, 0}), 0);
      const std::uint64_t handle = opened.as<fuse_open_out>().fh;
      check_text(handle, *item, 0, item->bytes.size() + 1);
      driver_.release(FUSE_RELEASE, handle);
    }
  }
}

}  // namespace paes::fuzz
