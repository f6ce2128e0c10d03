// The smallest program: an engine type, a model, text.
#include <iostream>
#include <tenon/tenon.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::host, tenon::sampling::greedy>;

int main(int count, char** arguments) try {
  if (count != 2) throw tenon::error("usage: embed MODEL.gguf");
  auto e = engine::load(arguments[1]);
  for (const auto& piece : e.generate("The capital of France is", {.max_tokens = 32}))
    std::cout << piece.text << std::flush;
  std::cout << '\n';
} catch (const tenon::error& fault) {
  std::cerr << fault.what() << '\n';
  return 1;
}
