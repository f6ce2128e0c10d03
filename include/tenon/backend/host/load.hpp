// Model weights into the host backend's panels: checked first, then packed by the whole team.
#pragma once

#include <cstddef>

#include "tenon/backend/check_format.hpp"
#include "tenon/backend/host/matrix.hpp"
#include "tenon/backend/host/thread_team.hpp"
#include "tenon/core/progress.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama_weights.hpp"

namespace tenon {

namespace host {

using llama_weights = model::llama_weights<matrix, buffer<float>>;

/// Loads a model whose tensors have been found. All formats are checked before the first matrix is allocated.
template <class Isa, class WeightFormats>
llama_weights load_llama(const io::gguf_file& file, const model::llama_tensors& tensors, thread_team& team,
                         const progress_callback& progress) {
  load_progress state;
  for (const model::tensor_use& use : tensors.uses()) {
    backend::check_format<WeightFormats>(file, use);
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
