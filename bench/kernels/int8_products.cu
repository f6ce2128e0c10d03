#include "product_cases.cuh"

namespace tenon::bench {

using family = product_family<weights<q8_0, q4_0, q4_1>, int8>;

std::vector<kernel_case> int8_product_cases() {
  std::vector<kernel_case> cases;
  family::add_shapes<q8_0>("8-bit", cases);
  family::add_shapes<q4_0>("4-bit", cases);
  family::add_shapes<q4_1>("4-bit", cases);
  return cases;
}

}  // namespace tenon::bench
