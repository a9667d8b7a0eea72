// SPDX-License-Identifier: Apache-2.0
// What paes/keys.hpp hides: the keys in the handles, and envelopes sealed and opened with them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "age/envelope.hpp"
#include "core/secret.hpp"
#include "paes/cancel.hpp"
#include "paes/keys.hpp"

namespace paes {

struct PAES_HIDDEN Recipient::State {
  age::SharedRecipient key;
};
struct PAES_HIDDEN Identity::State {
  age::SharedIdentity key;
};
struct PAES_HIDDEN Passphrase::State {
  SecretBytes text;
};
struct PAES_HIDDEN CobblestoneKey::State {
  SecretBytes key;
  std::vector<std::uint8_t> context;
};

struct KeyParts {
  template <typename Handle>
  [[nodiscard]] static const auto& of(const Handle& handle) {
    return *handle.state_;
  }
  template <typename Handle>
  [[nodiscard]] static Handle make(typename Handle::State&& state) {
    return Handle(std::make_shared<const typename Handle::State>(std::move(state)));
  }
};

// Throws Error(usage) for options that contradict each other, and where nobody could open the file.
void check(const SealFor& seal_for);
void check(const OpenWith& open_with);

[[nodiscard]] std::vector<age::SharedRecipient> recipients_of(
    std::span<const Recipient> recipients);
// For whom an envelope is. `seal_for` has recipients, which recipients_of() gave, or a passphrase;
// both must outlive the result. Sealing throws once `cancel` is requested, which may be null.
[[nodiscard]] age::SealTo seal_to(const SealFor& seal_for,
                                  std::span<const age::SharedRecipient> recipients,
                                  const Cancel* cancel);
// Calls `open` with the keys that open a file. `open` throws once `cancel` is requested, which may
// be null.
void with_credentials(const OpenWith& open_with, const Cancel* cancel,
                      const std::function<void(const age::Credentials& credentials)>& open);

}  // namespace paes
