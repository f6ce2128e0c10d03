// Products of activations with weight matrices, and what is done with the results while they are in cache:
// stored, added to the residual stream, or gated by SiLU and quantised for the next product.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tenon/backend/host/context.hpp"
#include "tenon/backend/host/kernel/kernels.hpp"
#include "tenon/backend/host/matrix.hpp"
#include "tenon/backend/host/simd/math.hpp"

namespace tenon::host {

/// The form in which a product with a weight format reads activations: int8 for block formats when the policy
/// says so, bf16 where it says so and the instruction set has it, else fp32, on values rounded to bf16 or f16 where
/// the policy says so.
template <class Isa, class Format, class Activation>
using form_of = std::conditional_t<
    std::is_same_v<Activation, int8> && !scalar_format<Format>, as_int8,
    std::conditional_t<std::is_same_v<Activation, bf16> && std::is_same_v<Isa, isa::avx512_bf16>, as_bf16,
                       as_float>>;

namespace detail {

/// Calls f.template operator()<n>() with the largest n of Most, Most / 2, ..., 1 that is at most `count`, and
/// returns n: blocks of a few sizes make up any count, and each size is code to compile.
template <std::size_t Most, class F>
std::size_t with_count(std::size_t count, F&& f) {
  if constexpr (Most > 1) {
    if (count < Most) return with_count<Most / 2>(count, f);
  }
  f.template operator()<Most>();
  return Most;
}

/// sums[count][32] = product of a panel with tokens [token, token + count), count at most token_block.
template <class Isa, class Format, class Form>
[[gnu::noinline]] void panel_product(const matrix& weights, std::size_t panel, const activations& x,
                                     std::size_t token, std::size_t count, float* sums,
                                     std::uint8_t* unpacked) {
  using kernel = product_kernel<Isa, Format, Form>;
  const std::uint8_t* groups = weights.panel(panel);
  if (count <= kernel::direct_tokens) {
    for (std::size_t t = 0; t < count;) {
      t += with_count<kernel::direct_tokens>(count - t, [&]<std::size_t T>() {
        kernel::template direct<T>(groups, weights.groups(), x, token + t, sums + t * panel_rows);
      });
    }
    return;
  }
  std::memset(sums, 0, count * panel_rows * sizeof(float));
  constexpr std::size_t most = unpacked_bytes / kernel::scratch_bytes;
  const std::size_t stretches = (weights.groups() + most - 1) / most;
  const std::size_t length = (weights.groups() + stretches - 1) / stretches;
  for (std::size_t first = 0; first < weights.groups(); first += length) {
    const std::size_t last = (std::min)(first + length, weights.groups());
    kernel::unpack(groups, first, last, unpacked);
    for (std::size_t t = 0; t < count;) {
      t += with_count<kernel::block_tokens>(count - t, [&]<std::size_t T>() {
        kernel::template multiply<T>(unpacked, first, last, x, token + t, sums + t * panel_rows);
      });
    }
  }
}

}  // namespace detail

/// The products of one engine: for its instruction set, the weight formats it holds and its activations.
template <class Isa, class WeightFormats, class Activation>
struct products {
  using v = simd<Isa>;

  /// The product of any matrix with tokens [token, token + count): sums[count][32].
  static void panel(const matrix& weights, std::size_t panel, const activations& x, std::size_t token,
                    std::size_t count, float* sums, std::uint8_t* unpacked) {
    WeightFormats::visit(weights.format, [&]<class Format>() {
      detail::panel_product<Isa, Format, form_of<Isa, Format, Activation>>(weights, panel, x, token, count,
                                                                           sums, unpacked);
    });
  }

  /// out[tokens, stride] = x times the matrices, their results side by side (as query, key and value are).
  template <std::size_t N>
  static void store(op_context context, const std::array<const matrix*, N>& weights, const activations& x,
                    std::size_t tokens, float* out, std::size_t stride) {
    std::size_t panels = 0;
    for (const matrix* each : weights) panels += each->panels();
    for_blocks(context, panels, tokens, [&](std::size_t panel_index, std::size_t token, std::size_t count) {
      std::size_t which = 0, column = 0;
      while (panel_index >= weights[which]->panels()) {
        panel_index -= weights[which]->panels();
        column += weights[which]->rows;
        ++which;
      }
      float* sums = context.scratch.sums.data();
      panel(*weights[which], panel_index, x, token, count, sums, context.scratch.unpacked.data());
      const std::size_t row = panel_index * panel_rows;
      const std::size_t rows = (std::min)(weights[which]->rows - row, std::size_t{panel_rows});
      for (std::size_t t = 0; t < count; ++t) {
        std::memcpy(out + (token + t) * stride + column + row, sums + t * panel_rows, rows * sizeof(float));
      }
    });
  }

  /// residual[tokens, weights.rows] += x times the matrix.
  static void add(op_context context, const matrix& weights, const activations& x, std::size_t tokens,
                  float* residual) {
    for_blocks(context, weights.panels(), tokens,
               [&](std::size_t index, std::size_t token, std::size_t count) {
                 float* sums = context.scratch.sums.data();
                 panel(weights, index, x, token, count, sums, context.scratch.unpacked.data());
                 const std::size_t row = index * panel_rows;
                 const std::size_t rows = (std::min)(weights.rows - row, std::size_t{panel_rows});
                 for (std::size_t t = 0; t < count; ++t) {
                   float* to = residual + (token + t) * weights.rows + row;
                   for (std::size_t i = 0; i < rows; ++i) to[i] += sums[t * panel_rows + i];
                 }
               });
  }

  /// out[tokens, gate.rows] = SiLU(x times gate) * (x times up). A panel is one group of the next product's
  /// activations.
  static void swiglu(op_context context, const matrix& gate, const matrix& up, const activations& x,
                     std::size_t tokens, activations& out) {
    for_blocks(context, gate.panels(), tokens, [&](std::size_t index, std::size_t token, std::size_t count) {
      float* gates = context.scratch.sums.data();
      float* ups = gates + token_block * panel_rows;
      panel(gate, index, x, token, count, gates, context.scratch.unpacked.data());
      panel(up, index, x, token, count, ups, context.scratch.unpacked.data());
      for (std::size_t i = 0; i < count * panel_rows; i += v::lanes) {
        v::store(gates + i, v::mul(silu<Isa>(v::load(gates + i)), v::load(ups + i)));
      }
      for (std::size_t t = 0; t < count; ++t) {
        const float* group = gates + t * panel_rows;
        const float limit = refinement_limit(sum_of_squares<Isa>(group), group_size);
        store_group<Isa, Activation>(out, token + t, index, group, limit);
      }
    });
  }

 private:
  /// Calls work(panel, token, count) for every panel and every block of tokens, over the team.
  template <class Work>
  static void for_blocks(op_context context, std::size_t panels, std::size_t tokens, Work&& work) {
    const std::size_t blocks = (tokens + token_block - 1) / token_block;
    context.member.for_each(panels * blocks, [&](std::size_t i) {
      const std::size_t token = i % blocks * token_block;
      work(i / blocks, token, (std::min)(token_block, tokens - token));
    });
  }
};

}  // namespace tenon::host
