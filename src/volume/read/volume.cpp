// SPDX-License-Identifier: Apache-2.0
#include "volume/read/volume.hpp"

#include <cerrno>

namespace paes::volume {

Volume::Volume(Descriptor root, const vault::Features& features, const vault::MasterKey& key,
               const Kernel& kernel, std::unique_ptr<Backing> backing, DamageReport report)
    : parts_(std::make_shared<Parts>(
          Parts{std::move(root),
                {key.name_key(features), features, kernel},
                vault::make_content_key(features.content, key.content_key(features), kernel),
                std::move(backing)})),
      report_(std::move(report)) {}

Errno Volume::failed(std::string_view path, std::string_view what, Errno error) const {
  if (error.is(EIO)) {
    report({std::string(path), std::string(what) + " cannot be read: " + error.message()});
  }
  return error;
}

}  // namespace paes::volume
