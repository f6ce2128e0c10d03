// Mapping files into memory.
#include "tenon/io/mapped_file.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace {

using mapping = tenon::io::mapped_file;

/// A folder of its own that goes with the object.
struct temporary_folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tenon-test-mapped-file-" + std::to_string(::getpid()));
  temporary_folder() { std::filesystem::create_directory(path); }
  ~temporary_folder() { std::filesystem::remove_all(path); }

  std::filesystem::path file(const std::string& name, std::string_view text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
};

std::string_view text_of(const mapping& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string error_of(const std::filesystem::path& path) {
  try {
    const mapping file(path);
  } catch (const tenon::load_error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(mapped_file)

BOOST_AUTO_TEST_CASE(the_bytes_are_those_of_the_file_and_move_with_it) {
  const temporary_folder folder;
  mapping first(folder.file("a", "hello"));
  mapping second(folder.file("b", "world!"));
  BOOST_TEST(text_of(first) == "hello");
  mapping moved = std::move(first);
  BOOST_TEST(first.bytes().empty());
  BOOST_TEST(text_of(moved) == "hello");
  moved = std::move(second);
  BOOST_TEST(text_of(moved) == "world!");
}

BOOST_AUTO_TEST_CASE(an_empty_file_has_no_bytes) {
  const temporary_folder folder;
  BOOST_TEST(mapping(folder.file("empty", "")).bytes().empty());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_an_error_with_its_path_and_the_reason) {
  const std::string message = error_of("/no/such/model.gguf");
  BOOST_TEST(contains(message, "/no/such/model.gguf"));
  BOOST_TEST(contains(message, "No such file"));
}

BOOST_AUTO_TEST_CASE(a_folder_or_a_pipe_is_refused_without_waiting) {
  const temporary_folder folder;
  BOOST_TEST(contains(error_of(folder.path), "not a regular file"));
  BOOST_REQUIRE(::mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  BOOST_TEST(contains(error_of(folder.path / "pipe"), "not a regular file"));
}

BOOST_AUTO_TEST_SUITE_END()
