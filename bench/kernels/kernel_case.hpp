// What the kernel report runs: operations of the CUDA backend, each at a shape, with what it has to move and to multiply.
// The counters of an emulator, or a clock, are set against that.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/cuda/stream.hpp"

namespace tenon::bench {

/// Puts an operation on a stream. Owns the memory that it works on.
using launcher = std::function<void(const cuda::stream&)>;

struct kernel_case {
  std::string name;
  std::string kind;                // what it is held to: see gates.py
  std::size_t read_bytes = 0;      // that must be read once, in the formats that the operation is given
  std::size_t write_bytes = 0;     // that must be written
  double useful_flops = 0;         // of products that need tensor cores
  std::size_t working_blocks = 0;  // that have work; 0: all that are launched
  std::string step = {};           // the model's step that it is a part of, or ""
  int times = 1;                   // in that step
  bool slow = false;               // on an emulator; the tests leave it out
  std::function<launcher(const cuda::stream&)> make = {};  // puts what sets the memory up on the stream
};

/// The cases of each family of kernels.
std::vector<kernel_case> f16_product_cases();
std::vector<kernel_case> int8_product_cases();
std::vector<kernel_case> attention_cases();
std::vector<kernel_case> sampling_cases();
std::vector<kernel_case> row_cases();

/// The model whose step is put together: Llama 2 7B in f16, at a context of 512 tokens.
struct seven_billion {
  static constexpr int layers = 32, hidden = 4096, feed_forward = 11008, heads = 32, head_dim = 128,
                       vocabulary = 32000, context = 512;
  static constexpr int batches[] = {8, 16};

  /// A case as a part of the step for so many sequences.
  static kernel_case part(int batch, kernel_case made, int times) {
    made.step = "7B f16, batch " + std::to_string(batch);
    made.name = "7B: " + made.name;
    made.times = times;
    return made;
  }
};

}  // namespace tenon::bench
