// How a file's metadata and tensors become a Llama model, and what is refused in which words.
#include <tenon/model/llama.hpp>
#include <tenon/model/llama_weights.hpp>

#include "io/bad_files.hpp"
#include "io/gguf_writer.hpp"
#include "io/refused.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace tenon;
using tenon::test::bad_file;
using tenon::test::gguf_writer;
using tenon::test::refused;
using words = std::vector<std::string>;

/// The metadata of a small file, to be changed by tests.
using value = std::variant<std::uint32_t, float, std::string>;
std::map<std::string, value> small_metadata() {
  return {{"general.architecture", "llama"},     {"llama.block_count", 1u},
          {"llama.context_length", 128u},        {"llama.embedding_length", 32u},
          {"llama.feed_forward_length", 64u},    {"llama.attention.head_count", 4u},
          {"llama.attention.head_count_kv", 2u}, {"llama.attention.layer_norm_rms_epsilon", 1e-5f}};
}

/// Describes a file with this metadata and an embedding matrix of 10 rows.
model::description describe(const std::map<std::string, value>& metadata) {
  gguf_writer writer;
  for (const auto& [key, set] : metadata) {
    if (const auto* number = std::get_if<std::uint32_t>(&set)) writer.key(key, 4).number(*number);
    if (const auto* real = std::get_if<float>(&set)) writer.key(key, 6).number(*real);
    if (const auto* text = std::get_if<std::string>(&set)) writer.key(key, 8).text(*text);
  }
  writer.tensor("token_embd.weight", 0, {32, 10}, 0).pad().zeros(4 * 32 * 10);
  const auto bytes = writer.bytes();
  return model::describe_llama(io::gguf_file::parse(bytes));
}
auto describing(const std::string& key, const value& set) {
  return [key, set] {
    auto metadata = small_metadata();
    metadata[key] = set;
    describe(metadata);
  };
}
auto describing_without(const std::string& key) {
  return [key] {
    auto metadata = small_metadata();
    metadata.erase(key);
    describe(metadata);
  };
}

