// A ring for models whose attention looks back over a window only.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/policy/cache.hpp"

namespace tenon::cache {

/// Where a slot's positions are, and which of them are seen (cache::seen).
template <std::size_t Window, std::size_t Sinks>
struct sliding_view {
  static constexpr std::size_t window = Window;
  static constexpr std::size_t sinks = Sinks;

  std::size_t first_row;
  std::size_t ring;  // rows of it

  TENON_HOST_DEVICE constexpr std::size_t row(std::size_t position) const {
    return first_row + (position < Sinks ? position : Sinks + (position - Sinks) % ring);
  }
  TENON_HOST_DEVICE constexpr std::size_t run(std::size_t position) const {
    return position < Sinks ? Sinks - position : ring - (position - Sinks) % ring;
  }
};

/// Position p attends to the last Window positions, p among them, and to the first Sinks ("attention sinks", Xiao
/// et al., "Efficient Streaming Language Models with Attention Sinks", 2023). Only these are stored: each slot
/// is `Sinks` rows and a ring, whose length does not depend on the context.
///
/// It is a layout with a meaning: kernels attend to what the view says (cache::seen), and a model that was trained to
/// look at everything gives other text over it. Positions stay true positions; no key is rotated again.
///
/// A step may write c positions of a sequence before the first of them attends, so the ring holds Window + c - 1
/// (geometry::step_tokens is the largest c).
template <std::size_t Window, std::size_t Sinks = 0>
struct sliding {
  static_assert(Window > 0, "tenon: sliding<Window> needs a window of at least one position");

  using slot = tenon::slot::cache;
  static constexpr auto name = "sliding<" + decimal<Window>() + ", " + decimal<Sinks>() + ">";

  using view = sliding_view<Window, Sinks>;

  class manager {
   public:
    explicit manager(const geometry& size)
        : max_batch_(size.max_batch), context_(size.context), ring_(ring_for(size)) {}

    std::size_t rows() const { return max_batch_ * (Sinks + ring_); }
    std::size_t capacity() const { return context_; }
    bool reserve(std::size_t, std::size_t positions) { return positions <= context_; }
    void release(std::size_t) {}
    sliding_view<Window, Sinks> view(std::size_t slot) const { return {slot * (Sinks + ring_), ring_}; }

   private:
    /// No longer than what the context leaves for it.
    static std::size_t ring_for(const geometry& size) {
      const std::size_t written = size.step_tokens != 0 ? size.step_tokens : size.context;
      const std::size_t most = size.context > Sinks ? size.context - Sinks : 1;
      return (std::min)(most, Window + (std::max<std::size_t>)(written, 1) - 1);
    }

    std::size_t max_batch_;
    std::size_t context_;
    std::size_t ring_;
  };
};

static_assert(policy<sliding<4096>>);

}  // namespace tenon::cache
