// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bind_bytes.hpp"
#include "interruptible.hpp"
#include "paes/vault.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

template <std::size_t size>
std::array<std::uint8_t, size> exactly(ReadArgument from, const char* name) {
  const Buffer buffer(from, name);
  if (buffer.size() != size) {
    throw Error(ErrorCode::usage, std::string(name) + " must be " + std::to_string(size) +
                                      " bytes, not " + std::to_string(buffer.size()));
  }
  std::array<std::uint8_t, size> bytes;
  std::copy(buffer.bytes().begin(), buffer.bytes().end(), bytes.begin());
  return bytes;
}

VaultFolderIv folder_iv_of(ReadArgument iv) {
  return exactly<std::tuple_size_v<VaultFolderIv>>(iv, "iv");
}
VaultFileHeader header_of(ReadArgument header) {
  return exactly<std::tuple_size_v<VaultFileHeader>>(header, "header");
}

// Names are bytes: a vault may hold some that are not UTF-8.
std::string_view text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }
template <typename Array>
nb::bytes bytes_of(const Array& array) {
  return nb::bytes(array.data(), array.size());
}

VaultKey open_vault(ReadArgument configuration, const Passphrase& passphrase,
                    unsigned max_work_factor, const std::string& kernel, const std::string& name) {
  const Buffer text(configuration, "configuration");
  std::optional<VaultKey> key;
  run_interruptibly(nb::none(), [&](const Cancel& cancel, Progress& /*progress*/) {
    key = VaultKey::open(
        text.bytes(), passphrase,
        {.max_work_factor = max_work_factor, .kernel = kernel, .name = name, .cancel = &cancel});
  });
  return std::move(*key);
}

VaultKey with_master_key(ReadArgument configuration, ReadArgument master_key,
                         const std::string& kernel, const std::string& name) {
  return VaultKey::with_master_key(Buffer(configuration, "configuration").bytes(),
                                   Buffer(master_key, "master_key").bytes(),
                                   {.kernel = kernel, .name = name});
}

const char* kind_of(const VaultKey& key, const nb::bytes& stored, bool is_in_root) {
  switch (key.kind_of(text_of(stored), is_in_root)) {
    case VaultEntryKind::name:
      return "name";
    case VaultEntryKind::long_name:
      return "long_name";
    case VaultEntryKind::long_name_file:
      return "long_name_file";
    case VaultEntryKind::folder_iv:
      return "folder_iv";
    case VaultEntryKind::configuration:
      return "configuration";
    case VaultEntryKind::unfinished:
      break;
  }
  return "unfinished";
}

nb::bytes open_blocks(const VaultKey& key, ReadArgument header, std::uint64_t first_block,
                      ReadArgument sealed, const std::string& name) {
  const VaultFileHeader id = header_of(header);
  const Buffer blocks(sealed, "sealed");
  NewBytes text(key.opened_bytes(blocks.size()));
  without_gil(blocks.size(),
              [&] { key.open_blocks(id, first_block, blocks.bytes(), text.span(), name); });
  const std::size_t bytes = text.span().size();
  return std::move(text).take(bytes);
}

nb::bytes seal_blocks(const VaultKey& key, ReadArgument header, std::uint64_t first_block,
                      ReadArgument text) {
  const VaultFileHeader id = header_of(header);
  const Buffer plain(text, "text");
  NewBytes sealed(key.sealed_bytes(plain.size()));
  without_gil(plain.size(),
              [&] { key.seal_blocks(id, first_block, plain.bytes(), sealed.span()); });
  const std::size_t bytes = sealed.span().size();
  return std::move(sealed).take(bytes);
}

}  // namespace

