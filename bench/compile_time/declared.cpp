// A program that uses the shared engine.
#include <iostream>

#include "shared.hpp"

int main(int, char** arguments) {
  engine e = engine::load(arguments[1]);
  for (const auto& piece : e.generate(arguments[2], {.max_tokens = 64})) std::cout << piece.text;
}
