#include "format/derivation.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "paes/error.hpp"

namespace paes {

namespace {

// Owned by both threads: either may be the last one that needs it.
class Task {
 public:
  Task(Bytes passphrase, Bytes salt, std::size_t bytes, Derive derive)
      : derive_(std::move(derive)),
        passphrase_(passphrase),
        salt_(salt.begin(), salt.end()),
        derived_(bytes),
        done_(eventfd(0, EFD_CLOEXEC)) {
    if (done_ < 0) {
      throw Error(ErrorCode::failure, std::string("eventfd: ") + std::strerror(errno));
    }
  }
  ~Task() { (void)close(done_); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  void run() noexcept {
    try {
      derive_(passphrase_, salt_, derived_);
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(done_, &one, sizeof one);
  }

  [[nodiscard]] int done() const noexcept { return done_; }
  // Once run() is over.
  [[nodiscard]] SecretBytes take() {
    if (error_) {
      std::rethrow_exception(error_);
    }
    return std::move(derived_);
  }

 private:
  Derive derive_;
  SecretBytes passphrase_;
  std::vector<std::uint8_t> salt_;
  SecretBytes derived_;
  std::exception_ptr error_;
  int done_;
};

}  // namespace

SecretBytes derive_apart(Bytes passphrase, Bytes salt, std::size_t bytes, Derive derive,
                         const WaitReadable& wait) {
  if (!wait) {
    SecretBytes derived(bytes);
    derive(passphrase, salt, derived);
    return derived;
  }
  const auto task = std::make_shared<Task>(passphrase, salt, bytes, std::move(derive));
  std::thread thread;
  try {
    thread = std::thread([task] { task->run(); });
  } catch (const std::system_error&) {
    // A system without one more thread still derives, only without a way to stop.
    task->run();
    return task->take();
  }
  try {
    wait(task->done());
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  return task->take();
}

}  // namespace paes
