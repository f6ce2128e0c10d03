// The entry point of every test program; the suites are in the folder's other files.
#include <boost/test/unit_test.hpp>

int main(int argc, char** argv) {
  const auto initialise = [] {
    boost::unit_test::framework::master_test_suite().p_name.value = "tenon";
    return true;
  };
  return boost::unit_test::unit_test_main(initialise, argc, argv);
}
