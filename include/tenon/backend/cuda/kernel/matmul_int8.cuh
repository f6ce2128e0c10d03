// Products of block-format weights with int8 activations for a few tokens, on tensor cores: bound by reading the weights.
//
// A group's dot products are exact integers; what is rounded is the sum over groups, and that is taken in an order that
// the matrix alone decides: along k it is cut into slices, each summed by itself and then added in order. So a token's
// result does not depend on the tokens beside it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/activations.cuh"
#include "tenon/backend/cuda/fragment.cuh"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/backend/cuda/mma.cuh"
#include "tenon/backend/cuda/warp.cuh"

namespace tenon::cuda {

/// Weights [rows, columns] on the device, packed as layout.hpp says.
struct matrix_view {
  const std::byte* records;
  int rows;
  int row_records;  // records of one tile
};

namespace detail {

/// The four groups of a record for one tile: this lane's words, and its row's scales.
template <class Format>
struct record_words {
  using layout = weight_layout<Format>;
  std::uint32_t words[layout::chunks * 4];
  float scales[4];
  float minima[4];

  __device__ __forceinline__ void load(const std::byte* record) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int chunk = 0; chunk < layout::chunks; ++chunk) {
      const uint4 four = __ldcs(reinterpret_cast<const uint4*>(record) + chunk * warp_lanes + lane);
      words[4 * chunk] = four.x;
      words[4 * chunk + 1] = four.y;
      words[4 * chunk + 2] = four.z;
      words[4 * chunk + 3] = four.w;
    }
    const std::byte* at = record + layout::scale_at(lane / row_lanes, 0);
    if constexpr (layout::has_minimum) {
      const uint4 four = __ldcs(reinterpret_cast<const uint4*>(at));
      const std::uint32_t pairs[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        scales[g] = __half2float(__ushort_as_half(static_cast<unsigned short>(pairs[g])));
        minima[g] = __half2float(__ushort_as_half(static_cast<unsigned short>(pairs[g] >> 16)));
      }
    } else {
      const uint2 two = __ldcs(reinterpret_cast<const uint2*>(at));
      const std::uint32_t pairs[2] = {two.x, two.y};
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        scales[g] =
            __half2float(__ushort_as_half(static_cast<unsigned short>(pairs[g / 2] >> (16 * (g % 2)))));
        minima[g] = layout::value_bits == 4 ? -8.0f * scales[g] : 0.0f;
      }
    }
  }

  /// The bytes of one group: the first and the last four of the lane's eight values.
  __device__ __forceinline__ void bytes(int group, std::uint32_t& first, std::uint32_t& last) const {
    if constexpr (layout::value_bits == 4) {
      first = words[group] & 0x0f0f0f0fu;
      last = words[group] >> 4 & 0x0f0f0f0fu;
    } else {
      first = words[2 * group];
      last = words[2 * group + 1];
    }
  }
};

}  // namespace detail

