// SPDX-License-Identifier: Apache-2.0
// paes/device.h on top of paes/device.hpp.
#include <string>

#include "library/c/calls.hpp"
#include "paes/device.h"

int paes_device_open(paes_device** device) {
  return paes::c::make_handle(device, "device", [] {
    std::string why;
    std::shared_ptr<paes::Device> opened = paes::open_device(why);
    if (opened == nullptr) {
      throw paes::Error(paes::ErrorCode::failure, "device: " + why);
    }
    return opened;
  });
}

void paes_device_close(paes_device* device) { delete device; }
