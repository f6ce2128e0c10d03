// One of two files that include everything: a function or variable that is not inline would clash at link
// time.
#include <cstddef>
#include <iostream>
#include <vector>

#include "engine.hpp"

int main(int count, char** arguments) try {
  if (count != 2) throw tenon::error("usage: consumer MODEL.gguf");
  engine e = engine::load(arguments[1]);
  const std::vector<tenon::token_id> prompt{5, 6, 7};
  std::size_t generated = 0;
  for (const auto& piece : e.generate(prompt, {.max_tokens = 8, .ignore_eos = true}))
    generated += piece.token >= 0;
  std::cout << engine::description() << ": " << generated << " tokens of " << vocabulary_size(e) << '\n';
  return generated == 8 && vocabulary_size(e) > 0 ? 0 : 1;
} catch (const tenon::error& fault) {
  std::cerr << fault.what() << '\n';
  return 1;
}
