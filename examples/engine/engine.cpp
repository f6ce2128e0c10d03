// The one place where the engine of the programs here is compiled.
#include "engine.hpp"

TENON_INSTANTIATE(example_engine);
