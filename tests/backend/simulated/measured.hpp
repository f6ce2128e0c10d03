// The measured times of tests/data/simulated.
#pragma once

#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tenon/backend/simulated/device.hpp>
#include <vector>

namespace tenon::test {

/// A row: the device's name, whole numbers, and what it took.
struct measurement {
  std::string device;
  std::vector<std::size_t> sizes;
  double seconds = 0;
};

/// The rows of a file for one device; at least one.
inline std::vector<measurement> measured(const std::string& name, const std::string& device) {
  std::ifstream file(std::string(TENON_TEST_DATA) + "/simulated/" + name);
  std::vector<measurement> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(device + ",")) continue;
    measurement row;
    std::istringstream cells(line);
    std::vector<double> numbers;
    std::getline(cells, row.device, ',');
    for (std::string cell; std::getline(cells, cell, ',');) numbers.push_back(std::stod(cell));
    row.seconds = 1e-6 * numbers.back();
    row.sizes.assign(numbers.begin(), numbers.end() - 1);
    rows.push_back(row);
  }
  if (rows.empty()) throw std::runtime_error("no rows for " + device + " in " + name);
  return rows;
}

/// The mean of |computed / measured - 1|.
template <class Compute>
double mean_error(const std::vector<measurement>& rows, Compute&& compute) {
  double sum = 0;
  for (const measurement& row : rows) sum += std::abs(compute(row.sizes) / row.seconds - 1);
  return sum / static_cast<double>(rows.size());
}

}  // namespace tenon::test
