// The malformed and odd-but-valid GGUF files that tests/data/gguf/gen_gguf_bad.py writes at build time, by
// their manifest. The tests of the reader use them, and so do those of whatever loads whole models.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::test {

/// One file of the manifest.
struct bad_file {
  std::string name;
  std::string expect;  ///< "error": loading must throw load_error; "ok": it must succeed; "either"
  std::string why;
  std::filesystem::path path;

  bool starts_with(const std::string& prefix) const { return name.rfind(prefix, 0) == 0; }
  /// Is it only the loader of a whole model that can tell: hyper-parameters, vocabulary, a weight that is
  /// missing?
  bool needs_the_model() const {
    return starts_with("hp_") || starts_with("voc_") || starts_with("tensor_missing");
  }
};

/// All files of the manifest.
inline std::vector<bad_file> bad_files() {
  const std::filesystem::path folder = TENON_TEST_GENERATED "/gguf_bad";
  std::ifstream manifest(folder / "manifest.json");
  if (!manifest)
    throw std::runtime_error("no manifest in " + folder.string() + "; build the target tenon_test_data");
  std::vector<bad_file> files;
  for (const auto& row : nlohmann::json::parse(manifest)) {
    const std::string name = row.at("file");
    files.push_back({name, row.at("expect"), row.at("why"), folder / name});
  }
  return files;
}

}  // namespace tenon::test
