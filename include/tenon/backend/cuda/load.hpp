// Model weights onto the device: checked first, then packed by a team of host threads and copied part by part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "tenon/backend/check_format.hpp"
#include "tenon/backend/cuda/matrix.hpp"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/backend/cuda/upload.hpp"
#include "tenon/backend/host/thread_team.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/progress.hpp"
#include "tenon/format/load.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama_weights.hpp"

namespace tenon::cuda {

using llama_weights = model::llama_weights<matrix, vector>;

/// Whether a matrix stays as it is in the file. The embedding is packed in any case: it is read row by row, by our kernel.
template <class Products, class Format>
bool stays_by_rows(const model::llama_tensors& tensors, const model::tensor_use& use) {
  return Products::template keeps_rows<Format> && &use != &tensors.uses().front();
}

/// Bytes of a tensor on the device, with the gap to the next. Throws load_error for a format that the engine lacks.
template <class Products>
[[gnu::cold]] std::size_t device_bytes(const io::gguf_file& file, const model::llama_tensors& tensors,
                                       const model::tensor_use& use) {
  using formats = typename Products::weight_formats;
  backend::check_format<formats>(file, use);
  if (use.rows == 0) return aligned(use.columns * sizeof(float));
  std::size_t bytes = 0;
  formats::visit(use.tensor->type, [&]<class Format>() {
    bytes =
        aligned(stays_by_rows<Products, Format>(tensors, use) ? use.rows * row_bytes<Format>(use.columns)
                                                              : matrix_bytes<Format>(use.rows, use.columns));
  });
  return bytes;
}

/// Refuses what the device's kernels cannot multiply: a gate and an up matrix in different formats, as one kernel takes both.
[[gnu::cold]] inline void check_gates(const io::gguf_file& file, const model::llama_tensors& tensors) {
  const io::gguf_tensor* gate = nullptr;
  for (const model::tensor_use& use : tensors.uses()) {
    const std::string_view name = use.tensor->name;
    if (name.ends_with("ffn_gate.weight")) gate = use.tensor;
    if (name.ends_with("ffn_up.weight") && gate->type != use.tensor->type) {
      throw file.fault(use.tensor->offset,
                       concat("the tensors '", gate->name, "' and '", name, "' are ",
                              io::gguf_type_name(gate->type), " and ", io::gguf_type_name(use.tensor->type),
                              ", but backend::cuda takes both in one format; requantise the model, or use "
                              "backend::host"));
    }
  }
}

/// A model's weights and the one piece of device memory that they lie in.
struct loaded_weights {
  device_buffer<std::byte> memory;
  llama_weights parts;
};

namespace detail {

/// Writes tiles [first, first + count) of a tensor to `out`.
template <class Format>
void pack_tiles(const model::tensor_use& use, std::size_t first, std::size_t count, host::thread_team& team,
                std::byte* out) {
  const std::size_t row_bytes = use.columns / Format::block_size * Format::block_bytes;
  const std::size_t tile_bytes =
      records_of<Format>(use.columns) * static_cast<std::size_t>(weight_layout<Format>::record_bytes);
  const std::byte* data = use.tensor->data.data();
  team.run([&](host::team_member& member) {
    member.for_each(count, [&](std::size_t tile) {
      std::array<const std::byte*, tile_rows> rows{};
      for (std::size_t i = 0; i < tile_rows; ++i) {
        const std::size_t row = (first + tile) * tile_rows + i;
        rows[i] = row < use.rows ? data + row * row_bytes : nullptr;
      }
      pack_tile<Format>(rows, use.columns, out + tile * tile_bytes);
    });
  });
}

}  // namespace detail

/// Loads a model whose tensors have been found. All formats are checked before anything is allocated.
template <class Products>
[[gnu::cold]] loaded_weights load_llama(const io::gguf_file& file, const model::llama_tensors& tensors,
                                        host::thread_team& team, const progress_callback& progress) {
  check_gates(file, tensors);
  load_progress state;
  std::size_t bytes = 0, largest_unit = std::size_t{8} << 20;  // of what is copied at once
  for (const model::tensor_use& use : tensors.uses()) {
    const std::size_t tensor_bytes = device_bytes<Products>(file, tensors, use);
    bytes += tensor_bytes;
    largest_unit =
        (std::max)(largest_unit, use.rows == 0 ? tensor_bytes : tensor_bytes / tiles_of(use.rows) + 1);
    state.total += use.tensor->data.size();
  }
  loaded_weights made{device_buffer<std::byte>(bytes), {}};
  uploader to_device(largest_unit);
  std::byte* next = made.memory.data();
  const auto advance = [&](const model::tensor_use& use, std::size_t used) {
    state.done += use.tensor->data.size();
    if (progress) progress(state);
    return std::exchange(next, next + aligned(used));
  };
  const auto load_matrix = [&](const model::tensor_use& use) {
    matrix loaded{use.tensor->type, use.rows, use.columns, next};
    Products::weight_formats::visit(use.tensor->type, [&]<class Format>() {
      if (stays_by_rows<Products, Format>(tensors, use)) {
        loaded.by_rows = true;
        const std::size_t row_bytes = tenon::row_bytes<Format>(use.columns);
        to_device.upload(next, use.rows, row_bytes,
                         [&](std::size_t first, std::size_t count, std::byte* out) {
                           std::memcpy(out, use.tensor->data.data() + first * row_bytes, count * row_bytes);
                         });
        advance(use, use.rows * row_bytes);
        return;
      }
      const std::size_t tiles = tiles_of(use.rows), size = matrix_bytes<Format>(use.rows, use.columns);
      to_device.upload(next, tiles, size / tiles, [&](std::size_t first, std::size_t count, std::byte* out) {
        detail::pack_tiles<Format>(use, first, count, team, out);
      });
      advance(use, size);
    });
    return loaded;
  };
  const auto load_vector = [&](const model::tensor_use& use) {
    const std::size_t size = use.columns * sizeof(float);
    to_device.upload(next, 1, size, [&](std::size_t, std::size_t, std::byte* out) {
      weights<f32, f16, bf16>::visit(use.tensor->type, [&]<class Format>() {
        decode_row<Format>(use.tensor->data.data(), reinterpret_cast<float*>(out), use.columns);
      });
    });
    return vector{reinterpret_cast<const float*>(advance(use, size)), use.columns};
  };
  made.parts = tensors.load<matrix, vector>(load_matrix, load_vector);
  to_device.finish();
  return made;
}

}  // namespace tenon::cuda
