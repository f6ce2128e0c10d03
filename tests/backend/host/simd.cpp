// The vector operations of every instruction set against the plain ones, lane by lane, and the accuracy of
// exp.
#include "tenon/backend/host/simd/simd.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "conformance/harness.hpp"
#include "tenon/backend/host/simd/math.hpp"

using namespace tenon;
using conformance::instruction_sets;

namespace {

using plain = host::simd<isa::portable>;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Awkward and ordinary numbers with NaN and infinities among them; a whole number of vectors of any kind.
std::vector<float> inputs(std::uint64_t seed) {
  std::vector<float> values = reference::awkward_values(960, seed);
  reference::random_source random(seed);
  for (int i = 0; i < 32; ++i)
    values.push_back(std::nanf("")), values.push_back(i % 2 == 0 ? infinity : -infinity);
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  return values;
}

/// The same number, the same zero, or both NaN.
bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// `operation(v, load)` of an instruction set over the inputs, where load(i) loads a vector of input i.
template <class Isa, class Operation>
std::vector<float> results(const std::vector<std::vector<float>>& in, Operation&& operation) {
  using v = host::simd<Isa>;
  std::vector<float> out(in[0].size());
  for (std::size_t at = 0; at < out.size(); at += v::lanes)
    v::store(&out[at], operation(v{}, [&](std::size_t i) { return v::load(&in[i][at]); }));
  return out;
}

/// Holds an operation against the plain one, bit for bit.
template <class Isa, class Operation>
void check(const char* name, Operation&& operation) {
  const std::vector<std::vector<float>> in = {inputs(1), inputs(2), inputs(3)};
  const std::vector<float> seen = results<Isa>(in, operation),
                           expected = results<isa::portable>(in, operation);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) wrong += !same(seen[i], expected[i]);
  BOOST_TEST(wrong == 0u, std::string_view(Isa::name) << ' ' << name << ": " << wrong << " lanes differ");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(simd)

BOOST_AUTO_TEST_CASE_TEMPLATE(arithmetic_is_that_of_the_plain_operations_to_the_bit, Isa, instruction_sets) {
  check<Isa>("add", [](auto v, auto x) { return v.add(x(0), x(1)); });
  check<Isa>("sub", [](auto v, auto x) { return v.sub(x(0), x(1)); });
  check<Isa>("mul", [](auto v, auto x) { return v.mul(x(0), x(1)); });
  check<Isa>("div", [](auto v, auto x) { return v.div(x(0), x(1)); });
  check<Isa>("fma", [](auto v, auto x) { return v.fma(x(0), x(1), x(2)); });
  check<Isa>("max", [](auto v, auto x) { return v.larger(x(0), x(1)); });
  check<Isa>("min", [](auto v, auto x) { return v.smaller(x(0), x(1)); });
  check<Isa>("abs", [](auto v, auto x) { return v.abs(x(0)); });
  check<Isa>("round", [](auto v, auto x) { return v.round(x(0)); });
  check<Isa>("zero", [](auto v, auto) { return v.zero(); });
  check<Isa>("set1", [](auto v, auto) { return v.set1(-3.5f); });
  check<Isa>("keep_where_not_less", [](auto v, auto x) { return v.keep_where_not_less(x(0), x(1), x(2)); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(powers_of_two_scale_exactly, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  std::size_t wrong = 0;
  for (int power = -126; power <= 127; ++power) {
    alignas(64) float out[v::lanes];
    v::store(out, v::scale_by_power(v::set1(1.25f), v::set1(static_cast<float>(power))));
    for (const float value : out) wrong += value != std::ldexp(1.25f, power);
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_and_largest_take_every_lane_once, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  typename v::vec rows[v::lanes];
  float expected[v::lanes];
  for (std::size_t row = 0; row < v::lanes; ++row) {
    const std::vector<float> x = reference::whole_values(v::lanes, 100000, row);
    rows[row] = v::load(x.data());
    expected[row] = 0;
    for (const float value : x) expected[row] += value;  // whole numbers: exact in any order
    BOOST_TEST(v::sum(rows[row]) == expected[row]);
    BOOST_TEST(v::max_of(rows[row]) == *std::max_element(x.begin(), x.end()));
  }
  alignas(64) float seen[v::lanes];
  v::store(seen, v::sums(rows));
  for (std::size_t row = 0; row < v::lanes; ++row) BOOST_TEST(seen[row] == expected[row]);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_nan_in_any_lane_reaches_the_sum, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  for (std::size_t lane = 0; lane < v::lanes; ++lane) {
    alignas(64) float x[v::lanes] = {};
    x[lane] = std::nanf("");
    BOOST_TEST(std::isnan(v::sum(v::load(x))));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(all_16_bit_numbers_load_as_what_they_are, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  std::size_t wrong = 0;
  for (unsigned first = 0; first < 65536; first += v::lanes) {
    std::uint16_t bits[v::lanes];
    for (unsigned i = 0; i < v::lanes; ++i) bits[i] = static_cast<std::uint16_t>(first + i);
    alignas(64) float halves[v::lanes], bfloats[v::lanes];
    v::store(halves, v::load_half(bits));
    v::store(bfloats, v::load_bfloat(bits));
    for (std::size_t i = 0; i < v::lanes; ++i)
      wrong += !same(halves[i], half_to_float(bits[i])) || !same(bfloats[i], bfloat_to_float(bits[i]));
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(all_8_bit_numbers_load_as_what_they_are, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  std::size_t wrong = 0;
  for (unsigned first = 0; first < 256; first += v::lanes) {
    std::uint8_t bits[v::lanes];
    for (unsigned i = 0; i < v::lanes; ++i) bits[i] = static_cast<std::uint8_t>(first + i);
    alignas(64) float eighths[v::lanes], whole[v::lanes];
    v::store(eighths, v::load_e4m3(bits));
    v::store(whole, v::load_int8(reinterpret_cast<const std::int8_t*>(bits)));
    for (std::size_t i = 0; i < v::lanes; ++i)
      wrong += !same(eighths[i], e4m3_to_float(bits[i])) ||
               whole[i] != static_cast<float>(static_cast<std::int8_t>(bits[i]));
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(stores_in_16_bits_round_to_nearest_even, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  std::size_t wrong = 0;
  // every number of 16 bits, the middle between it and the next, and their neighbours, in both formats
  for (unsigned first = 0; first < 65536; first += v::lanes) {
    for (int kind = 0; kind < 6; ++kind) {
      alignas(64) float x[v::lanes];
      for (unsigned i = 0; i < v::lanes; ++i) {
        const auto bits = static_cast<std::uint16_t>(first + i);
        const std::uint32_t middle = kind % 2 == 0
                                         ? std::bit_cast<std::uint32_t>(half_to_float(bits)) + 0x1000u
                                         : (std::uint32_t{bits} << 16) + 0x8000u;
        x[i] = std::bit_cast<float>(middle + static_cast<std::uint32_t>(kind / 2) - 1u);
      }
      std::uint16_t halves[v::lanes], bfloats[v::lanes];
      v::store_half(halves, v::load(x));
      v::store_bfloat(bfloats, v::load(x));
      for (std::size_t i = 0; i < v::lanes; ++i) {
        wrong += !same(half_to_float(halves[i]), half_to_float(float_to_half(x[i])));
        wrong += !same(bfloat_to_float(bfloats[i]), bfloat_to_float(float_to_bfloat(x[i])));
      }
    }
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bytes_are_stored_to_nearest_even, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  std::size_t wrong = 0;
  for (int step = -127 * 8; step <= 127 * 8; ++step) {
    alignas(64) float x[v::lanes];
    for (std::size_t i = 0; i < v::lanes; ++i)
      x[i] = static_cast<float>(i % 2 == 0 ? step : -step) / 8.0f;  // quarters, halves and eighths
    std::int8_t seen[v::lanes];
    v::store_int8(seen, v::load(x));
    for (std::size_t i = 0; i < v::lanes; ++i) wrong += static_cast<float>(seen[i]) != std::nearbyint(x[i]);
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nibbles_and_bytes_are_the_words_parts, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  reference::random_source random(5);
  std::size_t wrong = 0;
  for (int turn = 0; turn < 200; ++turn) {
    std::uint8_t words[4 * v::lanes];
    for (std::uint8_t& byte : words) byte = static_cast<std::uint8_t>(random.next());
    alignas(64) float seen[v::lanes];
    for (int shift = 0; shift < 32; shift += 4) {
      v::store(seen, v::nibbles(words, shift));
      for (std::size_t i = 0; i < v::lanes; ++i) {
        const int byte = words[4 * i + static_cast<std::size_t>(shift / 8)];
        wrong += seen[i] != static_cast<float>(shift % 8 == 0 ? byte & 15 : byte >> 4);
      }
    }
    for (int index = 0; index < 4; ++index) {
      for (const std::uint8_t bias : {std::uint8_t{0}, std::uint8_t{0x80}}) {
        v::store(seen, v::bytes(words, index, bias));
        for (std::size_t i = 0; i < v::lanes; ++i)
          wrong += seen[i] != static_cast<float>(static_cast<std::int8_t>(
                                  words[4 * i + static_cast<std::size_t>(index)] ^ bias));
      }
    }
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(exp_is_within_2_to_the_minus_22_over_its_whole_range, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  double worst = 0;
  float where = 0;
  // every 499th float between 2^-40 and 88.3 on one side, and 87.3 on the other
  for (std::uint32_t bits = 0x2b800000u; bits <= std::bit_cast<std::uint32_t>(88.3f); bits += 499) {
    const float x = std::bit_cast<float>(bits);
    alignas(64) float in[v::lanes] = {x, -x, -0.0f, 1.0f}, out[v::lanes];
    v::store(out, host::exp<Isa>(v::load(in)));
    for (std::size_t i = 0; i < 2; ++i) {
      if (in[i] < -87.3f) continue;
      const double exact = std::exp(static_cast<double>(in[i]));
      const double error = std::fabs(static_cast<double>(out[i]) - exact) / exact;
      if (!(error <= worst)) worst = error, where = in[i];
    }
  }
  BOOST_TEST(worst < 0x1p-22, "off by " << worst << " of the value at " << where);
  BOOST_TEST(worst < reference::exp_error);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(exp_keeps_its_promises_outside_its_range, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  const auto exp = [](float x) {
    alignas(64) float out[v::lanes];
    v::store(out, host::exp<Isa>(v::set1(x)));
    for (const float lane : out) BOOST_TEST(same(lane, out[0]));
    return out[0];
  };
  BOOST_TEST(exp(0.0f) == 1.0f);
  BOOST_TEST(exp(-0.0f) == 1.0f);
  for (const float x : {-87.4f, -88.0f, -104.0f, -1e10f, -infinity}) BOOST_TEST(exp(x) == 0.0f);
  for (const float x : {88.4f, 100.0f, 1e10f, infinity}) BOOST_TEST(exp(x) == exp(88.3f));
  BOOST_TEST(std::isfinite(exp(infinity)));
  BOOST_TEST(std::isnan(exp(std::nanf(""))));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(silu_is_within_the_bound_of_swiglu, Isa, instruction_sets) {
  using v = host::simd<Isa>;
  std::size_t wrong = 0;
  for (float x = -120.0f; x < 120.0f; x += 0.0137f) {
    alignas(64) float out[v::lanes];
    v::store(out, host::silu<Isa>(v::set1(x)));
    const float up = 1.0f, expected = reference::swiglu(std::span(&x, 1), std::span(&up, 1))[0];
    wrong += !(std::fabs(static_cast<double>(out[0]) - static_cast<double>(expected)) <=
               reference::swiglu_tolerance(x, 1.0f, expected));
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
