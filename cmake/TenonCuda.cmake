# CUDA for our own tests and benchmarks: nvcc, where there is one (tests/fetch-nvcc.sh gets one), and the emulator that runs
# what it makes on the processor. TENON_CUDA is ON by default where nvcc is found; nobody who only uses tenon's host backend
# needs either.
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  set(found ON)
else()
  set(found OFF)
endif()
option(TENON_CUDA "Build the tests and benchmarks of the CUDA backend (needs the CUDA Toolkit)" ${found})
if(NOT TENON_CUDA)
  return()
endif()

# PTX alone: the emulator reads it, and a driver compiles it for the device that it finds.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-virtual)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)
# CMake 3.25 does not know that nvcc 13 has C++20.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# CMake 3.25.1 wants to mark a library as old that CUDA 13 does not have any more, for projects that need 3.25.
set(needed ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${needed})

add_library(tenon_cuda_program INTERFACE)
target_link_libraries(tenon_cuda_program INTERFACE CUDA::cudart)
target_compile_options(tenon_cuda_program INTERFACE
                       $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Werror=all-warnings;-Xcompiler=-Wall$<COMMA>-Wextra>)

# The emulator is a project of its own, and is built as one, unless it has been built elsewhere.
set(TENON_CUDA_EMULATOR "" CACHE PATH "Build folder of tests/cuda-emulator; empty: it is built here")
if(TENON_CUDA_EMULATOR)
  set(TENON_EMULATOR ${TENON_CUDA_EMULATOR})
  add_custom_target(tenon_cuda_emulator)
  return()
endif()
include(ExternalProject)
set(TENON_EMULATOR ${PROJECT_BINARY_DIR}/cuda-emulator)
ExternalProject_Add(tenon_cuda_emulator
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/tests/cuda-emulator
  BINARY_DIR ${TENON_EMULATOR}
  PREFIX ${TENON_EMULATOR}/external
  CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DCUEMU_CUDA_INCLUDE=${CUDAToolkit_INCLUDE_DIRS} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
  BUILD_ALWAYS ON
  INSTALL_COMMAND "")
