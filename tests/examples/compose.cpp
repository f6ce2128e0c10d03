// What the README shows of composing engines. It is compiled with the tests; there is nothing to run.
#include <concepts>
#include <tenon/tenon.hpp>

namespace {

using chat = tenon::engine<tenon::model::llama,  //
                           tenon::precision::mixed<tenon::weights<tenon::q4_1, tenon::q8_0, tenon::f32>,
                                                   tenon::activations<tenon::int8>, tenon::kv<tenon::f16>>,
                           tenon::sampling::chain<tenon::sampling::temperature, tenon::sampling::top_p>,
                           tenon::batching::static_batch<16>>;

// The same engine with one slot replaced.
using greedy_chat = chat::with<tenon::sampling::greedy>;

// The same choices in another order are the same type, and what is left out has its default.
static_assert(
    std::same_as<tenon::engine<tenon::model::llama, tenon::sampling::greedy>,
                 tenon::engine<tenon::sampling::greedy, tenon::cache::contiguous, tenon::model::llama>>);

// Why a choice cannot work, as a value. Used as a type it stops the build with the same sentence.
static_assert(tenon::why_not<tenon::model::llama, tenon::sampling::greedy, tenon::sampling::like_vllm> ==
              "tenon: two sampling policies given; keep one");

// With the model's shape fixed at build time, sizes are constants; a file of another shape is refused when
// loaded.
constexpr tenon::model::shape smollm2{.layers = 30,
                                      .hidden = 576,
                                      .heads = 9,
                                      .kv_heads = 3,
                                      .head_dim = 64,
                                      .rotated = 64,
                                      .feed_forward = 1536,
                                      .vocabulary = 49152,
                                      .context = 8192,
                                      .tied_output = true};
using fixed = greedy_chat::with<tenon::model::fixed_shape<tenon::model::llama, smollm2>>;
static_assert(fixed::kv_bytes_per_token() == 23040);

}  // namespace
