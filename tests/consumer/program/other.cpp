// The second file that includes everything, and the one that compiles the engine.
#include "engine.hpp"

TENON_INSTANTIATE(engine);

std::size_t vocabulary_size(const engine& e) { return e.tokenizer().size(); }
