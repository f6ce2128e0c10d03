#include <tenon/tenon.hpp>

int main() {}
