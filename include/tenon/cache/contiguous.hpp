// The plainest cache: each slot owns `context` consecutive rows from the start.
#pragma once

#include <cstddef>

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/policy/cache.hpp"

namespace tenon::cache {

/// Room for the whole context of every slot. Nothing can run out, and nothing is shared.
struct contiguous {
  using slot = tenon::slot::cache;
  static constexpr auto name = fixed_string("contiguous");

  struct view {
    std::size_t first_row;
    std::size_t context;
    TENON_HOST_DEVICE constexpr std::size_t row(std::size_t position) const { return first_row + position; }
    TENON_HOST_DEVICE constexpr std::size_t run(std::size_t position) const { return context - position; }
  };

  class manager {
   public:
    explicit manager(const geometry& size) : size_(size) {}
    std::size_t rows() const { return size_.max_batch * size_.context; }
    bool reserve(std::size_t, std::size_t tokens) { return tokens <= size_.context; }
    void release(std::size_t) {}
    contiguous::view view(std::size_t slot) const { return {slot * size_.context, size_.context}; }

   private:
    geometry size_;
  };
};

static_assert(policy<contiguous>);

}  // namespace tenon::cache
