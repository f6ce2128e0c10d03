// Policies that somebody else wrote: a cache layout that scatters its rows, one that runs out of room, and a
// sampling stage with parameters of its own.
#include "engine/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

/// Pages of three positions, given out from the end of the cache backwards, and inside a page from the last
/// row to the first: no two positions that follow each other lie in consecutive rows. The cache has two
/// thirds of the pages that full contexts would need.
struct backwards {
  using slot = tenon::slot::cache;
  static constexpr auto name = fixed_string("backwards");
  static constexpr std::size_t page = 3;

  struct view {
    const std::size_t* pages;
    std::size_t row(std::size_t position) const {
      return pages[position / page] * page + (page - 1 - position % page);
    }
    std::size_t run(std::size_t) const { return 1; }
  };

  class manager {
   public:
    explicit manager(const cache::geometry& size) : page_count_(pages_for(size)), held_(size.max_batch) {
      for (std::size_t p = 0; p < page_count_; ++p) free_.push_back(p);
      for (auto& each : held_) each.reserve(page_count_);
    }
    std::size_t rows() const { return page_count_ * page; }
    bool reserve(std::size_t slot, std::size_t tokens) {
      const std::size_t wanted = (tokens + page - 1) / page;
      if (wanted > held_[slot].size() + free_.size()) return false;
      while (held_[slot].size() < wanted) {
        held_[slot].push_back(free_.back());
        free_.pop_back();
      }
      return true;
    }
    void release(std::size_t slot) {
      free_.insert(free_.begin(), held_[slot].begin(), held_[slot].end());
      held_[slot].clear();
    }
    backwards::view view(std::size_t slot) const { return {held_[slot].data()}; }

   private:
    static std::size_t pages_for(const cache::geometry& size) {
      return size.max_batch * size.context * 2 / 3 / page;
    }
    std::size_t page_count_;
    std::vector<std::size_t> free_;
    std::vector<std::vector<std::size_t>> held_;
  };
};

/// Adds to one token's logit; throws where that is NaN, as no stage should.
struct nudge {
  static constexpr auto name = fixed_string("nudge");
  struct params {
    token_id token = 0;
    float by = 0;
  };
  static void apply(sampling::candidates& c, const params& request) {
    if (std::isnan(request.by)) throw std::domain_error("nudged by NaN");
    const auto at = std::find(c.ids().begin(), c.ids().end(), request.token);
    if (at != c.ids().end()) c.edit_logits()[static_cast<std::size_t>(at - c.ids().begin())] += request.by;
  }
};

using own_engine = engine<model::llama, precision::fp32, backwards,
                          sampling::chain<nudge, sampling::temperature>, batching::static_batch<9>>;

