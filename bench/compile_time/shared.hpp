// The same engine for many files: compiled in one of them, only declared in the others.
#pragma once

#include "engine.hpp"

TENON_DECLARE_ENGINE(engine);
