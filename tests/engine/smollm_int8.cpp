// int8 activations with every instruction set: their kernels round differently, and an error next to its
// bound would be within it on one machine and not on another.
#include "engine/engines.hpp"
#include "engine/likelihood.hpp"
#include "support/instruction_sets.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using namespace tenon;
using namespace tenon::test;

/// Only what the file holds, to be compiled for each instruction set; keys and values unrounded.
template <class Isa>
using lean_engine = engine<model::llama, backend::basic_host<Isa>,
                           precision::mixed<weights<f32, q4_1, q8_0>, activations<int8>, kv<f32>>,
                           sampling::greedy, batching::static_batch<1>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(smollm_int8, *boost::unit_test::precondition(smollm_is_here))

BOOST_AUTO_TEST_CASE_TEMPLATE(int8_is_within_its_stated_bounds_with, Isa, instruction_sets) {
  auto engine = lean_engine<Isa>::load(TENON_TEST_MODEL, {.context = 256, .threads = 2});
  check_logits(engine, of_int8);
}

BOOST_AUTO_TEST_SUITE_END()
