// Marks what device code may call, where nvcc reads it; nothing elsewhere.
#pragma once

// TENON_SIDE_UNCHECKED goes before a template whose arguments decide which side it is for: with the host's it calls what only
// the host has, and nvcc, which cannot know that nobody wants it on the device, would warn.
#if defined(__CUDACC__)
#define TENON_HOST_DEVICE __host__ __device__
#define TENON_SIDE_UNCHECKED _Pragma("nv_exec_check_disable")
#else
#define TENON_HOST_DEVICE
#define TENON_SIDE_UNCHECKED
#endif
/// Both, for a function with `auto` parameters, as a sampling stage's apply.
#define TENON_HOST_DEVICE_TEMPLATE TENON_SIDE_UNCHECKED TENON_HOST_DEVICE
