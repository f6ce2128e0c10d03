// The smallest program on a GPU: as examples/embed, compiled by nvcc, which makes CUDA the backend. It names the formats of
// its model's weights, as each takes the compiler some time.
#include <iostream>
#include <tenon/cuda.cuh>

using precision = tenon::precision::mixed<tenon::weights<tenon::q4_1, tenon::q8_0>>;
using engine = tenon::engine<tenon::model::llama, precision, tenon::sampling::greedy>;

int main(int count, char** arguments) try {
  if (count != 3) throw tenon::error("usage: program MODEL.gguf PROMPT");
  auto e = engine::load(arguments[1], {.max_batch = 1});
  for (const auto& piece : e.generate(arguments[2], {.max_tokens = 8})) std::cout << piece.text << std::flush;
  std::cout << '\n';
} catch (const tenon::error& fault) {
  std::cerr << fault.what() << '\n';
  return 1;
}
