// SPDX-License-Identifier: Apache-2.0
// What a passphrase opens, opened when first needed. Nobody is asked twice, not even for the next
// file after a wrong answer.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "crypto/derivation.hpp"
#include "paes/error.hpp"

namespace paes::age {

template <typename T>
class OpenedOnce {
 public:
  // What `open` returned, or its Error(wrong_key) again. Other threads wait until the first one's
  // user answers or `wait` throws. After any other failure, `open` is called again.
  template <typename Open>
  const T& get(const WaitReady& wait, const Open& open) {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(100))) {
      check(wait);
    }
    if (wrong_key_) {
      throw Error(*wrong_key_);
    }
    if (!opened_) {
      try {
        opened_.emplace(open());
      } catch (const Error& error) {
        if (error.code == ErrorCode::wrong_key) {
          wrong_key_ = error;
        }
        throw;
      }
    }
    return *opened_;
  }

 private:
  std::timed_mutex mutex_;
  std::optional<T> opened_;
  std::optional<Error> wrong_key_;
};

}  // namespace paes::age
