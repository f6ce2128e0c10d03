// A whole program: one host engine that loads a model and generates.
#include <iostream>

#include "engine.hpp"

int main(int, char** arguments) {
  engine e = engine::load(arguments[1]);
  for (const auto& piece : e.generate(arguments[2], {.max_tokens = 64})) std::cout << piece.text;
}
