// The engine of the program, declared for every file and compiled in one.
#pragma once

#include <tenon/tenon.hpp>

// fp32 alone, as it compiles in a moment; what the compiler says about the other formats is seen by
// bench/compile_time.
using fp32 = tenon::precision::mixed<tenon::weights<tenon::f32>, tenon::activations<tenon::f32>,
                                     tenon::kv<tenon::f32>>;
using engine = tenon::engine<tenon::model::llama, tenon::backend::host, fp32, tenon::sampling::greedy>;
TENON_DECLARE_ENGINE(engine);

/// From the other file: how many tokens the model has.
std::size_t vocabulary_size(const engine& e);
