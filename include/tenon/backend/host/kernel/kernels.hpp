// The product kernels of every instruction set that this build can run.
#pragma once

#include "tenon/backend/host/kernel/float.hpp"          // IWYU pragma: export
#include "tenon/backend/host/kernel/int8_portable.hpp"  // IWYU pragma: export
#if defined(TENON_HOST_AVX2)
#include "tenon/backend/host/kernel/int8_avx2.hpp"  // IWYU pragma: export
#endif
#if defined(TENON_HOST_AVX512)
#include "tenon/backend/host/kernel/int8_avx512.hpp"  // IWYU pragma: export
#endif
#if defined(TENON_HOST_AVX512_BF16)
#include "tenon/backend/host/kernel/bf16_avx512.hpp"  // IWYU pragma: export
#endif
