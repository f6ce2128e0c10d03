// What one step of the engine runs: a ragged batch. Each span is some tokens of one sequence at consecutive
// positions: one token is a decode, many are a chunk of a prompt, and both go the same way through the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/types.hpp"

namespace tenon {

/// Tokens of one sequence. `rows` of a step are its tokens, numbered over all spans.
struct sequence_span {
  std::size_t slot = 0;            // the sequence's place in the batch and in the cache
  std::size_t first_row = 0;       // row of the span's first token
  std::size_t first_position = 0;  // position of that token in its sequence
  std::size_t count = 0;           // tokens
};

/// A step, as arrays owned by the scheduler and valid until its next step.
struct step_plan {
  std::span<const token_id> tokens;        // [rows]
  std::span<const std::size_t> positions;  // [rows], each token's position in its sequence
  std::span<const sequence_span> spans;
  std::span<const std::size_t> sampled_rows;  // rows whose logits are wanted, ascending

  /// The index of the span that a row belongs to.
  std::size_t span_of(std::size_t row) const {
    std::size_t low = 0, high = spans.size();
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (spans[middle].first_row <= row ? low : high) = middle;
    }
    return low;
  }
};

/// How much a step can hold.
struct step_capacity {
  std::size_t max_batch = 1;   // sequences, and rows that are sampled
  std::size_t max_tokens = 1;  // tokens
  std::size_t cache_rows = 0;  // rows of the cache, of all sequences together
  std::size_t context = 0;     // positions of one sequence
  std::size_t swap_rows = 0;   // in host memory, for sequences that are swapped out
};

}  // namespace tenon