void add_vault(nb::module_& module) {
  nb::class_<VaultKey>(module, "VaultKey",
                       "The keys of a vault (gocryptfs's format, version 2), in locked memory. It "
                       "encrypts and decrypts names and blocks, and knows of no files.")
      .def_static("open", &open_vault, nb::arg("configuration"), nb::arg("passphrase"),
                  nb::kw_only(), nb::arg("max_work_factor") = 20, nb::arg("kernel") = "auto",
                  nb::arg("name") = "gocryptfs.conf",
                  "Opens the text of a gocryptfs.conf. Raises WrongKeyError, CorruptError, "
                  "UsageError, and FailureError for what paes does not read and for a passphrase "
                  "that would cost more than scrypt with N = 2**max_work_factor.")
      .def_static(
          "with_master_key", &with_master_key, nb::arg("configuration"), nb::arg("master_key"),
          nb::kw_only(), nb::arg("kernel") = "auto", nb::arg("name") = "gocryptfs.conf",
          "Takes the master key, 32 bytes. Nothing tells whether it is this vault's, but no "
          "block opens under another.")
      .def_prop_ro("has_plain_names", &VaultKey::has_plain_names,
                   "Whether names are not encrypted.")
      .def_prop_ro("has_folder_ivs", &VaultKey::has_folder_ivs,
                   "Whether each folder has its IV in gocryptfs.diriv. Otherwise it is all zeros.")
      .def("kind_of", &kind_of, nb::arg("stored"), nb::arg("is_in_root"),
           "What something stored is: \"name\", \"long_name\", \"long_name_file\", \"folder_iv\", "
           "\"configuration\" or \"unfinished\".")
      .def(
          "stored_name",
          [](const VaultKey& self, const nb::bytes& name, ReadArgument iv, bool is_in_root) {
            const VaultName stored = self.stored_name(text_of(name), folder_iv_of(iv), is_in_root);
            return std::pair(bytes_of(stored.stored), bytes_of(stored.encoded));
          },
          nb::arg("name"), nb::arg("iv"), nb::arg("is_in_root"),
          "The stored name, and of a long name what the file beside it holds. Raises UsageError "
          "for what is no name.")
      .def(
          "name_of",
          [](const VaultKey& self, const nb::bytes& stored, ReadArgument iv) {
            return bytes_of(self.name_of(text_of(stored), folder_iv_of(iv)));
          },
          nb::arg("stored"), nb::arg("iv"), "The name. Raises CorruptError if it is damaged.")
      .def(
          "name_of_long",
          [](const VaultKey& self, const nb::bytes& stored, const nb::bytes& encoded,
             ReadArgument iv) {
            return bytes_of(self.name_of_long(text_of(stored), text_of(encoded), folder_iv_of(iv)));
          },
          nb::arg("stored"), nb::arg("encoded"), nb::arg("iv"),
          "The long name. Raises CorruptError if what the file beside it holds is damaged, or "
          "belongs to another name.")
      .def_static(
          "new_folder_iv", [] { return bytes_of(VaultKey::new_folder_iv()); },
          "A random IV for a new folder.")
      .def(
          "new_unfinished_name",
          [](const VaultKey& self) { return bytes_of(self.new_unfinished_name()); },
          "A name that is shown nowhere, for what gets its own once it is complete.")
      .def("text_bytes", &VaultKey::text_bytes, nb::arg("stored_bytes"),
           "The length of the text in a file of this length.")
      .def("stored_bytes", &VaultKey::stored_bytes, nb::arg("text_bytes"),
           "The length of the file for a text of this length.")
      .def("block_offset", &VaultKey::block_offset, nb::arg("block"),
           "Where a block begins in its file.")
      .def("open_blocks", &open_blocks, nb::arg("header"), nb::arg("first_block"),
           nb::arg("sealed"), nb::arg("name") = "file",
           "The text of consecutive blocks, of which only a file's last may be short. Raises "
           "CorruptError, and returns no text, unless all are authentic.")
      .def_static(
          "new_header", [] { return bytes_of(VaultKey::new_header()); }, "A header for a new file.")
      .def("seal_blocks", &seal_blocks, nb::arg("header"), nb::arg("first_block"), nb::arg("text"),
           "The blocks of a text, each under a new random IV. Only the file's last may be short.");
}

}  // namespace paes::python
