// The one file that compiles the shared engine.
#include "shared.hpp"

TENON_INSTANTIATE(engine);
