// The entry point of every test program; the suites are in the folder's other files.
#define BOOST_TEST_MODULE tenon
#include <boost/test/unit_test.hpp>
