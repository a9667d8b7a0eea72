// SPDX-License-Identifier: Apache-2.0
// Private keys in the older forms that ssh-keygen -m PEM and openssl write, in DER: RSA's own form
// (RFC 8017, appendix A.1.2) and PKCS #8 (RFC 5208), also for Ed25519 (RFC 8410).
#pragma once

#include <string>
#include <string_view>

#include "age/keys.hpp"

namespace paes::age {

inline constexpr std::string_view rsa_label = "RSA PRIVATE KEY";
inline constexpr std::string_view pkcs8_label = "PRIVATE KEY";

// Both throw Error(usage); `name` is the file's.
[[nodiscard]] SharedIdentity read_rsa_key(Bytes der, const std::string& name);
[[nodiscard]] SharedIdentity read_pkcs8_key(Bytes der, const std::string& name);

}  // namespace paes::age
