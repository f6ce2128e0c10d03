#include "product_cases.cuh"

namespace tenon::bench {

using family = product_family<weights<f16, q8_0, q4_0>, f16>;

/// The products of the 7B model's layers, and of its head.
static void add_step(int batch, std::vector<kernel_case>& cases) {
  using m = seven_billion;
  const auto tokens = static_cast<std::size_t>(batch);
  const auto add = [&](product does, std::size_t rows, std::size_t columns, int times) {
    cases.push_back(m::part(batch, family::make<f16>("thin f16", {does, rows, columns, tokens}), times));
  };
  add(product::query_key_value, m::hidden, m::hidden, m::layers);
  add(product::add, m::hidden, m::hidden, m::layers);
  add(product::swiglu, m::feed_forward, m::hidden, m::layers);
  add(product::add, m::hidden, m::feed_forward, m::layers);
  add(product::store, m::vocabulary, m::hidden, 1);
}

std::vector<kernel_case> f16_product_cases() {
  std::vector<kernel_case> cases;
  family::add_shapes<f16>("f16", cases);
  cases.push_back(family::make<f16>("thin f16", {product::add_and_norm, 4096, 4096, 1}));
  family::add_shapes<q8_0>("8-bit", cases);
  family::add_shapes<q4_0>("4-bit", cases);
  for (const int batch : seven_billion::batches) add_step(batch, cases);
  return cases;
}

}  // namespace tenon::bench
