// A sampling stage of your own, with a request parameter of its own, in a chain with built-in ones.
//   own_sampler MODEL.gguf
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>

/// Keeps the tokens whose logit is at most `sigmas` standard deviations of all logits below the best one
/// ("top-n sigma", Tang et al. 2024, arXiv 2411.07641). It stands before temperature, which then does not
/// change what is kept.
struct within_sigmas {
  static constexpr auto name = tenon::fixed_string("within_sigmas");
  static constexpr bool keeps_best = true;  // a temperature of 0 may skip it

  struct params {
    float sigmas = 1.0f;
  };

  static void validate(const params& own) {
    if (!(own.sigmas >= 0)) throw tenon::request_error("sigmas must be 0 (only the best token) or more");
  }

  static void apply(tenon::sampling::candidates& candidates, const params& own) {
    double sum = 0, squares = 0;
    for (const float logit : candidates.logits()) {
      const double below = static_cast<double>(candidates.best_logit()) - static_cast<double>(logit);
      sum += below, squares += below * below;
    }
    const auto count = static_cast<double>(candidates.size());
    const double variance = std::max(0.0, squares / count - (sum / count) * (sum / count));
    candidates.keep_within(static_cast<double>(own.sigmas) * std::sqrt(variance));
  }
};

using engine =
    tenon::engine<tenon::model::llama, tenon::sampling::chain<within_sigmas, tenon::sampling::temperature>>;

std::string answer(engine& e, const engine::params& request) {
  std::string text;
  for (const auto& piece : e.generate("Once upon a time", request)) text += piece.text;
  return text;
}

int main(int count, char** arguments) try {
  if (count != 2) throw tenon::error("usage: own_sampler MODEL.gguf");
  engine e = engine::load(arguments[1], {.max_batch = 1, .context = 128});
  std::cout << engine::sampling_policy::name.view() << '\n';
  for (const float sigmas : {0.0f, 2.0f, 4.0f, 8.0f}) {
    const engine::params request{
        .temperature = 1.5f, .seed = 1, .custom = {{.sigmas = sigmas}}, .max_tokens = 24};
    std::cout << "sigmas " << sigmas << ": " << answer(e, request) << '\n';
  }

  // No deviation allowed leaves the best token alone, at any temperature.
  const std::string greedy = answer(e, {.temperature = 0, .max_tokens = 24});
  const std::string narrowest = answer(e, {.temperature = 1.5f, .custom = {{.sigmas = 0}}, .max_tokens = 24});
  std::cout << (narrowest == greedy ? "sigmas 0 is greedy\n" : "sigmas 0 is NOT greedy\n");
  return narrowest == greedy ? 0 : 1;
} catch (const tenon::error& fault) {
  std::cerr << fault.what() << '\n';
  return 1;
}
