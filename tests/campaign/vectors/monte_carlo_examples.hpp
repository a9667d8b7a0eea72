// SPDX-License-Identifier: Apache-2.0
// Links out of NIST's published 3DES Monte Carlo chains: usnistgov/ACVP-Server, gen-val/json-files,
// ACVP-TDES-{ECB,CBC,CFB64,OFB}-1.0/expectedResults.json. One round must give `out`, and the key,
// IV and text that the next round starts from.
#pragma once

#include "hex.hpp"
#include "monte_carlo.hpp"

namespace paes::test {

struct DesExample {
  Mode mode;
  Direction direction;
  const char* key;
  const char* iv;
  const char* in;
  const char* out;
  const char* next_key;
  const char* next_iv;
  const char* next_in;
};

inline constexpr DesExample des_examples[] = {
    {Mode::ecb, Direction::encrypt, "298a91cb02ae68e6f420b31519c78f7a68a23794c76162ad", "",
     "6241d4dba6773af6", "c1ddb3fd10e9f144", "e9572337134698a29e7a54fea81557cb34aef2b0a2fb075e", "",
     "c1ddb3fd10e9f144"},
    {Mode::ecb, Direction::decrypt, "2f2f526e687f5dae23fe73ad4a8fd5fe8fc40dfd23c2fb29", "",
     "fb540d43630fec3f", "c017e0c6aefdc324", "ef38b3a8c7839e8a9bb0325b62ba892015da2cb60770fd40", "",
     "c017e0c6aefdc324"},
    {Mode::cbc, Direction::decrypt, "622c3dec675db0e0a8402aced3d6bf58923dad7098518c8f",
     "137b59aa9855fc62", "944dc45ac4437f0a", "92ee3289dd493471",
     "f1c20e64ba158591857f9861851a7f37bfcd020486b607ab", "2c3eb2ae56ccc16f", "92ee3289dd493471"},
    {Mode::cfb, Direction::decrypt, "5770a7e3b9154fd3434529dc38fd896e43fdf4b3ad325789",
     "b3953152c6b5aa67", "f202814d2cafd903", "63d1fd0e2b145832",
     "34a15bec920116e05d861f947af4dc91ecf198cdc26d0d8f", "b97b179fd132c379", "daaaea91fa269b4b"},
    {Mode::ofb, Direction::encrypt, "0b0d897cfecbe0cd9b4a10621a5bece5519bf4f8e3e33dad",
     "f297ef0e9602a1f6", "fb41d022e15857c4", "6c7cfc74602a45d6",
     "677075089ee0a41acbd9237694528361c8d06729dc9bd3ea", "90707539bec89e55", "d3cad45d63df0749"},
    {Mode::ofb, Direction::decrypt, "54dc4380d6987951b394d0cdefbf1601f70462cb25eaa4e3",
     "ca6b24968c263cf2", "7bcfa469c6bb9ab2", "864079fb881a94b3",
     "d39d3b7a5e83ece33b94fdcd38ef7c733bd986ba868afb5e", "3edb83dd2740e897", "c54f989cbcb1d0de"},
};

template <typename Begin>
bool is_passed(const DesExample& example, const Begin& begin) {
  MonteCarlo state{from_hex(example.key), from_hex(example.iv), from_hex(example.in)};
  return des_round(example.mode, example.direction, state, begin) == from_hex(example.out) &&
         state.key == from_hex(example.next_key) && state.iv == from_hex(example.next_iv) &&
         state.text == from_hex(example.next_in);
}

}  // namespace paes::test
