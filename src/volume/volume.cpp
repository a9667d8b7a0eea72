#include "volume/volume.hpp"

namespace paes::volume {

Volume::Volume(Descriptor root, const vault::Features& features, const vault::MasterKey& key,
               const Kernel& kernel, std::unique_ptr<Backing> backing, DamageReport report)
    : parts_(std::make_shared<Parts>(
          Parts{std::move(root),
                {key.name_key(features), features, kernel},
                vault::make_content_key(features.content, key.content_key(features), kernel),
                std::move(backing)})),
      report_(std::move(report)) {}

}  // namespace paes::volume
