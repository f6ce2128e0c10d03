// expect: tenon: no stage of this engine's sampling policy reads 'min_p'; add sampling::min_p to its sampling::chain<...>, or leave the field out
#include <string_view>

#include <tenon/policy/sampling.hpp>
#include <tenon/sample/params.hpp>

namespace sampling = tenon::sampling;

void generate(std::string_view,
              const sampling::params<sampling::chain<sampling::temperature, sampling::top_p>>&) {}

void caller() { generate("Once upon a time", {.temperature = 0.8f, .top_p = 0.9f, .min_p = 0.1f}); }
