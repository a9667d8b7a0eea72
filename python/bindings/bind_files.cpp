// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "interruptible.hpp"
#include "paes/file.hpp"
#include "parts.hpp"

namespace paes::python {

namespace {

// A Python object that the library may destroy in any thread.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject shared_with_library(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            const GilHeld gil;
            delete held;
          }};
}

// Reads the source with a Python function `read_at(offset, size)`, which returns at most `size`
// bytes. It gets no view of our memory, because it could keep it.
ReadAt reading_with(SharedObject read_at) {
  return [read_at = std::move(read_at)](std::uint64_t offset, std::span<std::uint8_t> to) {
    const GilHeld held;
    const nb::object got = call_python(*read_at, offset, to.size());
    const Buffer bytes(ReadArgument{got}, "what the file's read returned");
    if (bytes.size() > to.size()) {
      throw nb::value_error("read: returned more bytes than it was asked for");
    }
    std::copy(bytes.bytes().begin(), bytes.bytes().end(), to.begin());
    return bytes.size();
  };
}

Writer::Write writing_with(SharedObject write) {
  return [write = std::move(write)](std::span<const std::uint8_t> bytes) {
    const GilHeld held;
    (void)call_python(*write, nb::bytes(bytes.data(), bytes.size()));
  };
}

// Adds what both SealFor and OpenWith can have: a passphrase, or the caller's own key.
template <typename Keys>
Keys with_own_keys(Keys keys, const Passphrase* passphrase, const CobblestoneKey* key) {
  if (passphrase != nullptr) {
    keys.passphrase = *passphrase;
  }
  if (key != nullptr) {
    keys.key = *key;
  }
  return keys;
}

// Collects the library's warnings until the thread with the GIL passes them on.
class Warnings {
 public:
  [[nodiscard]] std::function<void(const std::string& what_why)> collect() const {
    return [all = all_](const std::string& what_why) { all->push_back(what_why); };
  }
  // The file is complete, even if a filter turns the warning into an exception.
  void tell() const {
    for (const std::string& one : std::exchange(*all_, {})) {
      if (PyErr_WarnEx(PyExc_UserWarning, one.c_str(), 1) != 0) {
        throw nb::python_error();
      }
    }
  }

 private:
  std::shared_ptr<std::vector<std::string>> all_ = std::make_shared<std::vector<std::string>>();
};

// Runs a call for a whole file, and follows its options for progress and cancelling.
template <typename Call>
auto whole_file(FileOptions options, nb::handle progress, const Call& call) {
  decltype(call(options)) result{};
  const Warnings warnings;
  options.warn = warnings.collect();
  run_interruptibly(progress, [&](const Cancel& cancel, Progress& reached) {
    options.cancel = &cancel;
    options.progress = [&](std::uint64_t done_bytes, std::uint64_t total_bytes) {
      reached.total_bytes = total_bytes;
      reached.done_bytes = done_bytes;
    };
    result = call(options);
  });
  warnings.tell();
  return result;
}

// Runs a call that changes a file's recipients.
std::size_t changed_file(const std::function<std::size_t(const FileOptions& options)>& call) {
  std::size_t recipients = 0;
  run_interruptibly(nb::none(), [&](const Cancel& cancel, Progress& /*progress*/) {
    recipients = call({.cancel = &cancel});
  });
  return recipients;
}

// `from` is a path, or a tuple of a function that reads at an offset, the length, and a name. It
// stores the function in `shared`, too, so that the garbage collector finds it.
using CallbackParts = std::tuple<nb::object, std::uint64_t, std::string>;
FileSource source_of(nb::handle from, SharedObject& shared) {
  if (nb::isinstance<nb::tuple>(from)) {
    auto [read_at, bytes, name] = nb::cast<CallbackParts>(from);
    shared = shared_with_library(std::move(read_at));
    const ReadAt reading = reading_with(shared);
    const GilReleased released;
    return FileSource::callback(reading, bytes, name);
  }
  const std::string file = PathArgument{from}.path();
  const GilReleased released;
  return FileSource(file);
}
FileSource source_of(nb::handle from) {
  SharedObject shared;
  return source_of(from, shared);
}

// A Reader whose calls do not hold the GIL.
class PyReader {
 public:
  PyReader(nb::handle from, const OpenWith& open_with, unsigned threads,
           const std::string& kernel) {
    const FileSource source = source_of(from, callback_);
    run_interruptibly(cancel_, [&] {
      reader_ = std::make_unique<Reader>(
          source, open_with, FileOptions{.threads = threads, .kernel = kernel, .cancel = &cancel_});
    });
  }

  [[nodiscard]] std::uint64_t size() const { return open_reader().size(); }

  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> to) const {
    return read_interruptibly(open_reader(), offset, to);
  }

  // For the garbage collector, which runs only while no call does.
  [[nodiscard]] PyObject* callback() const { return callback_ ? callback_->ptr() : nullptr; }
  void clear() {
    reader_.reset();
    callback_.reset();
  }

 private:
  [[nodiscard]] const Reader& open_reader() const {
    if (reader_ == nullptr) {
      throw Error(ErrorCode::usage, "reader: is closed");
    }
    return *reader_;
  }

  SharedObject callback_;
  Cancel cancel_;  // before its users
  std::unique_ptr<Reader> reader_;
};

