// What steps have to compute and to move.
#include <tenon/cache/contiguous.hpp>
#include <tenon/cache/sliding.hpp>
#include <tenon/format/f16.hpp>
#include <tenon/format/f32.hpp>
#include <tenon/format/q4_0.hpp>
#include <tenon/model/work.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <utility>

namespace {

using namespace tenon;
using model::step_counts;

/// 7 billion parameters, as Llama 2.
constexpr model::shape llama_7b{32, 4096, 32, 32, 128, 128, 11008, 32000, 4096, false};

/// The same, position by position.
template <class View>
step_counts counted_one_by_one(std::size_t first, std::size_t count) {
  step_counts made;
  made.decodes = count == 1 ? 1 : 0;
  std::set<std::size_t> read;
  for (std::size_t row = first; row < first + count; ++row) {
    const auto seen = cache::seen::of<View>(row);
    for (std::size_t position = 0; position <= row; ++position) {
      if (position >= seen.sinks && position < seen.first) continue;
      ++made.attended;
      read.insert(position);
    }
  }
  made.read = read.size();
  return made;
}

template <class View>
void check_spans() {
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1},
                                    {0, 7},
                                    {5, 1},
                                    {5, 3},
                                    {6, 1},
                                    {7, 9},
                                    {30, 1},
                                    {30, 4},
                                    {3, 40}}) {
    step_counts counted;
    counted.add_span<View>(first, count);
    BOOST_TEST((counted == counted_one_by_one<View>(first, count)),
               "from " << first << ", " << count << " tokens");
  }
}

BOOST_AUTO_TEST_SUITE(work)

BOOST_AUTO_TEST_CASE(a_span_is_counted_as_position_by_position) {
  check_spans<cache::contiguous::view>();
  check_spans<cache::sliding_view<6, 0>>();
  check_spans<cache::sliding_view<6, 3>>();
}

BOOST_AUTO_TEST_CASE(a_7b_model_in_16_bits_streams_13_gigabytes_a_step) {
  constexpr auto of = model::model_bytes::of<f16, f16, f16>(llama_7b);
  static_assert(of.kv_token == 512 * 1024);
  // 6.738e9 parameters, less the embedding matrix, of which a row is read for each token.
  step_counts one;
  one.steps = one.sampling_steps = one.tokens = one.sampled = one.read = one.attended = 1;
  const double streamed = model::bytes(of, one) - 2 * of.kv_token;
  BOOST_TEST(streamed == 2.0 * (llama_7b.parameters() - 32000.0 * 4096), boost::test_tools::tolerance(1e-3));
  BOOST_TEST(model::flops(llama_7b, one) == 2.0 * (llama_7b.parameters() - 32000.0 * 4096),
             boost::test_tools::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(block_formats_count_their_scales) {
  constexpr auto in_4_bits = model::model_bytes::of<q4_0, f16, f16>(llama_7b);
  constexpr auto in_16 = model::model_bytes::of<f16, f16, f16>(llama_7b);
  BOOST_TEST(in_4_bits.output / in_16.output == 18.0 / 64);
}

BOOST_AUTO_TEST_CASE(work_of_a_prompt_does_not_depend_on_how_it_is_cut) {
  step_counts whole, cut;
  whole.tokens = cut.tokens = 100;
  whole.add_span<cache::contiguous::view>(0, 100);
  for (std::size_t first = 0; first < 100; first += 20) cut.add_span<cache::contiguous::view>(first, 20);
  BOOST_TEST(model::flops(llama_7b, whole) == model::flops(llama_7b, cut));
  BOOST_TEST(whole.read < cut.read);  // but each part reads what is before it again
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
