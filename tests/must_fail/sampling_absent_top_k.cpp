// expect: tenon: no stage of this engine's sampling policy reads 'top_k'; add sampling::top_k to its sampling::chain<...>, or leave the field out
#include <string_view>

#include <tenon/policy/sampling.hpp>
#include <tenon/sample/params.hpp>

namespace sampling = tenon::sampling;

void generate(std::string_view, const sampling::params<sampling::greedy>&) {}

void caller() { generate("Once upon a time", {.top_k = 5, .max_tokens = 8}); }
