// What a manager can do beyond giving out rows. A scheduler uses what is there: a layout that somebody else wrote
// needs none of it.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>

#include "tenon/cache/block_copy.hpp"
#include "tenon/cache/swap_space.hpp"
#include "tenon/core/types.hpp"

namespace tenon::cache {

/// What a scheduler needs at the least:
/// - reserve(slot, positions): makes the slot hold them; false, and nothing changed, when there is no room
/// - release(slot): takes all back
template <class M>
concept sequence_store = requires(M& manager, std::size_t slot, std::size_t positions) {
  { manager.reserve(slot, positions) } -> std::convertible_to<bool>;
  manager.release(slot);
};

/// Knows the longest sequence that can ever fit: what is longer is refused at once.
template <class M>
concept bounded = requires(const M& manager) {
  { manager.capacity() } -> std::convertible_to<std::size_t>;
};

/// Counts blocks: what enters leaves some for those that run.
template <class M>
concept counts_blocks = requires(const M& manager, std::size_t positions) {
  { manager.blocks() } -> std::convertible_to<std::size_t>;
  { manager.free_blocks() } -> std::convertible_to<std::size_t>;
  { manager.blocks_for(positions) } -> std::convertible_to<std::size_t>;
};

/// Wants to know what has been written: computed(slot, tokens up to the last written position).
template <class M>
concept follows_tokens = requires(M& manager, std::size_t slot, std::span<const token_id> tokens) {
  manager.computed(slot, tokens);
};

/// Finds the beginnings of sequences: match(slot, tokens) gives an empty slot the positions that it returns.
template <class M>
concept shares_prefixes = requires(M& manager, std::size_t slot, std::span<const token_id> tokens) {
  { manager.match(slot, tokens) } -> std::convertible_to<std::size_t>;
};

/// Lets an empty slot share the beginning of another: fork(from, to, positions).
template <class M>
concept forks = requires(M& manager, std::size_t slot, std::size_t positions) {
  manager.fork(slot, slot, positions);
};

/// Moves sequences to host memory and back.
template <class M>
concept swaps = requires(M& manager, std::size_t slot, const swapped_sequence& swapped) {
  { manager.swap_out(slot) } -> std::same_as<std::optional<swapped_sequence>>;
  { manager.swap_in(slot, swapped, slot) } -> std::convertible_to<bool>;
  manager.discard(swapped);
};

/// Has blocks copied before a step.
template <class M>
concept copies_blocks = requires(M& manager, const M& constant) {
  { constant.copies() } -> std::convertible_to<std::span<const block_copy>>;
  manager.copies_done();
};

/// A view that finds blocks in a table; a device needs a copy of that, [blocks of the sequence].
template <class V>
concept table_view = requires(V& view) {
  { V::block_size } -> std::convertible_to<std::size_t>;
  { view.table } -> std::convertible_to<const block_id*>;
};

}  // namespace tenon::cache
