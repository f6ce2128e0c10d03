// The engines of the case study: a 7B model in 16 bits on one A100-80GB, and what policies make of it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <tenon/schedule/outcome.hpp>
#include <vector>

#include "case_study/textbook.hpp"
#include "serve/drive.hpp"
#include "serve/planned_request.hpp"

namespace case_study {

/// What the cache may take: 16 requests of the longest kind, in 16 bits.
inline constexpr double cache_bytes = 16.0 * max_length * 512 * 1024;

/// What came of a load.
struct outcome {
  std::vector<serve::request_record> requests;
  tenon::schedule::counters work;
  double mean_batch = 0;  // sequences that get a token, on average over the steps that give any
};

/// One line of the study.
struct candidate {
  std::string_view name;
  std::string_view description;  // the engine's
  /// Requests that come when they come; with at most `users` of them in the system (0: any number).
  outcome (*run)(std::span<const serve::planned_request> requests, std::size_t users);
};

/// The textbook's two systems: a static batch of 8 and a continuous batch of 16, with what their hosts lose between steps
/// (textbook.hpp says how much that is).
std::span<const candidate> textbook_systems();
/// The same policies where the host takes a tenth of a millisecond, and what further policies add.
std::span<const candidate> good_engines();

}  // namespace case_study
