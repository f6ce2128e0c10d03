# What our own programs are compiled with: warnings as errors, this machine's instruction set, one folder for programs.
# Users of tenon::tenon see none of this.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

add_library(tenon_program INTERFACE)
target_link_libraries(tenon_program INTERFACE tenon::tenon)
target_compile_options(tenon_program INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(TENON_NATIVE)
  target_compile_options(tenon_program INTERFACE -march=native)
endif()
