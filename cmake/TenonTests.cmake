# How the folders of tests become programs and ctest entries.

# The suite of a file: its name, or "" for a file without tests. A test outside the file's suite would never run, hence
# the error, and hence the new look whenever the file changes.
function(tenon_suite_of source result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  get_filename_component(stem ${source} NAME_WE)
  file(STRINGS ${source} tests REGEX "BOOST_(AUTO|FIXTURE|DATA|PARAM)[A-Z_]*TEST_CASE")
  file(STRINGS ${source} suites REGEX "BOOST_(AUTO|FIXTURE)_TEST_SUITE\\(")
  set(${result} "" PARENT_SCOPE)
  if(tests OR suites)
    list(LENGTH suites count)
    if(NOT count EQUAL 1 OR NOT suites MATCHES "_TEST_SUITE\\(${stem}[,)]")
      message(FATAL_ERROR "${source} must have exactly one suite: BOOST_AUTO_TEST_SUITE(${stem})")
    endif()
    set(${result} ${stem} PARENT_SCOPE)
  endif()
endfunction()

# tenon_test_base([flags]): sets base to the object library of what the test programs compiled with the FLAGS share, the
# entry point and the precompiled header of what nearly all of them include.
function(tenon_test_base)
  string(JOIN - base tenon_test_base ${ARGN})
  set(base ${base} PARENT_SCOPE)
  if(TARGET ${base})
    return()
  endif()
  add_library(${base} OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/main.cpp)
  target_link_libraries(${base} PRIVATE tenon_test ${ARGN})
  target_precompile_headers(${base} PRIVATE <boost/test/unit_test.hpp> <nlohmann/json.hpp>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What the optimiser of GCC 12 says, without a reason, of std::string, once that comes out of a precompiled header.
    target_compile_options(${base} PUBLIC
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-restrict>)
  endif()
endfunction()

# tenon_test_folder(folder [VARIANT name] [FLAGS interface_library] [SUITES name ...] [LAUNCHER command ...] [THREADED]):
# builds tenon-test-FOLDER[-VARIANT] from the .cpp files of the folder (SUITES: from those, and the files without tests),
# compiled with the FLAGS after all others, and adds each suite as the ctest entry FOLDER.SUITE[.VARIANT].
# THREADED: each test keeps two processors busy, so ctest runs nothing beside it on a machine with two.
function(tenon_test_folder folder)
  cmake_parse_arguments(ARG "THREADED" "VARIANT;FLAGS" "SUITES;LAUNCHER" ${ARGN})
  string(REPLACE "/" "-" name ${folder})
  set(program tenon-test-${name})
  set(suffix "")
  if(ARG_VARIANT)
    string(APPEND program -${ARG_VARIANT})
    set(suffix .${ARG_VARIANT})
  endif()

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  set(compiled "")
  set(suites "")
  foreach(source IN LISTS sources)
    tenon_suite_of(${source} suite)
    if(suite STREQUAL "" OR NOT ARG_SUITES OR suite IN_LIST ARG_SUITES)
      list(APPEND compiled ${source})
      list(APPEND suites ${suite})
    endif()
  endforeach()
  foreach(wanted IN LISTS ARG_SUITES)
    if(NOT wanted IN_LIST suites)
      message(FATAL_ERROR "there is no suite ${wanted} in ${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
    endif()
  endforeach()

  tenon_test_base(${ARG_FLAGS})
  add_executable(${program} ${compiled})
  add_dependencies(${program} tenon_test_data)
  target_link_libraries(${program} PRIVATE ${base} tenon_test ${ARG_FLAGS})
  target_precompile_headers(${program} REUSE_FROM ${base})
  foreach(suite IN LISTS suites)
    add_test(NAME ${name}.${suite}${suffix}
             COMMAND ${ARG_LAUNCHER} $<TARGET_FILE:${program}> --run_test=${suite} --catch_system_errors=no)
    set_tests_properties(${name}.${suite}${suffix} PROPERTIES LABELS "${name};${ARG_VARIANT}" TIMEOUT 900)
    if(ARG_THREADED)
      set_tests_properties(${name}.${suite}${suffix} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()

# The sanitizers, as variants within an ordinary build. The address sanitizer's checks take several times as long to
# optimise as to run; the thread sanitizer's slow kernels down, so that the optimiser is on there.
add_library(tenon_address_sanitizer INTERFACE)
target_compile_options(tenon_address_sanitizer INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -O0)
target_link_options(tenon_address_sanitizer INTERFACE -fsanitize=address,undefined)
add_library(tenon_thread_sanitizer INTERFACE)
target_compile_options(tenon_thread_sanitizer INTERFACE -fsanitize=thread -O1)
target_link_options(tenon_thread_sanitizer INTERFACE -fsanitize=thread)
foreach(sanitizer address thread)
  target_compile_options(tenon_${sanitizer}_sanitizer INTERFACE -g1 -fno-omit-frame-pointer)
  target_compile_definitions(tenon_${sanitizer}_sanitizer INTERFACE _GLIBCXX_ASSERTIONS)
endforeach()

# They want memory where the kernel's randomisation of addresses may have put something else.
find_program(TENON_SETARCH setarch)
mark_as_advanced(TENON_SETARCH)
set(TENON_SAME_ADDRESSES "")
if(TENON_SETARCH)
  execute_process(COMMAND ${TENON_SETARCH} -R true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(NOT refused)
    set(TENON_SAME_ADDRESSES ${TENON_SETARCH} -R)
  endif()
endif()

# tenon_sanitized_folder(address|thread folder [suite ...]): the folder once more, under that sanitizer. Nothing in a
# build that is sanitized as a whole, as are the presets asan and tsan.
function(tenon_sanitized_folder sanitizer folder)
  if("${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize=")
    return()
  endif()
  set(threaded "")
  if(sanitizer STREQUAL "thread")
    set(threaded THREADED)
  endif()
  tenon_test_folder(${folder} VARIANT ${sanitizer} FLAGS tenon_${sanitizer}_sanitizer SUITES ${ARGN}
                    LAUNCHER ${TENON_SAME_ADDRESSES} ${threaded})
endfunction()

# tenon_emulated_avx512_folder(folder [suite ...]): the folder once more with the AVX-512 kernels, whose instructions are
# emulated, on x86-64 machines that have AVX2 but not them.
function(tenon_emulated_avx512_folder folder)
  file(STRINGS ${TENON_NATIVE_MACROS} avx REGEX "__AVX2__|__AVX512F__")
  find_path(SIMDE_INCLUDE_DIR simde/x86/avx512.h)
  mark_as_advanced(SIMDE_INCLUDE_DIR)
  if(NOT avx MATCHES "AVX2" OR avx MATCHES "AVX512" OR NOT SIMDE_INCLUDE_DIR)
    return()
  endif()
  if(NOT TARGET tenon_emulated_avx512)
    add_library(tenon_emulated_avx512 INTERFACE)
    target_include_directories(tenon_emulated_avx512 BEFORE INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/support/avx512_emulation)
    # Little optimisation: the emulation is large where the instruction is small. Its vectors are passed as no processor
    # without AVX-512 passes them, which concerns this program alone.
    target_compile_options(tenon_emulated_avx512 INTERFACE -march=x86-64-v3 -O1 -Wno-psabi -Wno-sign-conversion)
    target_compile_definitions(tenon_emulated_avx512 INTERFACE TENON_TEST_EMULATES_AVX512 TENON_HOST_AVX512=1
                                                               TENON_HOST_AVX512_BF16=1)
  endif()
  tenon_test_folder(${folder} VARIANT emulated_avx512 FLAGS tenon_emulated_avx512 SUITES ${ARGN})
endfunction()

# tenon_emulated_cuda_folder(folder architecture [suite ...]): the folder's .cpp and .cu files as one program, and its
# suites (all, or those named) as ctest entries FOLDER.SUITE.smARCHITECTURE, run by the CUDA emulator as that device, with
# its checks of races and of memory that was never written.
function(tenon_emulated_cuda_folder folder architecture)
  string(REPLACE "/" "-" name ${folder})
  set(program tenon-test-${name})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  file(GLOB device CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cu)
  if(NOT TARGET ${program})
    tenon_test_base()
    add_executable(${program} ${sources} ${device})
    set_target_properties(${program} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
    add_dependencies(${program} tenon_cuda_emulator)
    target_link_libraries(${program} PRIVATE ${base} tenon_test tenon_cuda_program)
    target_precompile_headers(${program} REUSE_FROM ${base})
  endif()
  foreach(source IN LISTS sources)
    tenon_suite_of(${source} suite)
    if(NOT suite STREQUAL "" AND (NOT ARGN OR suite IN_LIST ARGN))
      set(test ${name}.${suite}.sm${architecture})
      add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/tests/cuda-emulator/cuemu-run $<TARGET_FILE:${program}>
                                    --run_test=${suite} --catch_system_errors=no)
      set_tests_properties(${test} PROPERTIES LABELS "${name};cuda" TIMEOUT 900 PROCESSORS 2 ENVIRONMENT
        "CUEMU_BUILD=${TENON_EMULATOR};CUEMU_ARCH=${architecture};CUEMU_RACECHECK=1;CUEMU_INITCHECK=1")
    endif()
  endforeach()
endfunction()
