// What a weight format is: a type that names itself, says how many values a block holds and in how many
// bytes, and decodes one block to fp32. Formats are types so that kernels, loaders and precision policies can
// be composed of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

/// A storage format for rows of weights. A row is a whole number of blocks, one behind the other.
///   name         the format's name in lower case, a fixed_string: "q4_1"
///   gguf_type    the number of the type in a GGUF file (ggml_type)
///   block_size   values in a block (1 for scalar formats)
///   block_bytes  bytes of a block
///   decode       writes the block_size values of one block, in order, exactly as the format defines them
template <class F>
concept weight_format = requires(const std::byte* block, float* values) {
  { F::name } -> std::convertible_to<std::string_view>;
  { F::gguf_type } -> std::convertible_to<std::uint32_t>;
  { F::block_size } -> std::convertible_to<std::size_t>;
  { F::block_bytes } -> std::convertible_to<std::size_t>;
  { F::decode(block, values) } -> std::same_as<void>;
};

/// A format with one value a block.
template <class F>
concept scalar_format = weight_format<F> &&(F::block_size == 1);

/// Bytes of a row of `count` values; `count` is a multiple of the block size.
template <weight_format F>
constexpr std::size_t row_bytes(std::size_t count) {
  return count / F::block_size * F::block_bytes;
}

/// Bytes of a row of `count` values whose last block may be padded.
template <weight_format F>
constexpr std::size_t padded_row_bytes(std::size_t count) {
  return (count + F::block_size - 1) / F::block_size * F::block_bytes;
}

/// Decodes a row of `count` values (a multiple of the block size) to fp32.
template <weight_format F>
void decode_row(const std::byte* row, float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; i += F::block_size, row += F::block_bytes) F::decode(row, values + i);
}

}  // namespace tenon
