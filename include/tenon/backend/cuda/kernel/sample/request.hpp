// What a row of logits is sampled by, as the device reads it: the fields of a request that the policy's stages read, and
// what the draw needs. Plain data, so that an engine copies one array a step.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/core/types.hpp"
#include "tenon/sample/field.hpp"
#include "tenon/sample/params.hpp"

namespace tenon::cuda {

namespace detail {

template <bool Read>
struct temperature_field {};
template <>
struct temperature_field<true> {
  float temperature = 1;
};
template <bool Read>
struct top_k_field {};
template <>
struct top_k_field<true> {
  std::int32_t top_k = 0;
};
template <bool Read>
struct top_p_field {};
template <>
struct top_p_field<true> {
  float top_p = 1;
};
template <bool Read>
struct min_p_field {};
template <>
struct min_p_field<true> {
  float min_p = 0;
};

}  // namespace detail

/// One row's request. Fields that the policy does not read are not there.
template <class Policy>
struct row_request : detail::temperature_field<contains(Policy::reads, sampling::field::temperature)>,
                     detail::top_k_field<contains(Policy::reads, sampling::field::top_k)>,
                     detail::top_p_field<contains(Policy::reads, sampling::field::top_p)>,
                     detail::min_p_field<contains(Policy::reads, sampling::field::min_p)> {
  typename Policy::custom_params custom = {};
  std::uint64_t seed = 0;
  std::uint64_t token_index = 0;
  const token_id* banned = nullptr;  ///< [banned_count], in device memory; what is outside the row is ignored
  std::int32_t banned_count = 0;
};

/// A row's request from that of its sequence. `banned` is memory of the device.
template <class Policy>
row_request<Policy> make_row_request(const sampling::params<Policy>& from, std::uint64_t seed,
                                     std::uint64_t token_index, const token_id* banned = nullptr,
                                     std::int32_t banned_count = 0) {
  static_assert(
      std::is_trivially_copyable_v<typename Policy::custom_params>,
      "tenon: a sampling stage's params go to the device as bytes, and one of this chain's cannot: give it "
      "numbers and fixed arrays only, or sample on the host");
  using sampling::field;
  row_request<Policy> made;
  if constexpr (contains(Policy::reads, field::temperature)) made.temperature = from.temperature;
  if constexpr (contains(Policy::reads, field::top_k)) made.top_k = from.top_k;
  if constexpr (contains(Policy::reads, field::top_p)) made.top_p = from.top_p;
  if constexpr (contains(Policy::reads, field::min_p)) made.min_p = from.min_p;
  made.custom = from.custom;
  made.seed = seed, made.token_index = token_index;
  made.banned = banned, made.banned_count = banned_count;
  return made;
}

}  // namespace tenon::cuda
