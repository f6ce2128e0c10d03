// expect: tenon: give one of them
#include <tenon/core/error.hpp>

static_assert(sizeof(tenon::error) == 0, "tenon: give both of them");
int main() {}
