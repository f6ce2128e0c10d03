// Pages from one pool: a sequence holds as many as it needs, wherever they are.
#pragma once

#include <cstddef>

#include "tenon/cache/block_manager.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/cache.hpp"

namespace tenon::cache {

/// Blocks of N positions, found by a table for each sequence (Kwon et al., "Efficient Memory Management for Large
/// Language Model Serving with PagedAttention", 2023). Copies of a sequence share its blocks until they write.
template <std::size_t N = 16>
struct paged {
  using slot = tenon::slot::cache;
  static constexpr auto name = "paged<" + decimal<N>() + ">";
  static constexpr std::size_t block_size = N;
  using view = block_view<N>;
  using manager = block_manager<N>;
};

static_assert(policy<paged<16>>);

}  // namespace tenon::cache
