// expect: tenon: this never comes, as the file compiles
#include <tenon/core/error.hpp>

int main() {}
