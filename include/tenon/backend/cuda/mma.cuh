// The tensor core instructions that the kernels use (PTX ISA, warp-level matrix instructions): D = A * B + D, A 16 rows
// by k, B k by 8 columns. Lane l holds of A rows l / 4 and l / 4 + 8, of B column l / 4, of D rows l / 4 (first two) and
// l / 4 + 8 (last two) at columns 2 (l % 4) and the next.
#pragma once

#include <cstdint>

#include "tenon/format/all.hpp"

namespace tenon::cuda {

/// Signed bytes, k = 32, exact sums. a: rows 0-7 first half of k, rows 8-15 first half, rows 0-7 second half, rows 8-15.
__device__ __forceinline__ void mma_int8(int (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Numbers of 16 bits in pairs, k = 16, sums in fp32. a: rows 0-7 first half of k, rows 8-15 first half, rows 0-7 second
/// half, rows 8-15.
template <scalar_format Half>
__device__ __forceinline__ void mma_half(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                         std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  if constexpr (Half::gguf_type == f16::gguf_type) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    static_assert(Half::gguf_type == bf16::gguf_type);
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}

}  // namespace tenon::cuda
