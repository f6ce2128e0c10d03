// What an op of the host backend runs with: its place in the thread team and scratch memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/host/panel.hpp"
#include "tenon/backend/host/thread_team.hpp"
#include "tenon/core/buffer.hpp"

namespace tenon::host {

/// Tokens whose products with a panel are formed at once; their sums stay in the first-level cache.
inline constexpr std::size_t token_block = 64;
/// Bytes for weights that a kernel has unpacked: what the first-level cache holds beside activations.
inline constexpr std::size_t unpacked_bytes = std::size_t{24} << 10;

/// Scratch of one thread.
struct thread_scratch {
  buffer<float> sums{2 * token_block * panel_rows};  // two panels of products, [token][32]
  buffer<std::uint8_t> unpacked{unpacked_bytes};
  buffer<float> attention;  // sized by the engine from the model's shape
};

/// Given to every op by the thread that runs it.
struct op_context {
  team_member& member;
  thread_scratch& scratch;
};

}  // namespace tenon::host