own_engine::params nudged(token_id token, float by, int max_tokens) {
  return {.temperature = 0.0f, .custom = {{.token = token, .by = by}}, .max_tokens = max_tokens};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(own_policies)

BOOST_AUTO_TEST_CASE(a_scattered_cache_gives_the_same_bits) {
  for (const std::string name : {"hd64_9q3kv_v262", "hd96_3q3kv_v263", "hd8_4q4kv_ff33_v321"}) {
    const engine_options options = {.max_batch = 4, .context = 96, .max_step_tokens = 16, .threads = 2};
    own_engine own = own_engine::load(tiny_model(name), options);
    fp32_engine plain = fp32_engine::load(tiny_model(name), options);
    const std::vector<token_id> text = some_prompts(1, 90)[0];
    BOOST_TEST((all_logits(own, text) == all_logits(plain, text)), name);
    std::vector<request_id> ids;
    const auto prompts = some_prompts(9, 60);
    for (const auto& prompt : prompts) ids.push_back(own.submit(prompt, nudged(0, 0, 8)));
    run_to_end(own);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      BOOST_TEST(own.take(ids[i]).value().tokens == greedy_tokens(plain, prompts[i], 8),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(what_the_cache_has_no_room_for_now_waits) {
  own_engine engine = own_engine::load(tiny_model("base_5e5"), {.max_batch = 3, .context = 90, .threads = 1});
  const std::vector<token_id> prompt(80, 107);  // each takes 28 of 60 pages
  std::vector<request_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(engine.submit(prompt, nudged(0, 0, 4)));
  run_to_end(engine);
  const auto expected = engine.take(ids[0]).value().tokens;
  BOOST_TEST(expected.size() == 4u);
  for (std::size_t i = 1; i < ids.size(); ++i) {
    BOOST_TEST(engine.take(ids[i]).value().tokens == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_the_cache_can_never_hold_ends_in_an_error_and_blocks_nobody) {
  own_engine engine = own_engine::load(tiny_model("base_5e5"), {.max_batch = 1, .context = 90, .threads = 1});
  const std::vector<token_id> fits(20, 107), does_not(70, 107);  // there is room for 60 tokens
  const auto expected = complete(engine, fits, nudged(0, 0, 4)).tokens;
  const request_id first = engine.submit(fits, nudged(0, 0, 4));
  const request_id large = engine.submit(does_not, nudged(0, 0, 4));
  const request_id last = engine.submit(fits, nudged(0, 0, 4));
  run_to_end(engine);
  BOOST_TEST(engine.idle());
  const request_result refused = engine.take(large).value();
  BOOST_TEST(to_string(refused.finish) == "error");
  BOOST_TEST(refused.error.find("no room for its 74 tokens") != std::string::npos, refused.error);
  BOOST_TEST(engine.take(first).value().tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(engine.take(last).value().tokens == expected, boost::test_tools::per_element());
  BOOST_CHECK_THROW(all_logits(engine, does_not), request_error);
}

BOOST_AUTO_TEST_CASE(a_stage_reads_its_own_parameters) {
  own_engine engine = own_engine::load(tiny_model("base_5e5"), {.max_batch = 3, .context = 64, .threads = 2});
  const std::vector<token_id> prompt = {107, 104, 111};
  const request_id a = engine.submit(prompt, nudged(200, 1000.0f, 5));
  const request_id b = engine.submit(prompt, nudged(201, 1000.0f, 5));
  const request_id c = engine.submit(prompt, nudged(201, 0.0f, 5));
  run_to_end(engine);
  BOOST_TEST(engine.take(a).value().tokens == std::vector<token_id>(5, 200),
             boost::test_tools::per_element());
  BOOST_TEST(engine.take(b).value().tokens == std::vector<token_id>(5, 201),
             boost::test_tools::per_element());
  fp32_engine plain = fp32_engine::load(tiny_model("base_5e5"), {.context = 64, .threads = 2});
  BOOST_TEST(engine.take(c).value().tokens == greedy_tokens(plain, prompt, 5),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stage_that_throws_ends_its_request_and_no_other) {
  own_engine engine = own_engine::load(tiny_model("base_5e5"), {.max_batch = 3, .context = 64, .threads = 2});
  const std::vector<token_id> prompt = {107, 104, 111};
  const request_id good = engine.submit(prompt, nudged(200, 1000.0f, 5));
  const request_id bad = engine.submit(prompt, nudged(200, std::nanf(""), 5));
  run_to_end(engine);
  const auto failed = engine.take(bad).value();
  BOOST_TEST(to_string(failed.finish) == "error");
  BOOST_TEST(failed.error.find("a sampling stage threw an exception") != std::string::npos, failed.error);
  BOOST_TEST(engine.take(good).value().tokens == std::vector<token_id>(5, 200),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_description_names_them) {
  constexpr std::string_view text = own_engine::description();
  BOOST_TEST(text.find("cache backwards; sampling chain<nudge, temperature>;") != std::string_view::npos,
             text);
}

BOOST_AUTO_TEST_SUITE_END()
