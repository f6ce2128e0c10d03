// What an engine asks of the CUDA runtime. The linker puts counting functions in the place of some calls (--wrap), so that
// these tests see what reaches the runtime, the emulator's or a GPU's.
#pragma once

#include <cstddef>
#include <vector>

namespace tenon::test {

struct runtime_calls {
  std::size_t allocations = 0;  // of device or pinned memory
  std::size_t waits = 0;        // for a stream
  std::size_t copies = 0;       // outside graphs, or captured
  std::size_t graph_launches = 0;
  std::vector<std::size_t> kernels_of_graphs;  // in each graph that was made
};

/// Of this process so far.
const runtime_calls& calls_so_far();

/// The allocation of this number from here on finds no memory; 1 is the next, 0 none.
void fail_allocation(std::size_t point);

}  // namespace tenon::test
