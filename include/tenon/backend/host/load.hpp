// Model weights into the host backend's panels: checked first, then packed by the whole team.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "tenon/backend/host/matrix.hpp"
#include "tenon/backend/host/thread_team.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama_weights.hpp"

namespace tenon {

/// How far loading has come, in bytes of the file's tensors.
struct load_progress {
  std::size_t done = 0;
  std::size_t total = 0;
};

/// Called on the loading thread now and then; an empty function is not called.
using progress_callback = std::function<void(const load_progress&)>;

namespace host {

using llama_weights = model::llama_weights<matrix, buffer<float>>;

namespace detail {

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

}  // namespace detail

/// Loads a model whose tensors have been found. All formats are checked before the first matrix is allocated.
template <class Isa, class WeightFormats>
llama_weights load_llama(const io::gguf_file& file, const model::llama_tensors& tensors, thread_team& team,
                         const progress_callback& progress) {
  load_progress state;
  for (const model::tensor_use& use : tensors.uses()) {
    detail::check_format<WeightFormats>(file, use);
    state.total += use.tensor->data.size();
  }
  const auto advance = [&](const model::tensor_use& use) {
    state.done += use.tensor->data.size();
    if (progress) progress(state);
  };
  const auto load_matrix = [&](const model::tensor_use& use) {
    matrix made;
    WeightFormats::visit(use.tensor->type, [&]<class Format>() {
      made = make_matrix<Isa, Format>(use.rows, use.columns);
      team.run([&](team_member& member) {
        member.for_each(made.panels(), [&](std::size_t panel) {
          pack_panel<Isa, Format>(made, panel, use.tensor->data.data());
        });
      });
    });
    advance(use);
    return made;
  };
  const auto load_vector = [&](const model::tensor_use& use) {
    buffer<float> made(use.columns);
    weights<f32, f16, bf16>::visit(use.tensor->type, [&]<class Format>() {
      decode_row<Format>(use.tensor->data.data(), made.data(), use.columns);
    });
    advance(use);
    return made;
  };
  return tensors.load<matrix, buffer<float>>(load_matrix, load_vector);
}

}  // namespace host
}  // namespace tenon
