// Causal attention over a cache view, for the spans of a step: one launch (two where a step has both decodes and chunks of
// prompts), from rotated queries and the cache to the activations that the output projection reads.
//
// A query's positions are cut into chunks that begin at fixed positions; a chunk's softmax and weighted sum are taken by
// themselves and joined in ascending order. Both kernels do this with the same instructions in the same order, so a token's
// result is the same bits in a decode, in a chunk of a prompt, and in any batch. Weights and queries are rounded to the
// inputs of the tensor cores (f16; bf16 where the cache is bf16), and so are values of q8_0, of which those beyond 65504 are
// infinities then; sums are fp32.
#pragma once

#include <type_traits>

#include "tenon/backend/cuda/kernel/attention_f32.cuh"
#include "tenon/backend/cuda/kernel/attention_split.cuh"
#include "tenon/backend/cuda/kernel/attention_tile.cuh"
#include "tenon/core/concat.hpp"

namespace tenon::cuda {

/// Pairs of cache formats that the kernels read: both fp32, or each one of f16, bf16, e4m3 and q8_0.
template <class Key, class Value>
inline constexpr bool attention_formats = std::is_same_v<Key, f32> == std::is_same_v<Value, f32>;

namespace detail {

/// A layer's options over a view.
template <class Policy, class View>
struct in_view {
  using type = Policy;
};
template <class Policy, cache::windowed_view View>
struct in_view<Policy, View> {
  static_assert(Policy::window == 0, "the layer's options or the cache have a window, not both");
  using type = attention_in_window<Policy, View>;
};

/// Allows a kernel its shared memory where that is more than the 48 KiB that every kernel can have.
template <class Parameters>
void launch_shared(void (*kernel)(Parameters), const char* name, const launch_shape& shape, const stream& on,
                   const Parameters& p) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shape.shared)),
        name);
  launch(kernel, name, shape, on, p);
}

}  // namespace detail

/// out = softmax(q k^T) v for every token of the spans, over what the layer's options and the view let a token see. HeadSize is attention_head_size(head_dim). Throws tenon::error for
/// heads that the kernels cannot take.
template <int HeadSize, class Key, class Value, attention_policy Layer, cache::layout_view View>
void attention(const stream& on, const attention_parameters<View>& p, const attention_extent& extent) {
  static_assert(HeadSize == attention_head_size(HeadSize), "HeadSize is one of attention_head_size()");
  static_assert(attention_formats<Key, Value>,
                "keys and values are both f32, or each one of f16, bf16, e4m3, q8_0");
  if (!attention_takes(p.heads, p.kv_heads, p.head_dim) || attention_head_size(p.head_dim) != HeadSize)
    throw error(concat("no attention kernel for ", p.heads, " heads of ", p.head_dim, " on ", p.kv_heads,
                       " key-value heads in this instantiation for heads of up to ", HeadSize,
                       "; heads are a multiple of 8 up to 256 wide, and up to 64 share a key-value head"));
  using Policy = typename detail::in_view<Layer, View>::type;
  const auto size = [](int n) { return static_cast<unsigned>(n); };
  const unsigned spans = size(extent.spans);
  if constexpr (std::is_same_v<Key, f32>) {
    launch(attention_f32_kernel<Policy, View>, "attention_f32_kernel",
           {dim3(size(extent.longest), size(p.heads), spans), dim3(attention_threads)}, on, p);
  } else {
    const int group = p.heads / p.kv_heads;
    if (extent.has_split) {
      detail::launch_shared(
          attention_split_kernel<Key, Value, HeadSize, Policy, View>, "attention_split_kernel",
          {dim3(size(extent.splits), size(p.kv_heads * attention_split_tiles(group)), spans),
           dim3(attention_threads), detail::split_layout<Key, Value, HeadSize>::bytes},
          on, p);
    }
    if (extent.has_blocks) {
      const int blocks = (extent.longest + attention_block_tokens(group) - 1) / attention_block_tokens(group);
      detail::launch_shared(attention_tile_kernel<Key, Value, HeadSize, Policy, View>,
                            "attention_tile_kernel",
                            {dim3(size(blocks), size(p.kv_heads), spans), dim3(attention_threads),
                             detail::tile_layout<Key, Value, HeadSize>::bytes},
                            on, p);
    }
  }
}

}  // namespace tenon::cuda
