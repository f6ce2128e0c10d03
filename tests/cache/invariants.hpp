// What must hold of a block manager at any time.
#pragma once

#include <tenon/cache/block_manager.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tenon::test {

/// Empty when all is well; else what is wrong. `swapped` are the blocks of all swapped sequences together.
template <std::size_t N, class Index>
std::string fault_of(const cache::block_manager<N, Index>& m, std::size_t slots, std::size_t swapped) {
  std::vector<std::size_t> holders(m.blocks());
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto table = m.tables().subspan(slot * m.max_blocks(), m.max_blocks());
    for (std::size_t b = 0; b < table.size(); ++b) {
      if ((table[b] == cache::no_block) != (b >= m.held(slot))) return "a table says what the slot holds";
      if (table[b] == cache::no_block) continue;
      if (std::count(table.begin(), table.end(), table[b]) != 1) return "a block is in a table once";
      ++holders[static_cast<std::size_t>(table[b])];
    }
    if (m.written(slot) > m.held(slot) * N) return "what is written is held";
  }
  std::size_t held = 0, parked = 0;
  for (std::size_t b = 0; b < m.blocks(); ++b) {
    const auto block = static_cast<cache::block_id>(b);
    if (m.pool().references(block) != holders[b]) return "references are the tables that name a block";
    held += holders[b] > 0 ? 1u : 0u;
    parked += holders[b] == 0 && m.index().holds(block) ? 1u : 0u;
  }
  if (parked != m.index().parked()) return "what nobody holds but the index knows is parked";
  if (m.pool().available() + parked + held != m.blocks()) return "a block is free, kept or held";
  if (m.free_blocks() != m.blocks() - held) return "all blocks that nobody holds can be had";
  if (m.swap().used() != swapped) return "the swap space holds the swapped sequences";
  return "";
}

}  // namespace tenon::test
