// SPDX-License-Identifier: Apache-2.0
// Key derivations in a thread of their own: the result is that of a plain call, whoever waits may
// give up at any time, and what fails there fails here.
#include "crypto/derivation.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes {
namespace {

using libcrypto::bytes_of;

void wait_for(int descriptor, short events) {
  pollfd one = {descriptor, events, 0};
  while (poll(&one, 1, -1) != 1) {
  }
}

TEST(Derivation, GivesWhatAPlainCallGives) {
  const Derive derive = [](Bytes passphrase, Bytes salt, MutableBytes out) {
    libcrypto::pbkdf2_hmac("SHA256", passphrase, salt, 2, out);
  };
  const SecretBytes plain = derive_apart(bytes_of("word"), bytes_of("salt"), 40, derive, {});
  const SecretBytes apart = derive_apart(bytes_of("word"), bytes_of("salt"), 40, derive, wait_for);
  SecretBytes want(40);
  libcrypto::pbkdf2_hmac("SHA256", bytes_of("word"), bytes_of("salt"), 2, want);
  EXPECT_TRUE(equal_constant_time(plain, want));
  EXPECT_TRUE(equal_constant_time(apart, want));
}

TEST(Derivation, WithNothingToWaitForIsAPlainCall) {
  const SecretBytes passphrase(bytes_of("word"));
  std::thread::id thread;
  const std::uint8_t* seen = nullptr;
  const Derive derive = [&](Bytes secret, Bytes, MutableBytes) {
    thread = std::this_thread::get_id();
    seen = secret.data();
  };
  (void)derive_apart(passphrase, {}, 16, derive, {});
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_EQ(seen, passphrase.data());
  (void)derive_apart(passphrase, {}, 16, derive, wait_for);
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_NE(seen, passphrase.data());
}

TEST(Derivation, IsWaitedForByThoseWhoCannotWait) {
  std::promise<void> returns;
  const Derive slow = [&returns](Bytes, Bytes, MutableBytes out) {
    returns.get_future().wait();
    out[0] = 1;
  };
  const auto returns_early = [&returns](int, short) { returns.set_value(); };
  const SecretBytes derived = derive_apart({}, {}, 16, slow, returns_early);
  EXPECT_EQ(derived.data()[0], 1);
}

TEST(Derivation, FailsAsItsFunctionDoes) {
  const Derive fails = [](Bytes, Bytes, MutableBytes) {
    throw Error(ErrorCode::failure, "scrypt: no memory");
  };
  for (const WaitReady& wait : {WaitReady{}, WaitReady{wait_for}}) {
    EXPECT_THROW((void)derive_apart({}, {}, 16, fails, wait), Error);
  }
}

// The caller's passphrase is gone by the time the derivation reads it.
TEST(Derivation, OutlivesWhoeverGaveUp) {
  std::promise<void> gave_up;
  std::promise<std::string> seen;
  auto passphrase = std::make_unique<SecretBytes>(bytes_of("word"));
  const Derive slow = [&gave_up, &seen](Bytes secret, Bytes salt, MutableBytes out) {
    gave_up.get_future().wait();
    out[0] = 1;
    std::string both(secret.begin(), secret.end());
    seen.set_value(both.append(salt.begin(), salt.end()));
  };
  const WaitReady gives_up = [](int, short) { throw std::runtime_error("stop"); };
  EXPECT_THROW((void)derive_apart(*passphrase, bytes_of("salt"), 16, slow, gives_up),
               std::runtime_error);
  passphrase.reset();
  gave_up.set_value();
  EXPECT_EQ(seen.get_future().get(), "wordsalt");
}

}  // namespace
}  // namespace paes
