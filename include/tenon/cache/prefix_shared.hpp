// Pages that remember their tokens, so that sequences with the same beginning compute and store it once.
#pragma once

#include <cstddef>

#include "tenon/cache/block_manager.hpp"
#include "tenon/cache/paged.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/cache.hpp"

namespace tenon::cache {

/// Over a paged layout: every full block is found again by its tokens and all before them. Blocks that no
/// sequence holds are kept until their room is needed, and go in the order in which they were last used.
template <class Layout, class Hash = token_hash>
struct prefix_shared;

template <std::size_t N, class Hash>
struct prefix_shared<paged<N>, Hash> {
  using slot = tenon::slot::cache;
  static constexpr auto name = "prefix_shared<" + paged<N>::name + ">";
  static constexpr std::size_t block_size = N;
  using view = block_view<N>;
  using manager = block_manager<N, prefix_index<Hash>>;
};

static_assert(policy<prefix_shared<paged<16>>>);

}  // namespace tenon::cache
