// expect: tenon: the sentence would come after this include
#include <tenon/there_is_no_such_header.hpp>

int main() {}
