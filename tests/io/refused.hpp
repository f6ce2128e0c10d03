// Did an action end in a load_error with the right words? For BOOST_TEST, which prints the message when it
// did not.
#pragma once

#include "io/gguf_writer.hpp"
#include "tenon/io/gguf.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace tenon::test {

/// Does the action throw a load_error whose text holds all these words?
template <class Action>
boost::test_tools::predicate_result refused(Action action, const std::vector<std::string>& words) {
  try {
    action();
  } catch (const load_error& error) {
    for (const std::string& each : words) {
      if (std::string(error.what()).find(each) != std::string::npos) continue;
      boost::test_tools::predicate_result no(false);
      no.message() << "\"" << each << "\" is not in: " << error.what();
      return no;
    }
    return true;
  }
  boost::test_tools::predicate_result no(false);
  no.message() << "nothing was thrown";
  return no;
}

/// Opening what the writer has written, as an action.
inline auto parsing(const gguf_writer& writer) {
  return [bytes = writer.bytes()] { io::gguf_file::parse(bytes); };
}

}  // namespace tenon::test
