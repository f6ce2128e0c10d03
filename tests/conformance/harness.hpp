// What the conformance tests share: the instruction sets to test, packed matrices with the values they stand
// for, and a team of threads that runs an op.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "reference/inputs.hpp"
#include "reference/ops.hpp"
#include "reference/quantise.hpp"
#include "reference/tolerance.hpp"
#include "support/instruction_sets.hpp"
#include "tenon/backend/host/ops.hpp"

namespace tenon::conformance {

using test::instruction_sets;

/// A team and its scratch. run(op) calls op(op_context) on every thread, as a step of the engine does.
class runner {
 public:
  explicit runner(int threads = 1, std::size_t attention_floats = 0)
      : team_(threads), scratch_(static_cast<std::size_t>(threads)) {
    for (host::thread_scratch& each : scratch_) each.attention = buffer<float>(attention_floats);
  }

  template <class Op>
  void run(Op&& op) {
    team_.run([&](host::team_member& member) {
      op(host::op_context{member, scratch_[static_cast<std::size_t>(member.rank())]});
    });
  }

 private:
  host::thread_team team_;
  std::vector<host::thread_scratch> scratch_;
};

/// A matrix as the engine holds it, and the fp32 values and term magnitudes [rows, columns] behind it.
struct test_matrix {
  host::matrix packed;
  std::vector<float> values;
  std::vector<float> terms;
};

/// Encodes values [rows, columns] in a format and packs them. Columns must be whole blocks.
template <class Isa, class Format>
test_matrix make_test_matrix(std::span<const float> values, std::size_t rows, std::size_t columns) {
  test_matrix made;
  std::vector<std::byte> file;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::vector<std::byte> encoded =
        reference::encode_row<Format>(values.subspan(row * columns, columns));
    const std::vector<float> decoded = reference::decoded<Format>(encoded);
    const std::vector<float> terms = reference::term_magnitudes<Format>(encoded);
    file.insert(file.end(), encoded.begin(), encoded.end());
    made.values.insert(made.values.end(), decoded.begin(), decoded.end());
    made.terms.insert(made.terms.end(), terms.begin(), terms.end());
  }
  made.packed = host::make_matrix<Isa, Format>(rows, columns);
  for (std::size_t panel = 0; panel < made.packed.panels(); ++panel)
    host::pack_panel<Isa, Format>(made.packed, panel, file.data());
  return made;
}

/// The same from a seed, with the sizes of numbers that trained weights have.
template <class Isa, class Format>
test_matrix random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  const std::vector<float> values = reference::uniform_values(rows * columns, -0.25, 0.25, seed);
  return make_test_matrix<Isa, Format>(values, rows, columns);
}

/// x [tokens, width] in the form that products with a weight format read.
template <class Isa, class Format, class Activation>
host::activations prepared(runner& threads, std::span<const float> x, std::size_t tokens) {
  using form = host::form_of<Isa, Format, Activation>;
  const std::size_t width = x.size() / tokens;
  host::activations made(tokens, width, std::is_same_v<form, host::as_float>,
                         std::is_same_v<form, host::as_int8>, std::is_same_v<form, host::as_bf16>);
  threads.run([&](host::op_context context) {
    host::prepare<Isa, Activation>(context, x.data(), tokens, width, made);
  });
  return made;
}

/// The values [tokens, width] that prepared activations stand for, rounded to fp32.
inline std::vector<float> values_of(const host::activations& x, std::size_t tokens, std::size_t width) {
  std::vector<float> values;
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = token * x.stride + i;
      if (x.as_float()) {
        values.push_back(x.values[at]);
      } else if (x.as_bf16()) {
        values.push_back(bfloat_to_float(x.halves[at]));
      } else {
        const int quanta = 128 * x.quanta[at] + x.residuals[at];
        values.push_back(x.scales[at / host::group_size] * 0x1p-7f * static_cast<float>(quanta));
      }
    }
  }
  return values;
}

/// What is wrong with group `at` of int8 activations as a quantisation of 32 values, or "". A group without
/// the flag has one term, a refined one two; the sums are those of what the terms stand for.
inline std::string fault_of_int8(const host::activations& x, std::size_t at, const float* values) {
  const bool refined = x.refined[at] != 0;
  const double scale = static_cast<double>(x.scales[at]), step = refined ? scale / 128 : scale;
  float largest = 0;
  int total = 0;
  for (std::size_t i = 0; i < host::group_size; ++i) {
    const int quantum = x.quanta[at * host::group_size + i],
              residual = x.residuals[at * host::group_size + i];
    const std::string place = "value " + std::to_string(i) + ": ";
    if (!reference::int8_quant_fits(values[i], step, refined ? 128 * quantum + residual : quantum))
      return place + "off by more than half a step";
    if (quantum == -128 || residual < -64 || residual > 64) return place + "out of range";
    if (!refined && residual != 0) return place + "a second term in a group without the flag";
    largest = (std::max)(largest, std::fabs(values[i]));
    total += 128 * quantum + residual;
  }
  // two roundings: 1 / 127, and the product
  if (!(std::fabs(scale * 127 - static_cast<double>(largest)) <=
        3 * reference::unit_f32 * static_cast<double>(largest)))
    return "not the scale of its largest value";
  if (x.totals[at] != total) return "totals are not those of the terms";
  return x.sums[at] == x.scales[at] * 0x1p-7f * static_cast<float>(total) ? "" : "sums are not the totals'";
}

/// "" when every value is within its tolerance; else where the first fault is. NaN is a fault.
inline std::string first_fault(std::span<const float> seen, std::span<const float> expected,
                               std::span<const double> tolerance) {
  if (seen.size() != expected.size() || seen.size() != tolerance.size()) return "sizes differ";
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (std::fabs(static_cast<double>(seen[i]) - static_cast<double>(expected[i])) <= tolerance[i]) continue;
    std::ostringstream text;
    text.precision(9);
    text << "value " << i << " is " << seen[i] << ", should be " << expected[i] << " +- " << tolerance[i];
    return text.str();
  }
  return "";
}

/// "" when two arrays are the same bit for bit.
inline std::string first_difference(std::span<const float> seen, std::span<const float> expected) {
  if (seen.size() != expected.size()) return "sizes differ";
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (std::memcmp(&seen[i], &expected[i], sizeof(float)) == 0) continue;
    std::ostringstream text;
    text.precision(9);
    text << "value " << i << " is " << seen[i] << ", not exactly " << expected[i];
    return text.str();
  }
  return "";
}

}  // namespace tenon::conformance
