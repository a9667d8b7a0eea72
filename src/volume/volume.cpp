#include "volume/volume.hpp"

namespace paes::volume {

Volume::Volume(Descriptor root, const vault::Features& features, const vault::MasterKey& key,
               const Kernel& kernel, std::unique_ptr<Backing> backing, DamageReport report)
    : root_(std::move(root)),
      names_(key.name_key(features), features, kernel),
      content_(vault::make_content_key(features.content, key.content_key(features), kernel)),
      backing_(std::move(backing)),
      report_(std::move(report)) {}

}  // namespace paes::volume
