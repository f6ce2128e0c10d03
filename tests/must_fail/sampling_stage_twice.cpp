// expect: tenon: sampling::chain<...> names a stage twice; a request has one set of parameters for it, so leave one out
#include <tenon/policy/sampling.hpp>
#include <tenon/sample/sampler.hpp>

using namespace tenon::sampling;

const params<chain<top_p, temperature, top_p>> request{.temperature = 0.5f, .top_p = 0.5f};
