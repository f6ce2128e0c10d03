// expect: tenon: tensor_parallel<Device, Ranks> needs at least two devices
#include <tenon/engine.hpp>

int main() { return tenon::device::tensor_parallel<tenon::device::a100_80gb, 1>::describe().ranks; }
