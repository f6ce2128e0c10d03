// Everything that plain C++ can compile, in the order of the data's way through an engine. nvcc gets the CUDA backend, too.
#pragma once

#include "tenon/cache/contiguous.hpp"     // IWYU pragma: export
#include "tenon/core/error.hpp"           // IWYU pragma: export
#include "tenon/engine.hpp"               // IWYU pragma: export
#include "tenon/io/gguf.hpp"              // IWYU pragma: export
#include "tenon/model/llama_forward.hpp"  // IWYU pragma: export
#include "tenon/sample/sampler.hpp"       // IWYU pragma: export
#include "tenon/schedule/scheduler.hpp"   // IWYU pragma: export
#include "tenon/text/chat_template.hpp"   // IWYU pragma: export
#include "tenon/text/detokenizer.hpp"     // IWYU pragma: export
#include "tenon/text/stop_matcher.hpp"    // IWYU pragma: export
#include "tenon/text/tokenizer_gguf.hpp"  // IWYU pragma: export

#if defined(__CUDACC__)
#include "tenon/backend/cuda/runtime.cuh"  // IWYU pragma: export
#endif
