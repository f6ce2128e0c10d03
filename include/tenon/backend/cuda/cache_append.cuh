// Values on their way into a row of the cache, each rounded to the nearest that the format has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/cache_row.hpp"
#include "tenon/backend/cuda/scalar.cuh"
#include "tenon/backend/cuda/warp.cuh"

namespace tenon::cuda {

/// Neighbouring threads that append a block of q8_0 together, a pair of values each.
inline constexpr int append_lanes = 16;

/// Appends values 2 pair and 2 pair + 1 of a head. In q8_0, threads from a multiple of append_lanes on have as many pairs of
/// one head, from such a multiple on; those behind its end are not `there`, and have zeros. A block is as q8_0::encode makes it.
template <weight_format Format>
__device__ __forceinline__ void append_pair(std::byte* row, int head_dim, int pair, bool is_there, float2 x) {
  using layout = cache_row<Format>;
  if constexpr (!layout::has_scales) {
    if (is_there) store_pair<Format>(row + 2 * pair * layout::value_bytes, x.x, x.y);
  } else {
    const unsigned lanes = 0xffffu << threadIdx.x / append_lanes % 2 * append_lanes;
    const float largest = max_over_lanes<append_lanes>(larger(fabsf(x.x), fabsf(x.y)), lanes);
    const __half rounded = __float2half_rn(__fdiv_rn(largest, 127.0f));
    const float scale = __half2float(rounded);
    const bool is_broken = !(scale <= 65504.0f);  // the largest half
    const float inverse = scale > 0 ? __fdiv_rn(1.0f, scale) : 0.0f;
    const auto quant = [&](float value) {
      const int nearest = is_broken ? 1 : __float2int_rn(__fmul_rn(value, inverse));
      return static_cast<std::uint32_t>(min(max(nearest, -127), 127)) & 0xffu;
    };
    if (is_there)
      *reinterpret_cast<std::uint16_t*>(row + 2 * pair) =
          static_cast<std::uint16_t>(quant(x.x) | quant(x.y) << 8);
    if (pair % append_lanes == 0)
      *reinterpret_cast<__half*>(row + layout::scales_at(head_dim) + pair / append_lanes * 2) = rounded;
  }
}

}  // namespace tenon::cuda
