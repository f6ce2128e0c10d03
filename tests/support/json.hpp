// The test data in tests/data: JSON files of inputs and right answers. Numbers that JSON cannot write are
// strings there ("-inf", "inf", "nan"), and so are long rows of one value ("49152 x 0.0").
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::test {

using json = nlohmann::json;

/// The file `name` of tests/data: load_json("vectors/softmax.json").
inline json load_json(const std::string& name) {
  const std::string path = std::string(TENON_TEST_DATA) + "/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open test data " + path);
  return json::parse(file);
}

/// The list `cases` of a file, which is not empty: for (const json& c : load_cases("vectors/rope.json")). Do
/// not loop over load_json(...)["cases"]: in C++20 the file is gone before the first turn.
inline json load_cases(const std::string& name) {
  json cases = load_json(name).at("cases");
  if (!cases.is_array() || cases.empty()) throw std::runtime_error("no cases in test data " + name);
  return cases;
}

/// A number, or the string of one that JSON has no number for.
inline double number(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

/// A list of numbers, or "COUNT x VALUE" for a list of one value. T is float, double or an integer type.
template <class T = float>
std::vector<T> numbers(const json& list) {
  if (list.is_string()) {
    const std::string text = list.get<std::string>();
    const std::size_t cross = text.find(" x ");
    if (cross == std::string::npos) throw std::runtime_error("not a row of numbers: " + text);
    return std::vector<T>(std::stoul(text.substr(0, cross)),
                          static_cast<T>(std::stod(text.substr(cross + 3))));
  }
  std::vector<T> values;
  values.reserve(list.size());
  for (const json& value : list) values.push_back(static_cast<T>(number(value)));
  return values;
}

/// A list of lists, row behind row.
template <class T = float>
std::vector<T> rows(const json& list) {
  std::vector<T> values;
  for (const json& row : list) {
    const std::vector<T> one = numbers<T>(row);
    values.insert(values.end(), one.begin(), one.end());
  }
  return values;
}

/// The bytes that a string of hexadecimal digits writes.
inline std::string unhex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

}  // namespace tenon::test
