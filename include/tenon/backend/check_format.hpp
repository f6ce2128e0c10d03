// What a backend refuses to load, whatever the backend.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama_weights.hpp"
#include "tenon/policy/precision.hpp"

namespace tenon::backend {

/// Refuses a tensor in a format that the engine's type does not hold.
template <class WeightFormats>
[[gnu::cold]] void check_format(const io::gguf_file& file, const model::tensor_use& use) {
  const std::uint32_t type = use.tensor->type;
  if (use.rows == 0 ? weights<f32, f16, bf16>::holds(type) : WeightFormats::holds(type)) return;
  std::string message = concat("the tensor '", use.tensor->name, "' is ", io::gguf_type_name(type), ", ");
  if (use.rows == 0) {
    message += "but norms must be F32, F16 or BF16; convert the model again";
  } else if (weights<f32, f16, bf16, q8_0, q4_0, q4_1>::holds(type)) {
    std::string_view argument;
    precision::all_formats::visit(type, [&]<class Format>() { argument = Format::name; });
    message += concat("which this engine's precision does not hold; add tenon::", argument,
                      " to tenon::weights<...>");
  } else {
    message +=
        "a format that tenon does not have; requantise the model to one of F32, F16, BF16, Q8_0, Q4_0, Q4_1";
  }
  throw file.fault(use.tensor->offset, message);
}

}  // namespace tenon::backend
