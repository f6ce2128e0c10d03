// Engines on CUDA whose keys and values are cached in 8 bits: what the reference gives when it rounds them so.
#include "engine/cuda/kv_formats.hpp"

#include "engine/rounded_cache.hpp"

#include <boost/test/unit_test.hpp>

using namespace tenon::test;

BOOST_AUTO_TEST_SUITE(kv_formats)

BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_rounds_keys_to_e4m3) {
  check_rounded_cache<cuda_e4m3_engine>("hd64_9q3kv_v262");
}

/// Rounding to q8_0 moves logits a third as far as rounding keys to e4m3 does. What attention rounds to f16 beside it (queries,
/// weights, scaled values) is off by as much as there, and so by three times the part.
BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_rounds_keys_and_values_to_q8_0) {
  check_rounded_cache<cuda_q8_0_engine>("hd64_9q3kv_v262", 0.3);
}

BOOST_AUTO_TEST_SUITE_END()
