// What has to be copied between cache blocks before a step runs. A manager lists it; a backend does it.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace tenon::cache