/// Adds to sums the products of records [first, last) of two tiles (16 rows) with tokens [token, token + 8 * TokenTiles),
/// of which `tokens` exist: sums[tile of tokens] is a D fragment.
template <class Format, int TokenTiles>
__device__ __forceinline__ void multiply_int8(const matrix_view& weights, int row_tile, int first, int last,
                                              const activation_view& x, int token, int tokens,
                                              float (&sums)[TokenTiles][4]) {
  using layout = weight_layout<Format>;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const std::size_t row_bytes = static_cast<std::size_t>(weights.row_records) * layout::record_bytes;
  const std::byte* upper = weights.records + static_cast<std::size_t>(2 * row_tile) * row_bytes;
  const bool has_lower = 16 * row_tile + tile_rows < weights.rows;
  const std::byte* lower =
      has_lower ? upper + row_bytes : upper;  // read again where there is none, and dropped
  const auto stride = static_cast<std::size_t>(x.stride);
  for (int record = first; record < last; ++record) {
    detail::record_words<Format> a[2];
    a[0].load(upper + static_cast<std::size_t>(record) * layout::record_bytes);
    a[1].load(lower + static_cast<std::size_t>(record) * layout::record_bytes);
#pragma unroll
    for (int tile = 0; tile < TokenTiles; ++tile) {
      // the B fragment belongs to token lane / 4, the D fragment to tokens 2 (lane % 4) and the next
      const int right = token + 8 * tile + lane / 4, left = token + 8 * tile + lane % 4 * 2;
      const std::size_t b_at =
          static_cast<std::size_t>(right) * stride + static_cast<std::size_t>(128 * record + lane % 4 * 8);
      float scales[2][4], totals[2][4];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const std::size_t at =
            static_cast<std::size_t>(left + c) * (stride / group_size) + static_cast<std::size_t>(4 * record);
        const bool there = left + c < tokens;
        const float4 s = there ? *reinterpret_cast<const float4*>(x.scales + at) : make_float4(0, 0, 0, 0);
        const float4 t = there ? *reinterpret_cast<const float4*>(x.sums + at) : make_float4(0, 0, 0, 0);
        scales[c][0] = s.x, scales[c][1] = s.y, scales[c][2] = s.z, scales[c][3] = s.w;
        totals[c][0] = t.x, totals[c][1] = t.y, totals[c][2] = t.z, totals[c][3] = t.w;
      }
      const std::uint32_t flags =
          right < tokens ? *reinterpret_cast<const std::uint32_t*>(
                               x.refined + static_cast<std::size_t>(right) * (stride / group_size) +
                               4 * static_cast<std::size_t>(record))
                         : 0;
      const std::uint32_t refined = __reduce_or_sync(all_lanes, flags);
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        std::uint32_t fragment[4], values[2] = {0, 0};
        a[0].bytes(g, fragment[0], fragment[2]);
        a[1].bytes(g, fragment[1], fragment[3]);
        if (right < tokens) {
          const uint2 eight = *reinterpret_cast<const uint2*>(x.quanta + b_at + 32 * g);
          values[0] = eight.x, values[1] = eight.y;
        }
        int dot[4] = {0, 0, 0, 0};
        mma_int8(dot, fragment, values);
        float unit = 1.0f;
        if (refined >> (8 * g) & 255u) {
          unit = 0x1p-7f;
#pragma unroll
          for (int& d : dot) d *= 128;
          if (right < tokens) {
            const uint2 eight = *reinterpret_cast<const uint2*>(x.residuals + b_at + 32 * g);
            values[0] = eight.x, values[1] = eight.y;
          }
          mma_int8(dot, fragment, values);
        }
#pragma unroll
        for (int d = 0; d < 4; ++d) {
          const float step = a[d / 2].scales[g] * unit;
          sums[tile][d] = __fmaf_rn(static_cast<float>(dot[d]), step * scales[d % 2][g], sums[tile][d]);
          if constexpr (layout::value_bits == 4)
            sums[tile][d] = __fmaf_rn(a[d / 2].minima[g], totals[d % 2][g], sums[tile][d]);
        }
      }
    }
  }
}

/// What is done with the sums of a block's rows and tokens. `sum(row, token)` are those of matrix `m`, numbered from the
/// block's first row and token; all threads of the block call it together.
/// - matrices: how many matrices of one shape are multiplied side by side
/// - row_tiles: tiles of 16 rows that a block has of each
struct store_product {
  static constexpr int matrices = 1;
  static constexpr int row_tiles = 1;
  float* out;  // [tokens, stride], from the column of the matrix's first row
  int stride;

  template <class Sum>
  __device__ __forceinline__ void finish(const Sum& sum, int row, int rows, int token, int tokens) const {
    for (int at = static_cast<int>(threadIdx.x); at < 16 * tokens; at += static_cast<int>(blockDim.x)) {
      if (at % 16 >= rows) continue;
      out[static_cast<std::size_t>(token + at / 16) * static_cast<std::size_t>(stride) +
          static_cast<std::size_t>(row + at % 16)] = sum(0, at % 16, at / 16);
    }
  }
};

/// Adds to the residual stream.
struct add_product {
  static constexpr int matrices = 1;
  static constexpr int row_tiles = 1;
  float* residual;  // [tokens, stride]
  int stride;

  template <class Sum>
  __device__ __forceinline__ void finish(const Sum& sum, int row, int rows, int token, int tokens) const {
    for (int at = static_cast<int>(threadIdx.x); at < 16 * tokens; at += static_cast<int>(blockDim.x)) {
      if (at % 16 >= rows) continue;
      residual[static_cast<std::size_t>(token + at / 16) * static_cast<std::size_t>(stride) +
               static_cast<std::size_t>(row + at % 16)] += sum(0, at % 16, at / 16);
    }
  }
};

/// SiLU(gate) * up, in the forms that the next product reads. 32 rows are a group of them.
struct gate_product {
  static constexpr int matrices = 2;
  static constexpr int row_tiles = 2;
  activation_view out;  // [tokens, rows padded]

