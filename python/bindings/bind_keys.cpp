// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind_bytes.hpp"
#include "interruptible.hpp"
#include "paes/keys.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

// No call for a file holds the GIL: the file may be a pipe that another Python thread writes, and
// an encrypted one takes a second of key derivation.
std::vector<Recipient> load_recipients(const PathArgument& file) {
  const std::string path = file.path();
  const GilReleased released;
  return Recipient::load(path);
}

std::vector<Identity> load_identities(const PathArgument& file, const Passphrase* passphrase) {
  const std::string path = file.path();
  if (passphrase == nullptr) {
    const GilReleased released;
    return Identity::load(path);
  }
  std::vector<Identity> loaded;
  run_interruptibly(nb::none(), [&](const Cancel& cancel, Progress& /*progress*/) {
    loaded = Identity::load(path, *passphrase, &cancel);
  });
  return loaded;
}

Passphrase load_passphrase(const PathArgument& file) {
  const std::string path = file.path();
  const GilReleased released;
  return Passphrase::load(path);
}

void save(const Identity& identity, const PathArgument& file) {
  const std::string path = file.path();
  const GilReleased released;
  identity.save(path);
}

}  // namespace

void add_keys(nb::module_& module) {
  nb::class_<Recipient>(module, "Recipient",
                        "A public key: \"age1...\", \"ssh-ed25519 AAAA...\" or \"ssh-rsa AAAA...\" "
                        "(age-encryption.org/v1).")
      .def(nb::init<std::string_view>(), nb::arg("text"), "Raises UsageError for anything else.")
      .def_static(
          "load", &load_recipients, nb::arg("path"),
          "The recipients in a file, one a line. Raises UsageError for what is none, FailureError "
          "if the file cannot be read.")
      .def("__str__", &Recipient::text)
      .def("__repr__",
           [](const Recipient& self) {
             const std::string text = self.text();
             return text.empty() ? "<Recipient that only its plugin knows>"
                                 : "Recipient('" + text + "')";
           })
      .def(
          "__eq__",
          [](const Recipient& self, nb::handle other) {
            return nb::isinstance<Recipient>(other) && nb::cast<const Recipient&>(other) == self;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Recipient& self) { return nb::hash(nb::cast(self.text())); });

  nb::class_<Passphrase>(module, "Passphrase", "A passphrase, in locked memory.")
      .def(nb::init<std::string_view>(), nb::arg("text"), "Raises UsageError for an empty one.")
      .def_static("load", &load_passphrase, nb::arg("path"),
                  "The first line of a file. Raises UsageError if it is empty, FailureError if the "
                  "file cannot be read.");

  nb::class_<Identity>(module, "Identity",
                       "A secret key: \"AGE-SECRET-KEY-1...\", or one of SSH's, which comes from a "
                       "file alone. It lies in locked memory, which is wiped with the last copy; a "
                       "Python string with the key is not.")
      .def(nb::init<std::string_view>(), nb::arg("text"),
           "Raises UsageError for anything else, and never repeats the text.")
      .def_static("generate", &Identity::generate, "A new X25519 key.")
      .def_static("load", &load_identities, nb::arg("path"), nb::kw_only(),
                  nb::arg("passphrase").none() = nb::none(),
                  "The identities in a file, as `paes keygen`, age-keygen and ssh-keygen write it. "
                  "Raises WrongKeyError if the passphrase is another, UsageError if one is needed, "
                  "and for what is no file of keys, FailureError if the file cannot be read. An "
                  "encrypted key of SSH's is opened only when a file needs it.")
      .def_prop_ro("recipient", &Identity::recipient,
                   "The public key: what is encrypted to it, this identity opens.")
      .def("save", &save, nb::arg("path"),
           "Writes a new file with the secret key, which only its owner can read. Raises "
           "FailureError if something has that name or if its file system keeps no permissions, "
           "UsageError for a key of SSH's.");

  nb::class_<CobblestoneKey>(
      module, "CobblestoneKey",
      "A key of 16 or 32 random bytes that is kept elsewhere, with the context that its files "
      "share. A file is then the payload alone (C2SP chunked-encryption v1), Cobblestone-128 or "
      "-256.")
      .def(
          "__init__",
          [](CobblestoneKey* self, ReadArgument key, std::optional<ReadArgument> context) {
            const Buffer key_bytes(key, "key");
            if (context) {
              new (self) CobblestoneKey(key_bytes.bytes(), Buffer(*context, "context").bytes());
            } else {
              new (self) CobblestoneKey(key_bytes.bytes());
            }
          },
          nb::arg("key"), nb::arg("context").none() = nb::none(),
          "Raises UsageError for a key of another length.");
}

}  // namespace paes::python
