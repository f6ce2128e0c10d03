// Devices, their memory, and what is said when they refuse.
#include "tenon/backend/cuda/device.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "tenon/backend/cuda/memory.hpp"

using namespace tenon;

BOOST_AUTO_TEST_SUITE(device)

BOOST_AUTO_TEST_CASE(the_device_that_the_tests_run_on_is_new_enough) {
  const cuda::device_info here = cuda::device_info::of(0);
  BOOST_TEST(here.ordinal == 0);
  BOOST_TEST(!here.name.empty());
  BOOST_TEST(here.multiprocessors > 0);
  BOOST_TEST(here.memory > 0u);
  BOOST_TEST(here.block_shared >= 48u * 1024);
  BOOST_CHECK_NO_THROW(here.require());
}

BOOST_AUTO_TEST_CASE(an_older_device_is_refused_with_both_capabilities_and_what_to_do) {
  const cuda::device_info old{.ordinal = 1, .name = "Tesla T4", .capability = 75};
  try {
    old.require();
    BOOST_TEST(false, "it was taken");
  } catch (const error& refusal) {
    BOOST_TEST(
        refusal.what() ==
        std::string(
            "device 1 (Tesla T4) has compute capability 7.5, and these kernels need 8.0 or newer; choose "
            "another device, or use backend::host"));
  }
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_an_error_of_the_runtime) {
  BOOST_CHECK_THROW(cuda::device_info::of(1000), cuda_error);
  BOOST_CHECK_NO_THROW(cuda::device_info::of(0));  // and no more than that
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_there_names_the_call_the_bytes_and_the_device_and_spoils_nothing) {
  try {
    const cuda::device_buffer<float> too_large(std::size_t{1} << 45);
    BOOST_TEST(false, "it was given");
  } catch (const cuda_error& refusal) {
    const std::string text = refusal.what();
    BOOST_TEST(refusal.code() == cudaErrorMemoryAllocation);
    for (const char* part :
         {"cudaMalloc of 140737488355328 bytes", "on device 0", "memory.hpp:", "smaller max_batch"})
      BOOST_TEST(text.find(part) != std::string::npos, text);
  }
  const cuda::stream on;
  const std::vector<int> values = {1, 2, 3};
  BOOST_TEST(cuda::device_buffer<int>(values, on).read(on) == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(work_on_one_stream_waits_for_an_event_of_another) {
  const cuda::stream first, second;
  const cuda::event done;
  const std::vector<int> values(1000, 7);
  const cuda::device_buffer<int> made(values, first);
  done.record(first);
  done.delay(second);
  BOOST_TEST(made.read(second) == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
