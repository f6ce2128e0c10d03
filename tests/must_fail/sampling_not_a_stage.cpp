// expect: tenon: sampling::chain<...> takes sampling stages, and one of these types is none
#include <tenon/policy/sampling.hpp>
#include <tenon/sample/sampler.hpp>

using namespace tenon::sampling;

// Named and with params, but its apply does not take them.
struct forgetful {
  static constexpr auto name = tenon::fixed_string("forgetful");
  struct params {
    float alpha = 1;
  };
  static void apply(candidates&, int) {}
};

const params<chain<temperature, forgetful>> request{.temperature = 0.5f};
