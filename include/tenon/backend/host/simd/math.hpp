// Functions on vectors: exp and SiLU, written once over the vector operations.
#pragma once

#include "tenon/backend/host/simd/simd.hpp"

namespace tenon::host {

/// e^x, with a relative error below 2^-22. Below -87.3 the result is exactly 0 (also for -inf), above 88.3 it
/// is that of 88.3; NaN stays NaN. Reduction to [-ln2/2, ln2/2] by Cody and Waite, then a polynomial of
/// degree 6.
template <class Isa>
typename simd<Isa>::vec exp(typename simd<Isa>::vec x) {
  using v = simd<Isa>;
  const auto lowest = v::set1(-87.3f);
  const auto clamped = v::smaller(v::set1(88.3f), v::larger(lowest, x));
  const auto n = v::round(v::mul(clamped, v::set1(1.44269504f)));
  auto r = v::fma(n, v::set1(-0.693145752f), clamped);
  r = v::fma(n, v::set1(-1.42860677e-6f), r);
  auto p = v::set1(1.0f / 720);
  p = v::fma(p, r, v::set1(1.0f / 120));
  p = v::fma(p, r, v::set1(1.0f / 24));
  p = v::fma(p, r, v::set1(1.0f / 6));
  p = v::fma(p, r, v::set1(0.5f));
  p = v::fma(p, r, v::set1(1.0f));
  p = v::fma(p, r, v::set1(1.0f));
  return v::keep_where_not_less(x, lowest, v::scale_by_power(p, n));
}

/// x / (1 + e^-x), the SiLU (swish) activation.
template <class Isa>
typename simd<Isa>::vec silu(typename simd<Isa>::vec x) {
  using v = simd<Isa>;
  return v::div(x, v::add(v::set1(1.0f), exp<Isa>(v::sub(v::zero(), x))));
}

}  // namespace tenon::host
