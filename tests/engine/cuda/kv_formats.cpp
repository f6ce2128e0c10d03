// Engines on CUDA whose keys and values are cached in 8 bits: what the reference gives when it rounds them so.
#include "engine/cuda/kv_formats.hpp"

#include "engine/rounded_cache.hpp"

#include <boost/test/unit_test.hpp>

using namespace tenon::test;

BOOST_AUTO_TEST_SUITE(kv_formats)

BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_rounds_keys_to_e4m3) {
  check_rounded_cache<cuda_kv_engine>("hd64_9q3kv_v262");
}

BOOST_AUTO_TEST_SUITE_END()
