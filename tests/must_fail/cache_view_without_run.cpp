// expect: tenon: this cache policy lacks a 'manager' with rows(), reserve(slot, tokens), release(slot)
#include <tenon/engine.hpp>

struct without_run {
  using slot = tenon::slot::cache;
  static constexpr auto name = tenon::fixed_string("without_run");
  struct view {
    std::size_t row(std::size_t position) const { return position; }
  };
  struct manager {
    explicit manager(tenon::cache::geometry) {}
    std::size_t rows() const { return 1; }
    bool reserve(std::size_t, std::size_t) { return true; }
    void release(std::size_t) {}
    without_run::view view(std::size_t) const { return {}; }
  };
};
using engine = tenon::engine<tenon::model::llama, without_run>;
int main() { return static_cast<int>(engine::description().size()); }
