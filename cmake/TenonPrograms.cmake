# What our own programs are compiled with: warnings as errors, this machine's instruction set, one folder for programs,
# ccache where it is installed. Users of tenon::tenon see none of this.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

add_library(tenon_program INTERFACE)
target_link_libraries(tenon_program INTERFACE tenon::tenon)
target_compile_options(tenon_program INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Werror>)
set(TENON_NATIVE_FLAGS "")
if(TENON_NATIVE)
  set(TENON_NATIVE_FLAGS -march=native)
endif()
target_compile_options(tenon_program INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${TENON_NATIVE_FLAGS}>)

# What the compiler defines for this processor, as a file.
set(TENON_NATIVE_MACROS ${PROJECT_BINARY_DIR}/native_macros.txt)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${TENON_NATIVE_FLAGS} -dM -E -x c++ /dev/null
                OUTPUT_FILE ${TENON_NATIVE_MACROS} COMMAND_ERROR_IS_FATAL ANY)

# ccache does not see what "native" means, and its folder may outlive the machine, so these macros are part of the key.
# -DCMAKE_CXX_COMPILER_LAUNCHER=... takes precedence; an empty one is none.
find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
if(TENON_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_EXTRAFILES=${TENON_NATIVE_MACROS} ${TENON_CCACHE})
endif()
