// An engine on CUDA as plain C++ sees it: its type, and functions that a .cu file has instantiated (TENON_INSTANTIATE).
// Needs neither nvcc nor the CUDA Toolkit's headers.
#pragma once

#include "tenon/backend/cuda/policy.hpp"  // IWYU pragma: export
#include "tenon/tenon.hpp"                // IWYU pragma: export
