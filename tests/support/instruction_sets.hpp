// The instruction sets that a test program runs its tests for.
#pragma once

#include <tuple>

#include "tenon/backend/host/isa.hpp"

namespace tenon::test {

/// The instruction sets that this program tests: what the build can run. The program with the emulated
/// AVX-512 tests nothing else.
#if defined(TENON_TEST_EMULATES_AVX512)
using instruction_sets = std::tuple<isa::avx512, isa::avx512_bf16>;
#elif defined(TENON_HOST_AVX512_BF16)
using instruction_sets = std::tuple<isa::portable, isa::avx2, isa::avx512, isa::avx512_bf16>;
#elif defined(TENON_HOST_AVX512)
using instruction_sets = std::tuple<isa::portable, isa::avx2, isa::avx512>;
#elif defined(TENON_HOST_AVX2)
using instruction_sets = std::tuple<isa::portable, isa::avx2>;
#else
using instruction_sets = std::tuple<isa::portable>;
#endif

}  // namespace tenon::test
