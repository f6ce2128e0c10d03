#include <memory>

#include "inputs.hpp"
#include "kernel_case.hpp"
#include "tenon/backend/cuda/kernel/sample.cuh"

namespace tenon::bench {

namespace {

template <class Policy>
struct sampling_memory {
  std::size_t rows, vocabulary;
  cuda::device_buffer<float> logits;
  cuda::device_buffer<cuda::row_request<Policy>> requests;
  cuda::sampler<Policy> sampler;
  cuda::device_buffer<cuda::chosen_token> chosen;

  sampling_memory(std::size_t its_rows, std::size_t its_vocabulary, const sampling::params<Policy>& request,
                  const cuda::stream& on)
      : rows(its_rows),
        vocabulary(its_vocabulary),
        logits(normal_values(rows * vocabulary, 2.5, 1), on),
        requests(all_rows(rows, request), on),
        sampler(rows, vocabulary, on),
        chosen(rows) {}

  static std::vector<cuda::row_request<Policy>> all_rows(std::size_t rows,
                                                         const sampling::params<Policy>& request) {
    std::vector<cuda::row_request<Policy>> all;
    for (std::size_t row = 0; row < rows; ++row)
      all.push_back(cuda::make_row_request<Policy>(request, row, 0));
    return all;
  }
};

template <class Policy>
kernel_case make(const std::string& name, std::size_t rows, std::size_t vocabulary,
                 const sampling::params<Policy>& request) {
  kernel_case made{.name = name + " V" + std::to_string(vocabulary) + " b" + std::to_string(rows),
                   .kind = "sampling"};
  made.read_bytes = rows * (vocabulary * sizeof(float) + sizeof(cuda::row_request<Policy>));
  made.write_bytes = rows * sizeof(cuda::chosen_token);
  made.make = [rows, vocabulary, request](const cuda::stream& on) {
    const auto own = std::make_shared<sampling_memory<Policy>>(rows, vocabulary, request, on);
    return [own](const cuda::stream& stream) {
      own->sampler.run(stream, own->logits.data(), own->vocabulary, own->rows, own->vocabulary,
                       own->requests.data(), own->chosen.data());
    };
  };
  return made;
}

}  // namespace

std::vector<kernel_case> sampling_cases() {
  using nucleus = sampling::chain<sampling::temperature, sampling::top_p>;
  using both = sampling::chain<sampling::temperature, sampling::top_k, sampling::top_p>;
  std::vector<kernel_case> cases;
  for (const std::size_t vocabulary : {49152u, 128256u}) {
    for (const std::size_t rows : {1u, 16u}) {
      cases.push_back(make<sampling::greedy>("greedy", rows, vocabulary, {}));
      cases.push_back(make<both>("top-k 40, top-p 0.9", rows, vocabulary, {.top_k = 40, .top_p = 0.9f}));
      cases.push_back(make<nucleus>("top-p 0.9", rows, vocabulary, {.top_p = 0.9f}));
    }
  }
  using m = seven_billion;
  for (const int batch : m::batches) {
    const auto rows = static_cast<std::size_t>(batch);
    cases.push_back(m::part(batch, make<sampling::greedy>("greedy", rows, m::vocabulary, {}), 1));
  }
  return cases;
}

}  // namespace tenon::bench
