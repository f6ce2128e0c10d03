// Products of one engine's weight formats and activations as cases: how they are set up, and what they have to move.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "inputs.hpp"
#include "kernel_case.hpp"
#include "tenon/backend/cuda/products.cuh"

namespace tenon::bench {

enum class product { store, query_key_value, add, add_and_norm, swiglu };

struct product_shape {
  product does = product::store;
  std::size_t rows, columns, tokens;
  /// Matrices that are multiplied together.
  std::size_t matrices() const {
    return does == product::query_key_value ? 3 : does == product::swiglu ? 2 : 1;
  }
};

template <class Formats, class Activation>
class product_family {
  using products = cuda::products<Formats, Activation>;

  template <class Format>
  struct memory {
    std::vector<cuda::device_buffer<std::byte>> records;
    std::vector<cuda::matrix> weights;
    cuda::device_buffer<float> input;
    cuda::activations x, next;
    cuda::device_buffer<float> out, norm_weight;
    cuda::device_buffer<unsigned> arrived;

    memory(const product_shape& s, const cuda::stream& on)
        : input(activation_rows(s.tokens, s.columns, 1).values, on),
          x(s.tokens, s.columns, products::reads(Format::gguf_type), on),
          next(s.tokens, s.rows, products::reads(Format::gguf_type), on),
          out(s.tokens * s.rows * s.matrices()),
          norm_weight(normal_values(s.rows, 1, 2), on),
          arrived(1) {
      for (std::size_t i = 0; i < s.matrices(); ++i) {
        records.emplace_back(packed_weights<Format>(s.rows, s.columns, 3 + i), on);
        weights.push_back({Format::gguf_type, s.rows, s.columns, records.back().data()});
      }
      out.zero(on), arrived.zero(on);
      cuda::prepare(on, {input.data(), x.view(), static_cast<int>(s.columns)}, s.tokens);
    }

    void launch(const product_shape& s, const cuda::stream& on) {
      const cuda::activation_view in = x.view();
      switch (s.does) {
        case product::store:
          return products::store(on, std::array{&std::as_const(weights[0])}, in, s.tokens, out.data(),
                                 s.rows);
        case product::query_key_value:
          return products::store(
              on,
              std::array{&std::as_const(weights[0]), &std::as_const(weights[1]), &std::as_const(weights[2])},
              in, s.tokens, out.data(), 3 * s.rows);
        case product::add:
          return products::add(on, weights[0], in, s.tokens, out.data());
        case product::add_and_norm:
          return products::add_and_norm(
              on, weights[0], in, s.tokens, out.data(),
              {out.data(), nullptr, norm_weight.data(), next.view(), static_cast<int>(s.rows), 1e-5f},
              arrived.data());
        case product::swiglu:
          return products::swiglu(on, weights[0], weights[1], in, s.tokens, next.view());
      }
    }
  };

 public:
  /// Products that few and many tokens ask for, at the shape that other engines were counted at.
  template <class Format>
  static void add_shapes(const std::string& bits, std::vector<kernel_case>& cases) {
    for (const std::size_t tokens : {1u, 8u, 16u})
      cases.push_back(make<Format>("thin " + bits, {product::store, 4096, 4096, tokens}));
    cases.push_back(make<Format>("wide " + bits, {product::store, 1024, 4096, 64}));
    cases.push_back(make<Format>("wide " + bits, {product::store, 4096, 4096, 512}));
    cases.back().slow = true;
  }

  template <class Format>
  static kernel_case make(const std::string& kind, const product_shape& s) {
    const cuda::activation_forms forms = products::reads(Format::gguf_type);
    // Of the second terms of int8 only those of refined groups need be read and multiplied, and sums only be read where
    // quanta have an offset.
    std::size_t terms = s.tokens * s.columns;
    std::size_t input = s.tokens * cuda::activations::bytes_per_token(s.columns, forms);
    if (!reads_sums<Format>) input -= terms / cuda::group_size * sizeof(float);
    if (forms.as_int8) {
      const std::size_t second = activation_rows(s.tokens, s.columns, 1).refined_groups * cuda::group_size;
      input -= terms - second;
      terms += second;
    }
    const std::size_t floats = s.tokens * s.rows * sizeof(float);
    const std::size_t next = s.tokens * cuda::activations::bytes_per_token(s.rows, forms);
    kernel_case made{.name = name<Format>(s), .kind = kind};
    made.read_bytes = s.matrices() * cuda::matrix_bytes<Format>(s.rows, s.columns) + input;
    made.write_bytes = s.does == product::swiglu ? next : s.matrices() * floats;
    if (s.does == product::add || s.does == product::add_and_norm) made.read_bytes += floats;
    if (s.does == product::add_and_norm) made.read_bytes += s.rows * sizeof(float), made.write_bytes += next;
    made.useful_flops = 2.0 * static_cast<double>(s.matrices() * s.rows) * static_cast<double>(terms);
    made.make = [s](const cuda::stream& on) {
      const auto own = std::make_shared<memory<Format>>(s, on);
      return [s, own](const cuda::stream& stream) { own->launch(s, stream); };
    };
    return made;
  }

 private:
  template <class Format>
  static constexpr bool reads_sums = cuda::weight_layout<Format>::has_minimum ||
                                     (cuda::weight_layout<Format>::value_bits == 4 &&
                                      std::is_same_v<Activation, int8>);

  template <class Format>
  static std::string name(const product_shape& s) {
    static constexpr const char* verbs[] = {"product", "query, key, value", "product, added",
                                            "product, added, norm", "gate and up"};
    return std::string(verbs[static_cast<int>(s.does)]) + " " + std::string(Format::name.view()) + " x " +
           std::string(Activation::name.view()) + " " + std::to_string(s.rows) + "x" +
           std::to_string(s.columns) + " t" + std::to_string(s.tokens);
  }
};

}  // namespace tenon::bench
