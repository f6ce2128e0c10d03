// What the .cu files of these tests share: activations to the device and back.
#pragma once

#include "backend/cuda/ops.hpp"
#include "tenon/backend/cuda/activations.hpp"

namespace tenon::test {

inline constexpr cuda::activation_forms every_form{true, true, true, false};

/// As they are on the device, after all that the stream does to them.
cuda_activations read_back(const cuda::activations& x, const cuda::stream& on);

/// Rows of any width in these forms: cuda::prepare takes a multiple of four values, so that zeros fill them up.
cuda::activations prepared(std::span<const float> x, std::size_t tokens, cuda::activation_forms forms,
                           const cuda::stream& on);

}  // namespace tenon::test
