# Compiles the page of page/ into a library. Whoever links it needs no file beside the program.

# tenon_read_page_part(path variable): the file's text, which is ASCII as string(SUBSTRING) counts bytes. Changes make CMake
# run again.
function(tenon_read_page_part path variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  if(text MATCHES "[^\t\n -~]" OR text MATCHES "\\)page\"")
    message(FATAL_ERROR "${path}: has something beyond ASCII, or )page\" in it; write it as an escape")
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# tenon_literals(text variable): C++ string literals that are the text together. None is above the 64 KiB that a compiler has
# to take (C++20, [implimits]).
function(tenon_literals text variable)
  set(most 60000)
  set(literals "")
  string(LENGTH "${text}" left)
  set(at 0)
  while(at LESS left)
    string(SUBSTRING "${text}" ${at} ${most} part)
    string(APPEND literals "    R\"page(${part})page\",\n")
    math(EXPR at "${at} + ${most}")
  endwhile()
  set(${variable} "${literals}" PARENT_SCOPE)
endfunction()

# tenon_write_page_source(source): the page as the C++ file that report_page.hpp announces: report.html with the style and
# the scripts at their places. The order of the scripts is that of use.
function(tenon_write_page_source source)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/page)
  set(scripts format data scale dom look plot points bests table tradeoff roofline distribution timeline page)
  tenon_read_page_part(${folder}/report.html page)
  tenon_read_page_part(${folder}/style.css style)
  set(script "")
  foreach(name IN LISTS scripts)
    tenon_read_page_part(${folder}/${name}.js text)
    string(APPEND script "${text}")
  endforeach()
  string(REPLACE "@STYLE@\n" "${style}" page "${page}")
  string(REPLACE "@SCRIPT@\n" "${script}" page "${page}")
  string(FIND "${page}" "@REPORT@" middle)
  string(SUBSTRING "${page}" 0 ${middle} before)
  string(LENGTH "@REPORT@" length)
  math(EXPR middle "${middle} + ${length}")
  string(SUBSTRING "${page}" ${middle} -1 after)
  tenon_literals("${before}" before)
  tenon_literals("${after}" after)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
// Written by html.cmake.
#include "policy/html/report_page.hpp"

namespace policy_bench::report_page {
namespace {
constexpr std::string_view before_parts[] = {
@before@};
constexpr std::string_view after_parts[] = {
@after@};
}  // namespace

const std::span<const std::string_view> before_report = before_parts, after_report = after_parts;
}  // namespace policy_bench::report_page
]])
endfunction()

# tenon_policy_html(): the library tenon_policy_html, with write_html() of html.hpp and the page in it, unless it is there
# already. Needs the target nlohmann_json::nlohmann_json.
function(tenon_policy_html)
  if(TARGET tenon_policy_html)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/report_page.cpp)
  tenon_write_page_source(${source})
  add_library(tenon_policy_html STATIC ${folder}/write_html.cpp ${source})
  target_include_directories(tenon_policy_html PUBLIC ${folder}/../..)
  target_compile_features(tenon_policy_html PUBLIC cxx_std_20)
  target_link_libraries(tenon_policy_html PUBLIC nlohmann_json::nlohmann_json)
  if(TARGET tenon_program)  # the flags of tenon's own programs
    target_link_libraries(tenon_policy_html PRIVATE tenon_program)
  endif()
endfunction()
