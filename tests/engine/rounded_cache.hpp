// An engine whose keys and values are cached in fewer bits, against a reference that rounds them so.
#pragma once

#include "engine/engines.hpp"
#include "reference/llama.hpp"
#include "reference/quantise.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace tenon::test {

inline double mean_difference(const std::vector<std::vector<float>>& a,
                              const std::vector<std::vector<float>>& b) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t token = 0; token < a.size(); ++token)
    for (std::size_t i = 0; i < a[token].size(); ++i, ++count)
      sum += std::fabs(static_cast<double>(a[token][i]) - static_cast<double>(b[token][i]));
  return sum / static_cast<double>(count);
}

/// A value that lies at the border of two steps may be rounded either way, so no logit has a bound of its own; but all
/// together are much closer to the reference that rounds than rounding moves them: off by no more than that part of it.
template <class Engine>
void check_rounded_cache(const std::string& name, double part = 0.1) {
  const auto prompt = some_prompts(1, 40)[0];
  reference::reference_llama model(io::gguf_file::open(tiny_model(name).string()));
  const auto exact = model.all_logits(prompt);
  model.round_cache(reference::rounded_head<typename Engine::precision_policy::key>,
                    reference::rounded_head<typename Engine::precision_policy::value>);
  const auto rounded = model.all_logits(prompt);
  auto engine = Engine::load(tiny_model(name).string(), {.max_batch = 1, .context = 64, .threads = 1});
  const auto seen = all_logits(engine, prompt);
  BOOST_REQUIRE(seen.size() == rounded.size());
  const double moved = mean_difference(exact, rounded), off = mean_difference(seen, rounded);
  BOOST_TEST(moved > 1e-4, name << " shows nothing: rounding moves logits by " << moved);
  BOOST_TEST(off < moved * part, name << " is off by " << off << ", and rounding moves by " << moved);
}

}  // namespace tenon::test
