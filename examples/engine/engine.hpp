// The engine of the programs here. It is compiled once, in engine.cpp; a program that includes this header
// only declares it and links it.
#pragma once

#include <tenon/tenon.hpp>

// A temperature of 0 makes it greedy.
using example_engine =
    tenon::engine<tenon::model::llama,              // Llama 2 and 3, Mistral, SmolLM, TinyLlama
                  tenon::backend::host,             // this processor
                  tenon::precision::from_file,      // weights as they are in the file
                  tenon::sampling::like_llama_cpp,  // top_k, top_p, min_p, temperature, in this order
                  tenon::batching::static_batch<32>>;

TENON_DECLARE_ENGINE(example_engine);