/// All that the model's side of loading does with a file.
auto using_file(const std::filesystem::path& path) {
  return [path] {
    const auto file = io::gguf_file::open(path);
    const model::llama_tensors tensors(file, model::describe_llama(file).shape);
  };
}
std::filesystem::path generated(const std::string& name) {
  return std::string(TENON_TEST_GENERATED) + "/gguf_bad/" + name + ".gguf";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(llama)

BOOST_AUTO_TEST_CASE(metadata_become_a_shape) {
  auto metadata = small_metadata();
  const model::description read = describe(metadata);
  BOOST_TEST((read.shape == model::shape{.layers = 1,
                                         .hidden = 32,
                                         .heads = 4,
                                         .kv_heads = 2,
                                         .head_dim = 8,
                                         .rotated = 8,
                                         .feed_forward = 64,
                                         .vocabulary = 10,
                                         .context = 128,
                                         .tied_output = true}));
  BOOST_TEST(read.constants.norm_epsilon == 1e-5f);
  BOOST_TEST(read.constants.rope_base == 10000.0);
  metadata["llama.rope.freq_base"] = 5e5f;
  metadata["llama.attention.key_length"] = 20u;
  metadata["llama.attention.value_length"] = 20u;
  metadata["llama.rope.dimension_count"] = 10u;
  metadata.erase("llama.attention.head_count_kv");
  const model::description other = describe(metadata);
  BOOST_TEST(other.shape.head_dim == 20u);
  BOOST_TEST(other.shape.rotated == 10u);
  BOOST_TEST(other.shape.kv_heads == 4u);  // one for each query head when the file does not say
  BOOST_TEST(other.constants.rope_base == 5e5);
}

BOOST_AUTO_TEST_CASE(a_missing_key_is_named) {
  for (const char* key :
       {"llama.block_count", "llama.context_length", "llama.embedding_length", "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon", "general.architecture"}) {
    BOOST_TEST(refused(describing_without(key), {"no key", key}));
  }
}

BOOST_AUTO_TEST_CASE(what_the_family_does_not_compute_is_refused_and_not_left_out) {
  BOOST_TEST(refused(describing("general.architecture", "qwen2"), {"'qwen2'", "'llama'"}));
  BOOST_TEST(refused(describing("llama.rope.scaling.type", "linear"), {"rope.scaling.type", "'linear'"}));
  BOOST_TEST(refused(describing("llama.rope.scale_linear", 2.0f), {"rope.scal"}));
  BOOST_TEST(refused(describing("llama.attention.sliding_window", 4096u),
                     {"sliding_window", "4096", "cache::sliding<4096>"}));
  BOOST_TEST(refused(describing("llama.expert_count", 8u), {"expert_count"}));
  BOOST_TEST(refused(describing("llama.attention.value_length", 16u), {"value_length", "16", "8"}));
}

BOOST_AUTO_TEST_CASE(numbers_that_contradict_each_other_are_refused) {
  BOOST_TEST(refused(describing("llama.vocab_size", 11u), {"vocab_size", "11", "10 rows"}));
  BOOST_TEST(refused(describing("llama.attention.head_count", 6u),
                     {"embedding_length", "no multiple of the 6 heads"}));
  BOOST_TEST(refused(describing("llama.rope.dimension_count", 0u), {"rope.dimension_count", "from 1"}));
  BOOST_TEST(refused(describing("llama.block_count", "many"), {"llama.block_count", "string"}));
}

BOOST_AUTO_TEST_CASE(every_bad_hyper_parameter_is_refused_with_its_key_and_value) {
  const std::map<std::string, words> expected = {
      {"hp_heads_0", {"'llama.attention.head_count' is 0"}},
      {"hp_kv_heads_0", {"'llama.attention.head_count_kv' is 0"}},
      {"hp_kv_heads_3", {"'llama.attention.head_count_kv' is 3", "does not divide the 4 query heads"}},
      {"hp_kv_heads_8", {"'llama.attention.head_count_kv' is 8", "does not divide the 4 query heads"}},
      {"hp_layers_2_31", {"'llama.block_count' is 2147483648"}},
      {"hp_layers_2", {"'blk.1.attn_norm.weight' is missing"}},
      {"hp_layers_0", {"'llama.block_count' is 0"}},
      {"hp_embd_0", {"'llama.embedding_length' is 0"}},
      {"hp_eps_nan", {"'llama.attention.layer_norm_rms_epsilon' is nan"}},
      {"hp_eps_neg", {"'llama.attention.layer_norm_rms_epsilon' is -1"}},
      {"hp_rope_dim_7", {"'llama.rope.dimension_count' is 7", "even"}},
      {"hp_rope_dim_64", {"'llama.rope.dimension_count' is 64", "at most the head size, 8"}},
      {"hp_base_0", {"'llama.rope.freq_base' is 0"}},
      {"hp_ff_128", {"'blk.0.ffn_gate.weight' is 32 x 64", "32 x 128"}},
      {"hp_no_eps", {"no key 'llama.attention.layer_norm_rms_epsilon'"}},
      {"hp_ctx_0", {"'llama.context_length' is 0"}},
      {"tensor_missing", {"'blk.0.attn_v.weight' is missing"}},
  };
  std::size_t seen = 0;
  for (const bad_file& file : tenon::test::bad_files()) {
    if (!file.starts_with("hp_") && !file.starts_with("tensor_missing")) continue;
    const auto row = expected.find(file.path.stem().string());
    BOOST_REQUIRE_MESSAGE((row != expected.end()), file.name);
    words all = row->second;
    all.push_back("convert the model again");
    BOOST_TEST(refused(using_file(file.path), all), file.name);
    ++seen;
  }
  BOOST_TEST(seen == expected.size());
}

BOOST_AUTO_TEST_CASE(tensors_are_found_in_the_order_of_their_use) {
  for (const bool tied : {true, false}) {
    const auto file = io::gguf_file::open(generated(tied ? "ok_base" : "ok_untied_output"));
    const model::shape shape = model::describe_llama(file).shape;
    BOOST_TEST(shape.tied_output == tied);
    const model::llama_tensors tensors(file, shape);
    BOOST_TEST(tensors.uses().size() == 1 + 9 * shape.layers + 1 + (tied ? 0 : 1));
    BOOST_TEST(tensors.uses().front().tensor->name == "token_embd.weight");
    BOOST_TEST(tensors.uses().back().tensor->name == (tied ? "output_norm.weight" : "output.weight"));
    // What is loaded ends up in its place.
    using name_and_rows = std::pair<std::string, std::size_t>;
    const auto loaded = tensors.load<name_and_rows, std::string>(
        [](const model::tensor_use& use) { return name_and_rows(use.tensor->name, use.rows); },
        [](const model::tensor_use& use) { return std::string(use.tensor->name); });
    BOOST_TEST(loaded.layers.at(0).key.first == "blk.0.attn_k.weight");
    BOOST_TEST(loaded.layers.at(0).key.second == shape.kv_heads * shape.head_dim);
    BOOST_TEST(loaded.layers.at(0).down.first == "blk.0.ffn_down.weight");
    BOOST_TEST(loaded.layers.at(0).feed_forward_norm == "blk.0.ffn_norm.weight");
    BOOST_TEST(loaded.output_norm == "output_norm.weight");
    BOOST_TEST(loaded.output().first == (tied ? "token_embd.weight" : "output.weight"));
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_of_the_model_that_would_be_left_out_is_refused) {
  // The name of a tensor that nobody needs, changed to one that a model would need, of the same length.
  std::vector<std::byte> bytes(std::filesystem::file_size(generated("ok_unused_tensor")));
  std::ifstream(generated("ok_unused_tensor"), std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto use = [&] {
    const auto file = io::gguf_file::parse(bytes);
    const model::llama_tensors tensors(file, model::describe_llama(file).shape);
  };
  BOOST_CHECK_NO_THROW(use());
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = all.find("unused.weight");
  BOOST_REQUIRE(at != std::string_view::npos);
  for (const std::string name : {"blk.0.bq.bias", "rope_freqs.wt"}) {
    BOOST_REQUIRE(name.size() == 13u);
    std::memcpy(bytes.data() + at, name.data(), name.size());
    BOOST_TEST(refused(use, {"'" + name + "'", "no place"}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
