// A cache layout of your own: keys and values in pages that are handed out from one pool. The engine is the
// usual one with that slot replaced, and must say the same.
//   own_cache_layout MODEL.gguf
#include <cstddef>
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

/// Pages of N positions. A sequence holds as many as it needs, in whatever order they came from the pool. The
/// pool has half of what all sequences would need for their whole context: a request that finds too few pages
/// waits.
template <std::size_t N>
struct pooled_pages {
  using slot = tenon::slot::cache;
  static constexpr auto name = "pooled_pages<" + tenon::decimal<N>() + ">";

  /// What kernels see: where a position lies, and how many follow it without a gap.
  struct page_view {
    const std::size_t* pages;
    std::size_t row(std::size_t position) const { return pages[position / N] * N + position % N; }
    std::size_t run(std::size_t position) const { return N - position % N; }
  };

  /// What the engine asks: who gets which pages.
  class manager {
   public:
    explicit manager(const tenon::cache::geometry& size) : tables_(size.max_batch) {
      const std::size_t for_one = pages_for(size.context);
      pages_ = for_one * (size.max_batch + 1) / 2;  // enough for one, at least
      for (std::size_t page = 0; page < pages_; ++page) free_.push_back(page);
      for (auto& table : tables_) table.reserve(for_one);
    }
    std::size_t rows() const { return pages_ * N; }
    bool reserve(std::size_t sequence, std::size_t tokens) {
      std::vector<std::size_t>& table = tables_[sequence];
      if (pages_for(tokens) > table.size() + free_.size()) return false;
      while (table.size() < pages_for(tokens)) {
        table.push_back(free_.back());  // the last page comes first, so that no two are in a row
        free_.pop_back();
      }
      return true;
    }
    void release(std::size_t sequence) {
      free_.insert(free_.end(), tables_[sequence].begin(), tables_[sequence].end());
      tables_[sequence].clear();
    }
    page_view view(std::size_t sequence) const { return {tables_[sequence].data()}; }

   private:
    static std::size_t pages_for(std::size_t tokens) { return (tokens + N - 1) / N; }
    std::size_t pages_ = 0;
    std::vector<std::size_t> free_;
    std::vector<std::vector<std::size_t>> tables_;  // one for each sequence
  };
};

using usual = tenon::engine<tenon::model::llama, tenon::sampling::greedy, tenon::batching::static_batch<4>>;
using paged = usual::with<pooled_pages<16>>;

const tenon::engine_options load_options{.context = 256};
const char* const prompts[] = {"Once upon a time", "The capital of France is", "1, 2, 3, 4,", "A tenon is",
                               "def f(x):"};

template <class Engine>
std::vector<tenon::request_result> answers(const std::string& model) {
  Engine engine = Engine::load(model, load_options);
  std::vector<tenon::request_id> ids;
  for (const char* prompt : prompts)
    ids.push_back(engine.submit(prompt, {.max_tokens = 48, .ignore_eos = true}));
  while (engine.step()) continue;
  std::vector<tenon::request_result> results;
  for (const tenon::request_id id : ids) results.push_back(*engine.take(id));
  return results;
}

int main(int count, char** arguments) try {
  if (count != 2) throw tenon::error("usage: own_cache_layout MODEL.gguf");
  const auto expected = answers<usual>(arguments[1]);
  const auto actual = answers<paged>(arguments[1]);
  int different = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool same = actual[i].tokens == expected[i].tokens;
    different += same ? 0 : 1;
    std::cout << (same ? "same:      " : "DIFFERENT: ") << actual[i].text << '\n';
  }
  const auto file = tenon::io::gguf_file::open(arguments[1]);
  std::cout << "cache bytes: " << usual::plan(file, load_options).cache << " for "
            << usual::cache_policy::name.view() << ", " << paged::plan(file, load_options).cache << " for "
            << paged::cache_policy::name.view() << '\n';
  return different == 0 ? 0 : 1;
} catch (const tenon::error& fault) {
  std::cerr << fault.what() << '\n';
  return 1;
}
