// The vector operations of every instruction set that this build can run.
#pragma once

#include "tenon/backend/host/simd/portable.hpp"  // IWYU pragma: export
#if defined(TENON_HOST_AVX2)
#include "tenon/backend/host/simd/avx2.hpp"  // IWYU pragma: export
#endif
#if defined(TENON_HOST_AVX512)
#include "tenon/backend/host/simd/avx512.hpp"  // IWYU pragma: export
#endif
