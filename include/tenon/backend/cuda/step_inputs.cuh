// What the kernels of a step read of its plan: one block of pinned memory, and its copy on the device. Its addresses never
// change, so that a captured graph finds each step's numbers where it looks for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tenon/backend/cuda/kernel/attention_parameters.cuh"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/backend/cuda/stream.hpp"
#include "tenon/cache/ability.hpp"
#include "tenon/core/types.hpp"
#include "tenon/model/shape.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::cuda {

/// The arrays of a step, in device memory.
template <class View, class Request>
struct step_arrays {
  token_id* tokens;         // [tokens]
  int* positions;           // [tokens]
  int* span_of;             // [tokens]
  int* sampled_rows;        // [sampled]
  attention_span* spans;    // [spans]
  View* views;              // [spans]
  cache::block_id* tables;  // [spans, table_size], of views that have tables
  Request* requests;        // [sampled]
};

/// Room for steps of one capacity, and the copy of one at a time.
template <class View, class Request>
class step_inputs {
  using arrays = step_arrays<View, Request>;

 public:
  explicit step_inputs(const step_capacity& capacity)
      : host_(bytes(capacity)),
        device_(bytes(capacity)),
        table_size_(table_size(capacity)),
        on_host_(place(host_.data(), capacity)),
        on_device_(place(device_.data(), capacity)) {
    std::memset(host_.data(), 0, host_.size());
  }

  static std::size_t bytes(const step_capacity& capacity) {
    std::size_t size = 0;
    lay_out(capacity,
            [&](auto arrays::*, std::size_t count, std::size_t each) { size = next(size, count * each); });
    return size;
  }

  /// Writes a plan for kernels that are launched for `rows` tokens, and for as many spans where that is more than the plan
  /// has: those behind are of no sequence, are neither cached nor attended to, and nobody reads what becomes of them.
  attention_extent write(const step_plan& plan, std::span<const View> views, std::size_t rows,
                         const model::shape& shape) {
    for (std::size_t row = 0; row < rows; ++row) {
      const bool given = row < plan.tokens.size();
      on_host_.tokens[row] = given ? plan.tokens[row] : 0;
      on_host_.positions[row] = given ? static_cast<int>(plan.positions[row]) : 0;
      on_host_.span_of[row] = -1;
    }
    for (std::size_t s = 0; s < plan.spans.size(); ++s) {
      const sequence_span& span = plan.spans[s];
      on_host_.views[s] = views[s];
      if constexpr (cache::table_view<View>) {
        const std::size_t blocks =
            (span.first_position + span.count + View::block_size - 1) / View::block_size;
        std::copy_n(views[s].table, blocks, on_host_.tables + s * table_size_);
        on_host_.views[s].table = on_device_.tables + s * table_size_;
      }
      for (std::size_t i = 0; i < span.count; ++i) on_host_.span_of[span.first_row + i] = static_cast<int>(s);
    }
    for (std::size_t i = 0; i < plan.sampled_rows.size(); ++i)
      on_host_.sampled_rows[i] = static_cast<int>(plan.sampled_rows[i]);
    const std::size_t empty = rows - plan.tokens.size();
    for (std::size_t i = 0; i < empty; ++i)
      on_host_.sampled_rows[plan.sampled_rows.size() + i] = static_cast<int>(plan.tokens.size() + i);
    return plan_attention(plan, static_cast<int>(shape.heads), static_cast<int>(shape.kv_heads),
                          static_cast<int>(shape.head_dim), {on_host_.spans, plan.spans.size() + empty});
  }

  /// The requests of the sampled rows, for the caller to write.
  Request* requests() { return on_host_.requests; }

  /// Puts the copy to the device on a stream.
  void copy(const stream& on) {
    check(cudaMemcpyAsync(device_.data(), host_.data(), host_.size(), cudaMemcpyHostToDevice, on.get()),
          "cudaMemcpyAsync");
  }

  const arrays& on_device() const { return on_device_; }

 private:
  static std::size_t next(std::size_t at, std::size_t bytes) { return at + (bytes + 15) / 16 * 16; }

  /// Calls each(member, count, bytes of one) for every array.
  template <class Each>
  static void lay_out(const step_capacity& capacity, Each&& each) {
    each(&arrays::tokens, capacity.max_tokens, sizeof(token_id));
    each(&arrays::positions, capacity.max_tokens, sizeof(int));
    each(&arrays::span_of, capacity.max_tokens, sizeof(int));
    each(&arrays::sampled_rows, capacity.max_batch, sizeof(int));
    each(&arrays::spans, capacity.max_batch, sizeof(attention_span));
    each(&arrays::views, capacity.max_batch, sizeof(View));
    each(&arrays::tables, capacity.max_batch * table_size(capacity), sizeof(cache::block_id));
    each(&arrays::requests, capacity.max_batch, sizeof(Request));
  }

  static arrays place(std::byte* memory, const step_capacity& capacity) {
    arrays placed{};
    std::size_t at = 0;
    lay_out(capacity, [&]<class T>(T* arrays::*member, std::size_t count, std::size_t each) {
      placed.*member = reinterpret_cast<T*>(memory + at);
      at = next(at, count * each);
    });
    return placed;
  }

  /// Blocks of one sequence, where the view has a table.
  static constexpr std::size_t table_size(const step_capacity& capacity) {
    if constexpr (cache::table_view<View>) {
      return (capacity.context + View::block_size - 1) / View::block_size;
    } else {
      return 0;
    }
  }

  pinned_buffer<std::byte> host_;
  device_buffer<std::byte> device_;
  std::size_t table_size_;
  arrays on_host_;
  arrays on_device_;
};

}  // namespace tenon::cuda
