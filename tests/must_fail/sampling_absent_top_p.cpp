// expect: tenon: no stage of this engine's sampling policy reads 'top_p'; add sampling::top_p to its sampling::chain<...>, or leave the field out
#include <string_view>

#include <tenon/policy/sampling.hpp>
#include <tenon/sample/params.hpp>

namespace sampling = tenon::sampling;

void generate(std::string_view, const sampling::params<sampling::greedy>&) {}

void caller() { generate("Once upon a time", {.top_p = 0.5f, .max_tokens = 8}); }
