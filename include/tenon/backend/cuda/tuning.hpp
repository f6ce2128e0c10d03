// What is a matter of speed alone: sizes of tiles and depths of pipelines, chosen by compute capability. Results do not
// depend on any of it.
#pragma once

namespace tenon::cuda {

struct product_tuning {
  int wide_from = 17;    // tokens from which a product is one of many tokens; at most 16 are one of few
  int wide_warps = 4;    // of a block; each has 32 rows
  int wide_tokens = 64;  // of a block, a multiple of 8
  int half_stages = 3;   // steps of activations in shared memory, at least 2
  int int8_stages = 2;
  int norm_tokens = 2;  // up to as many tokens the last block of a product takes the norm that follows
};

/// For a device of this compute capability (80 for 8.0) or newer.
constexpr product_tuning products_on(int capability) {
  product_tuning chosen;
  if (capability >= 90) chosen.half_stages = 4, chosen.int8_stages = 3;  // 228 KB of shared memory, not 164
  return chosen;
}

/// A tuning as a type, as launchers take it. Users may pass their own with the same members.
template <int Capability>
struct tuned {
  static constexpr product_tuning products = products_on(Capability);
};

}  // namespace tenon::cuda