  template <class Sum>
  __device__ __forceinline__ void finish(const Sum& sum, int row, int rows, int token, int tokens) const {
    const int lane = static_cast<int>(threadIdx.x) % 8;
    const int each = static_cast<int>(blockDim.x) / 8,
              rounded = (tokens + 3) / 4 * 4;  // whole warps store together
    for (int t = static_cast<int>(threadIdx.x) / 8; t < rounded; t += each) {
      float x[4], squares = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        x[i] = 0;
        if (4 * lane + i < rows && t < tokens) {
          const float gate = sum(0, 4 * lane + i, t);
          x[i] = gate / (1.0f + expf(-gate)) * sum(1, 4 * lane + i, t);
        }
        squares = __fmaf_rn(x[i], x[i], squares);
      }
      squares = sum_over_lanes<8>(squares);
      const float limit = outlier_ratio * sqrtf(squares / group_size);
      store_activations(out, token + t, t < tokens ? row + 4 * lane : out.stride, x, limit);
    }
  }
};

template <class Epilogue>
struct matmul_parameters {
  matrix_view weights[Epilogue::matrices];  // all of one shape
  activation_view x;
  int tokens;
  Epilogue epilogue;
};

/// One block for Epilogue::row_tiles * 16 rows and TokenTiles * 8 tokens; one warp for each 16 rows and slice of k.
template <class Format, class Epilogue, int TokenTiles, int Slices>
__global__ void __launch_bounds__(Epilogue::matrices* Epilogue::row_tiles* Slices* warp_lanes)
    matmul_int8_kernel(const __grid_constant__ matmul_parameters<Epilogue> p) {
  constexpr int products = Epilogue::matrices * Epilogue::row_tiles;
  constexpr int token_stride = 20;  // floats between tokens: a warp's D fragments then lie in 32 banks
  __shared__ float partial[Slices][products][TokenTiles * 8][token_stride];
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
            lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int product = warp / Slices, slice = warp % Slices;
  const int matrix = product / Epilogue::row_tiles, tile = product % Epilogue::row_tiles;
  const int row = static_cast<int>(blockIdx.x) * Epilogue::row_tiles * 16,
            rows = min(p.weights[0].rows - row, Epilogue::row_tiles * 16);
  const int token = static_cast<int>(blockIdx.y) * TokenTiles * 8,
            tokens = min(p.tokens - token, TokenTiles * 8);

  float sums[TokenTiles][4] = {};
  if (16 * tile < rows) {
    const int records = p.weights[0].row_records;
    multiply_int8<Format, TokenTiles>(p.weights[matrix], row / 16 + tile, records * slice / Slices,
                                      records * (slice + 1) / Slices, p.x, token, p.tokens, sums);
  }
#pragma unroll
  for (int t = 0; t < TokenTiles; ++t) {
#pragma unroll
    for (int d = 0; d < 4; ++d)
      partial[slice][product][8 * t + lane % 4 * 2 + d % 2][lane / 4 + d / 2 * 8] = sums[t][d];
  }
  __syncthreads();
  const auto sum = [&](int m, int r, int t) {
    const int of = m * Epilogue::row_tiles + r / 16;
    float total = partial[0][of][t][r % 16];
#pragma unroll
    for (int s = 1; s < Slices; ++s) total += partial[s][of][t][r % 16];
    return total;
  };
  p.epilogue.finish(sum, row, rows, token, tokens);
}

/// The slices of k that a matrix's sums are made of: its shape decides, never the number of tokens.
constexpr int slices_of(int row_records) { return row_records >= 16 ? 8 : row_records >= 4 ? 4 : 1; }

/// The product of one or more matrices [rows, columns] with x [tokens, columns], and the epilogue's work on it.
template <class Format, class Epilogue>
void matmul_int8(const stream& on, const matmul_parameters<Epilogue>& p) {
  const auto blocks = [](int count, int each) { return static_cast<unsigned>((count + each - 1) / each); };
  const auto start = [&]<int TokenTiles, int Slices>() {
    constexpr int warps = Epilogue::matrices * Epilogue::row_tiles * Slices;
    launch(matmul_int8_kernel<Format, Epilogue, TokenTiles, Slices>, "matmul_int8_kernel",
           {dim3(blocks(p.weights[0].rows, Epilogue::row_tiles * 16), blocks(p.tokens, TokenTiles * 8)),
            dim3(warps * warp_lanes)},
           on, p);
  };
  const auto sliced = [&]<int TokenTiles>() {
    switch (slices_of(p.weights[0].row_records)) {
      case 8:
        return start.template operator()<TokenTiles, 8>();
      case 4:
        return start.template operator()<TokenTiles, 4>();
      default:
        return start.template operator()<TokenTiles, 1>();
    }
  };
  if (p.tokens <= 8) {
    sliced.template operator()<1>();
  } else {
    sliced.template operator()<2>();
  }
}

}  // namespace tenon::cuda
