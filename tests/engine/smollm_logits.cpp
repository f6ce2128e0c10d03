// SmolLM2-135M-Instruct with each precision against the reference.
#include "engine/engines.hpp"
#include "engine/likelihood.hpp"

#include <boost/test/unit_test.hpp>

using namespace tenon::test;

BOOST_AUTO_TEST_SUITE(smollm_logits, *boost::unit_test::precondition(smollm_is_here))

BOOST_AUTO_TEST_CASE(fp32_is_within_a_thousandth) { check_against_reference<fp32_engine>(of_fp32); }

BOOST_AUTO_TEST_CASE(int8_is_within_its_stated_bounds) { check_against_reference<int8_engine>(of_int8); }

BOOST_AUTO_TEST_CASE(bf16_is_within_half_of_them) { check_against_reference<bf16_engine>(of_bf16); }

BOOST_AUTO_TEST_SUITE_END()