// A Writer whose calls do not hold the GIL. One thread may close it while another writes: the
// writer lives until the last call has ended.
class PyWriter {
 public:
  PyWriter(nb::handle to, const SealFor& seal_for, unsigned threads, const std::string& kernel,
           bool overwrite) {
    const FileOptions options{.threads = threads,
                              .kernel = kernel,
                              .overwrite = overwrite,
                              .cancel = &cancel_,
                              .warn = warnings_.collect()};
    if (PyCallable_Check(to.ptr()) != 0) {
      callback_ = shared_with_library(nb::borrow(to));
      const Writer::Write write = writing_with(callback_);
      run_interruptibly(cancel_,
                        [&] { writer_.reset(new Writer(write, seal_for, options), destroy); });
    } else {
      const std::string file = PathArgument{to}.path();
      run_interruptibly(cancel_,
                        [&] { writer_.reset(new Writer(file, seal_for, options), destroy); });
    }
  }
  PyWriter(const PyWriter&) = delete;
  PyWriter& operator=(const PyWriter&) = delete;
  ~PyWriter() = default;

  void write(std::span<const std::uint8_t> text) {
    const std::shared_ptr<Writer> writer = open_writer();
    const Turn turn(in_use_);
    for (std::size_t done = 0; done < text.size();) {
      const auto part = text.subspan(done, std::min(text.size() - done, interruptible_bytes));
      {
        const GilReleased released;
        writer->write(part);
      }
      done += part.size();
      if (done < text.size()) {
        try {
          check_signals();
        } catch (...) {
          clear();  // a caller that wrote it again would have the first part twice
          throw;
        }
      }
    }
  }

  std::uint64_t commit() {
    const std::shared_ptr<Writer> writer = open_writer();
    const Turn turn(in_use_);
    const std::uint64_t text_bytes = [&] {
      const GilReleased released;
      return writer->commit();
    }();
    warnings_.tell();
    return text_bytes;
  }

  // A file that was not committed leaves nothing behind.
  void clear() {
    writer_.reset();
    callback_.reset();
  }
  [[nodiscard]] PyObject* callback() const { return callback_ ? callback_->ptr() : nullptr; }

 private:
  // Its threads may be waiting for the GIL.
  static void destroy(const Writer* writer) {
    const GilReleased released;
    delete writer;
  }

  [[nodiscard]] std::shared_ptr<Writer> open_writer() const {
    if (writer_ == nullptr) {
      throw Error(ErrorCode::usage, "writer: is closed");
    }
    return writer_;
  }

  Warnings warnings_;
  SharedObject callback_;
  Cancel cancel_;  // before its users
  std::shared_ptr<Writer> writer_;
  std::atomic_flag in_use_;
};

// A file object may refer to the reader or writer that uses it. These let the garbage collector
// find such a circle.
template <typename File>
int visit_callback(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    Py_VISIT(nb::inst_ptr<File>(self)->callback());
  }
  return 0;
}
template <typename File>
int clear_callback(PyObject* self) {
  if (nb::inst_ready(self)) {
    nb::inst_ptr<File>(self)->clear();
  }
  return 0;
}
template <typename File>
nb::type_slots with_callback() {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(&visit_callback<File>)},
      {Py_tp_clear, reinterpret_cast<void*>(&clear_callback<File>)},
      {0, nullptr},
  };
  return nb::type_slots(slots);
}

