// How large an engine is made: the options, and the defaults that stand behind their zeros.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tenon/engine/options.hpp"
#include "tenon/model/shape.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon {

struct engine_capacity {
  std::size_t max_batch;  // sequences at once
  std::size_t context;    // positions of one sequence
  step_capacity step;
  cache::geometry cache;
};

/// What an engine with this batching policy and cache manager gets for a model of this shape.
template <class Batching, class CacheManager>
engine_capacity capacity_for(const model::shape& shape, const engine_options& options) {
  constexpr std::size_t most = Batching::max_batch, default_context = 4096, default_step_tokens = 512;
  engine_capacity size;
  size.max_batch = options.max_batch != 0 ? (std::min)(options.max_batch, most) : most;
  size.context = (std::min)(options.context != 0 ? options.context : default_context, shape.context);
  const std::size_t tokens = options.max_step_tokens != 0 ? options.max_step_tokens : default_step_tokens;
  const std::size_t step_tokens = (std::max)(tokens, size.max_batch);
  size.cache = {size.max_batch, size.context, options.cache_tokens, 0, (std::min)(step_tokens, size.context)};
  const std::size_t rows = CacheManager(size.cache).rows();
  if constexpr (Batching::preemption_type::swaps)
    size.cache.swap_rows =
        options.swap_tokens != 0 ? options.swap_tokens : (std::max)(size.context, rows / 4);
  size.step = {size.max_batch, step_tokens, rows, size.context, size.cache.swap_rows};
  return size;
}

}  // namespace tenon
