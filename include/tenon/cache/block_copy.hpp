// What has to be copied between cache blocks before a step runs. A manager lists it; a backend does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::cache {

/// The number of a block. Blocks are `block_size` consecutive rows; block b begins at row b * block_size, which
/// is to be computed in 64 bits.
using block_id = std::int32_t;

/// No block.
inline constexpr block_id no_block = -1;

/// Between which memories.
enum class copy_kind : std::uint8_t {
  within,     // both in the cache: a shared block that is about to be written
  to_host,    // from the cache to the swap space
  from_host,  // and back
};

/// A whole block, of every layer, keys and values.
struct block_copy {
  copy_kind kind = copy_kind::within;
  block_id from = no_block;
  block_id to = no_block;
  friend bool operator==(const block_copy&, const block_copy&) = default;
};

/// The length of the longest head of `copies` in which no copy touches what another one writes, so that they can
/// be done all at once. Copies are otherwise to be done in their order. 0 only for an empty list.
constexpr std::size_t independent_copies(std::span<const block_copy> copies) {
  const auto reads_host = [](const block_copy& c) { return c.kind == copy_kind::from_host; };
  const auto writes_host = [](const block_copy& c) { return c.kind == copy_kind::to_host; };
  for (std::size_t next = 1; next < copies.size(); ++next) {
    const block_copy& b = copies[next];
    for (std::size_t earlier = 0; earlier < next; ++earlier) {
      const block_copy& a = copies[earlier];
      const bool after_write = a.to == b.from && writes_host(a) == reads_host(b);
      const bool over_read = a.from == b.to && reads_host(a) == writes_host(b);
      const bool over_write = a.to == b.to && writes_host(a) == writes_host(b);
      if (after_write || over_read || over_write) return next;
    }
  }
  return copies.size();
}

}  // namespace tenon::cache