void add_whole_files(nb::module_& module) {
  module.def(
      "encrypt_file",
      [](nb::handle from, const PathArgument& to, const SealFor& seal_for, unsigned threads,
         const std::string& kernel, bool overwrite, nb::handle progress) {
        const FileSource source = source_of(from);
        const std::string path = to.path();
        return whole_file({.threads = threads, .kernel = kernel, .overwrite = overwrite}, progress,
                          [&](const FileOptions& options) {
                            return encrypt_file(source, path, seal_for, options);
                          });
      },
      nb::arg("source"), nb::arg("to"), nb::arg("seal_for"), nb::arg("threads"), nb::arg("kernel"),
      nb::arg("overwrite"), nb::arg("progress").none());
  module.def(
      "decrypt_file",
      [](nb::handle from, const PathArgument& to, const OpenWith& open_with, unsigned threads,
         const std::string& kernel, bool overwrite, nb::handle progress) {
        const FileSource source = source_of(from);
        const std::string path = to.path();
        return whole_file({.threads = threads, .kernel = kernel, .overwrite = overwrite}, progress,
                          [&](const FileOptions& options) {
                            return decrypt_file(source, path, open_with, options);
                          });
      },
      nb::arg("source"), nb::arg("to"), nb::arg("open_with"), nb::arg("threads"), nb::arg("kernel"),
      nb::arg("overwrite"), nb::arg("progress").none());
  module.def(
      "verify_file",
      [](nb::handle from, const OpenWith& open_with, unsigned threads, const std::string& kernel,
         nb::handle progress) {
        const FileSource source = source_of(from);
        const FileVerification found = whole_file(
            {.threads = threads, .kernel = kernel}, progress,
            [&](const FileOptions& options) { return verify_file(source, open_with, options); });
        std::vector<std::pair<std::uint64_t, std::uint64_t>> damaged;
        for (const FileVerification::Damaged& range : found.damaged) {
          damaged.emplace_back(range.first, range.end);
        }
        return std::tuple(found.is_authentic, found.text_bytes, damaged, found.more_damaged_chunks);
      },
      nb::arg("source"), nb::arg("open_with"), nb::arg("threads"), nb::arg("kernel"),
      nb::arg("progress").none());
  module.def(
      "rekey_file",
      [](const PathArgument& file, const OpenWith& open_with, const SealFor& seal_for) {
        const std::string path = file.path();
        return changed_file([&](const FileOptions& options) {
          return rekey_file(path, open_with, seal_for, options);
        });
      },
      nb::arg("path"), nb::arg("open_with"), nb::arg("seal_for"));
  module.def(
      "change_recipients",
      [](const PathArgument& file, const OpenWith& open_with, std::vector<Recipient> add,
         std::vector<std::size_t> remove) {
        const std::string path = file.path();
        const RecipientEdit edit{.add = std::move(add), .remove = std::move(remove)};
        return changed_file([&](const FileOptions& options) {
          return change_recipients(path, open_with, edit, options);
        });
      },
      nb::arg("path"), nb::arg("open_with"), nb::arg("add"), nb::arg("remove"));
  module.def(
      "inspect_file",
      [](nb::handle from) {
        const FileSource source = source_of(from);
        const FileInfo info = [&] {
          const GilReleased released;
          return inspect_file(source);
        }();
        std::vector<std::pair<std::string, unsigned>> stanzas;
        for (const FileInfo::Stanza& stanza : info.stanzas) {
          stanzas.emplace_back(stanza.type, stanza.work_factor);
        }
        return std::tuple(info.key_bits, info.text_bytes, info.payload_offset, stanzas);
      },
      nb::arg("source"));
}

}  // namespace

void add_files(nb::module_& module) {
  nb::class_<SealFor>(module, "SealFor")
      .def(
          "__init__",
          [](SealFor* self, std::vector<Recipient> recipients, const Passphrase* passphrase,
             const CobblestoneKey* key, unsigned key_bits) {
            new (self) SealFor(
                with_own_keys(SealFor{.recipients = std::move(recipients), .key_bits = key_bits},
                              passphrase, key));
          },
          nb::kw_only(), nb::arg("recipients"), nb::arg("passphrase").none(), nb::arg("key").none(),
          nb::arg("key_bits"));
  nb::class_<OpenWith>(module, "OpenWith")
      .def(
          "__init__",
          [](OpenWith* self, std::vector<Identity> identities, const Passphrase* passphrase,
             const CobblestoneKey* key, unsigned max_work_factor) {
            new (self) OpenWith(with_own_keys(
                OpenWith{.identities = std::move(identities), .max_work_factor = max_work_factor},
                passphrase, key));
          },
          nb::kw_only(), nb::arg("identities"), nb::arg("passphrase").none(), nb::arg("key").none(),
          nb::arg("max_work_factor"));
  add_whole_files(module);

  nb::class_<PyReader>(module, "Reader", with_callback<PyReader>())
      .def(nb::init<nb::handle, const OpenWith&, unsigned, const std::string&>(), nb::arg("source"),
           nb::arg("open_with"), nb::arg("threads"), nb::arg("kernel"))
      .def_prop_ro("size", &PyReader::size)
      .def(
          "read_at_into",
          [](const PyReader& self, std::uint64_t offset, WriteArgument to) {
            const WritableBuffer buffer(to, "buffer");
            return self.read_at(offset, buffer.span());
          },
          nb::arg("offset"), nb::arg("buffer"))
      .def(
          "read_at",
          [](const PyReader& self, std::uint64_t offset, std::uint64_t size) {
            // A size beyond the end must not allocate memory.
            const std::uint64_t left = self.size() - std::min(self.size(), offset);
            NewBytes text(static_cast<std::size_t>(std::min(size, left)));
            const std::size_t got = self.read_at(offset, text.span());
            return std::move(text).take(got);
          },
          nb::arg("offset"), nb::arg("size"));

  nb::class_<PyWriter>(module, "Writer", with_callback<PyWriter>())
      .def(nb::init<nb::handle, const SealFor&, unsigned, const std::string&, bool>(),
           nb::arg("to"), nb::arg("seal_for"), nb::arg("threads"), nb::arg("kernel"),
           nb::arg("overwrite"))
      .def(
          "write",
          [](PyWriter& self, ReadArgument text) {
            const Buffer bytes(text, "text");
            self.write(bytes.bytes());
            return bytes.size();
          },
          nb::arg("text"))
      .def("commit", &PyWriter::commit)
      .def("abandon", &PyWriter::clear);
}

}  // namespace paes::python
