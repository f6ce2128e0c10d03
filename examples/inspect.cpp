// tenon-inspect: what is in a GGUF file, and the memory that an engine needs for it.
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <map>
#include <string>
#include <string_view>
#include <tenon/io/printable.hpp>

#include "engine.hpp"
#include "program.hpp"

namespace {

struct options {
  std::string model;
  std::size_t context = 0;
  std::size_t batch = 1;
};

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

void print_metadata(const tenon::io::gguf_file& file) {
  std::cout << file.name() << ": GGUF " << file.version() << ", " << mebibytes(file.byte_count())
            << " MiB\n\n"
            << "metadata\n";
  for (const tenon::io::gguf_entry& entry : file.entries())
    std::cout << "  " << tenon::io::printable(entry.key) << " = " << tenon::io::value_text(entry) << '\n';
}

void print_tensors(const tenon::io::gguf_file& file) {
  struct group {
    std::size_t tensors = 0, values = 0, bytes = 0;
  };
  std::map<std::uint32_t, group> formats;
  std::size_t parameters = 0;
  for (const tenon::io::gguf_tensor& tensor : file.tensors()) {
    std::size_t values = 1;
    for (const std::uint64_t extent : tensor.dimensions()) values *= extent;
    group& of = formats[tensor.type];
    of.tensors += 1, of.values += values, of.bytes += tensor.data.size();
    parameters += values;
  }
  std::cout << "\ntensors\n  format  tensors       values         MiB  bits/value\n";
  for (const auto& [type, of] : formats) {
    std::cout << "  " << std::left << std::setw(6) << tenon::io::gguf_type_name(type) << std::right  //
              << std::setw(9) << of.tensors << std::setw(13) << of.values                            //
              << std::setw(12) << mebibytes(of.bytes)                                                //
              << std::setw(12) << 8.0 * static_cast<double>(of.bytes) / static_cast<double>(of.values)
              << '\n';
  }
  std::cout << "parameters: " << parameters << '\n';
}

void check_context(const tenon::io::gguf_file& file, std::size_t context) {
  const std::size_t trained = tenon::model::describe_llama(file).shape.context;
  if (context > trained)
    throw tenon::request_error("--ctx-size is " + std::to_string(context) +
                               ", but the model was trained for " + std::to_string(trained) + " positions");
}

void print_memory(const tenon::io::gguf_file& file, const options& o) {
  using precision = example_engine::precision_policy;
  static_assert(precision::key::block_bytes == precision::value::block_bytes,
                "the formula below has one size");
  const tenon::model::shape s = tenon::model::describe_llama(file).shape;
  std::cout << "\nkeys and values: 2 x layers x kv_heads x head_dim x bytes = 2 x " << s.layers << " x "
            << s.kv_heads << " x " << s.head_dim << " x " << precision::key::block_bytes << " = "
            << example_engine::kv_bytes_per_token(s) << " bytes per token (" << precision::key::name.view()
            << ")\n";

  const tenon::memory_plan plan = example_engine::plan(file, {.max_batch = o.batch, .context = o.context});
  std::cout << "\nmemory for " << o.batch << (o.batch == 1 ? " sequence" : " sequences") << " of "
            << (o.context != 0 ? o.context : std::min(s.context, std::size_t{4096})) << " positions, in MiB\n"
            << "  weights   " << std::setw(10) << mebibytes(plan.weights) << '\n'
            << "  cache     " << std::setw(10) << mebibytes(plan.cache) << '\n'
            << "  workspace " << std::setw(10) << mebibytes(plan.workspace) << '\n'
            << "  total     " << std::setw(10) << mebibytes(plan.total()) << '\n'
            << "engine: " << example_engine::description() << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Shows what is in a GGUF file, and the memory that an engine needs for it.", "tenon-inspect");
  options o;
  app.add_option("model,-m,--model", o.model, "GGUF model file")->required();
  app.add_option("-c,--ctx-size", o.context,
                 "positions of one sequence (default: the model's, at most 4096)");
  app.add_option("--batch", o.batch, "sequences at once")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{example_engine::batching_policy::max_batch}));

  return run_program(app, count, arguments, [&] {
    const auto file = tenon::io::gguf_file::open(o.model);
    if (o.context != 0) check_context(file, o.context);
    std::cout << std::fixed << std::setprecision(2);
    print_metadata(file);
    print_tensors(file);
    print_memory(file, o);
  });
}
