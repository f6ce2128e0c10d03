// An engine on a device that is older than its kernels.
#include "engine/cuda/engines.hpp"

#include "tenon/backend/cuda/device.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace tenon;
using namespace tenon::test;

BOOST_AUTO_TEST_SUITE(old_device)

BOOST_AUTO_TEST_CASE(an_engine_refuses_a_device_that_is_older_than_its_kernels_and_takes_all_others) {
  const auto load = [] {
    return cuda_eager_engine::load(tiny_model("base_5e5"), {.max_batch = 1, .context = 32});
  };
  if (cuda::device_info::of(0).capability >= cuda::least_capability) {
    BOOST_CHECK_NO_THROW(load());
    return;
  }
  try {
    load();
    BOOST_TEST(false, "it was taken");
  } catch (const error& refusal) {
    const std::string text = refusal.what();
    BOOST_TEST(text.find("these kernels need 8.0 or newer; choose another device") != std::string::npos,
               text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
