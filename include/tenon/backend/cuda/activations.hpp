// The left side of a product on the device: one row for each token, in the forms that its consumers read. The int8 form
// is the host backend's (backend/host/activations.hpp), so that both round alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/layout.hpp"
#include "tenon/backend/cuda/memory.hpp"

namespace tenon::cuda {

/// What a kernel sees: rows of `stride` values; null where no consumer reads the form. All [tokens, stride], or
/// [tokens, stride / 32] for what belongs to a group.
struct activation_view {
  float* values;           // fp32
  std::uint16_t* halves;   // bf16 or f16
  std::int8_t* quanta;     // q: x is near scale * q
  std::int8_t* residuals;  // r: x is near scale * (q + r / 128) in a refined group; zeros in the others
  std::uint8_t* refined;
  float* scales;
  float* sums;  // of what q and r stand for
  int stride;
  float* half_sums;     // [tokens, stride / 32], of the halves
  bool halves_are_f16;  // else bf16
};

/// A group is refined when its largest value is more than this many times the root mean square of its row; see the
/// host backend's.
inline constexpr float outlier_ratio = 4.0f;

/// At most one of the two 16-bit formats.
struct activation_forms {
  bool as_float = false;
  bool as_bf16 = false;
  bool as_int8 = false;
  bool as_f16 = false;

  constexpr bool as_half() const { return as_bf16 || as_f16; }
  constexpr activation_forms operator|(const activation_forms& other) const {
    return {as_float || other.as_float, as_bf16 || other.as_bf16, as_int8 || other.as_int8,
            as_f16 || other.as_f16};
  }
};

/// Rows of `width` values, padded to a multiple of what a weight record takes (128), for `capacity` tokens. The stream
/// makes them zeros first: a kernel may leave whole groups of the padding alone.
class activations {
 public:
  activations() = default;
  activations(std::size_t capacity, std::size_t width, activation_forms forms, const stream& on)
      : stride_((width + 127) / 128 * 128),
        values_(forms.as_float ? capacity * stride_ : 0),
        halves_(forms.as_half() ? capacity * stride_ : 0),
        quanta_(forms.as_int8 ? capacity * stride_ : 0),
        residuals_(forms.as_int8 ? capacity * stride_ : 0),
        refined_(forms.as_int8 ? capacity * stride_ / group_size : 0),
        scales_(forms.as_int8 ? capacity * stride_ / group_size : 0),
        sums_(forms.as_int8 ? capacity * stride_ / group_size : 0),
        half_sums_(forms.as_half() ? capacity * stride_ / group_size : 0),
        halves_are_f16_(forms.as_f16) {
    values_.zero(on), halves_.zero(on), quanta_.zero(on), residuals_.zero(on);
    refined_.zero(on), scales_.zero(on), sums_.zero(on), half_sums_.zero(on);
  }

  activation_view view() {
    return {values_.data(),    halves_.data(), quanta_.data(), residuals_.data(),
            refined_.data(),   scales_.data(), sums_.data(),   static_cast<int>(stride_),
            half_sums_.data(), halves_are_f16_};
  }
  std::size_t stride() const { return stride_; }

  /// Bytes that one token of such rows takes.
  static constexpr std::size_t bytes_per_token(std::size_t width, activation_forms forms) {
    const std::size_t stride = (width + 127) / 128 * 128, groups = stride / group_size;
    return (forms.as_float ? stride * sizeof(float) : 0) +
           (forms.as_half() ? stride * sizeof(std::uint16_t) + groups * sizeof(float) : 0) +
           (forms.as_int8 ? 2 * stride + groups * (1 + 2 * sizeof(float)) : 0);
  }
  const device_buffer<float>& values() const { return values_; }
  const device_buffer<std::uint16_t>& halves() const { return halves_; }
  const device_buffer<std::int8_t>& quanta() const { return quanta_; }
  const device_buffer<std::int8_t>& residuals() const { return residuals_; }
  const device_buffer<std::uint8_t>& refined() const { return refined_; }
  const device_buffer<float>& scales() const { return scales_; }
  const device_buffer<float>& sums() const { return sums_; }
  const device_buffer<float>& half_sums() const { return half_sums_; }

 private:
  std::size_t stride_ = 0;
  device_buffer<float> values_;
  device_buffer<std::uint16_t> halves_;
  device_buffer<std::int8_t> quanta_;
  device_buffer<std::int8_t> residuals_;
  device_buffer<std::uint8_t> refined_;
  device_buffer<float> scales_;
  device_buffer<float> sums_;
  device_buffer<float> half_sums_;
  bool halves_are_f16_ = false;
};

}  // namespace tenon::cuda
