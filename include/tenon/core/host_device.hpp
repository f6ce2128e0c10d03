// Marks what device code may call, where nvcc reads it; nothing elsewhere.
#pragma once

#if defined(__CUDACC__)
#define TENON_HOST_DEVICE __host__ __device__
#else
#define TENON_HOST_DEVICE
#endif
