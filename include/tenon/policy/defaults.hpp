// The policies of slots that need no file of their own.
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon {

namespace reduction {
/// Every sum has a fixed order per row, whatever the batch: the same request gives the same tokens in any
/// company.
struct fixed {
  using slot = tenon::slot::reduction;
  static constexpr auto name = fixed_string("fixed");
};
}  // namespace reduction

namespace execution {
/// Each op of a step is started as it comes.
struct eager {
  using slot = tenon::slot::execution;
  static constexpr auto name = fixed_string("eager");
  static constexpr bool replays_graphs = false;
};
/// On CUDA: a step in which every sequence decodes is one launch of a graph that was captured when the engine was
/// loaded, for batches of its size or a few more. Other steps are eager. The tokens are the same.
struct graph {
  using slot = tenon::slot::execution;
  static constexpr auto name = fixed_string("graph");
  static constexpr bool replays_graphs = true;
};
}  // namespace execution

namespace speculation {
/// One token a sequence and step.
struct none {
  using slot = tenon::slot::speculation;
  static constexpr auto name = fixed_string("none");
};
}  // namespace speculation

namespace parallelism {
/// The whole model on one device.
struct single {
  using slot = tenon::slot::parallelism;
  static constexpr auto name = fixed_string("single");
};
}  // namespace parallelism

namespace instrumentation {
/// Nothing is recorded but the requests' own times.
struct none {
  using slot = tenon::slot::instrumentation;
  static constexpr auto name = fixed_string("none");
  /// Names what happens while it lives.
  struct range {
    explicit constexpr range(const char*) {}
  };
};
}  // namespace instrumentation

}  // namespace tenon
