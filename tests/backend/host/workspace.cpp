// The memory of a step is what the plan says it is.
#include "tenon/backend/host/workspace.hpp"

#include <boost/test/unit_test.hpp>

using namespace tenon;

namespace {

std::size_t bytes_of(const host::activations& x) {
  return x.values.size() * 4 + x.halves.size() * 2 + x.quanta.size() + x.residuals.size() + x.refined.size() +
         (x.scales.size() + x.sums.size() + x.totals.size()) * 4;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(workspace)

BOOST_AUTO_TEST_CASE(bytes_are_those_of_all_the_buffers) {
  const model::shape shapes[] = {{.layers = 2,
                                  .hidden = 96,
                                  .heads = 9,
                                  .kv_heads = 3,
                                  .head_dim = 32,
                                  .rotated = 32,
                                  .feed_forward = 257,
                                  .vocabulary = 1001,
                                  .context = 64},
                                 {.layers = 1,
                                  .hidden = 31,
                                  .heads = 7,
                                  .kv_heads = 1,
                                  .head_dim = 18,
                                  .rotated = 8,
                                  .feed_forward = 64,
                                  .vocabulary = 5,
                                  .context = 8}};
  for (const model::shape& shape : shapes) {
    for (unsigned form = 0; form < 64; ++form) {
      const auto at = [&](unsigned turn) {
        const unsigned bits = (form >> turn) & 7u;
        return host::activation_forms{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
      };
      const host::workspace_forms forms{at(0), at(1), at(2), at(3)};
      for (const std::size_t tokens : {1u, 7u, 64u}) {
        const std::size_t batch = (tokens + 1) / 2;
        const host::workspace made(shape, forms, tokens, batch);
        const std::size_t floats = made.hidden.size() + made.query_key_value.size() +
                                   made.attention_results.size() + made.logits.size() + made.cosines.size() +
                                   made.sines.size();
        const std::size_t bytes = floats * 4 + bytes_of(made.normed) + bytes_of(made.attended) +
                                  bytes_of(made.gated) + bytes_of(made.sampled);
        BOOST_TEST(bytes == host::workspace::bytes(shape, forms, tokens, batch));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
