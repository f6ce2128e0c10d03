// How the loading of a model reports where it is.
#pragma once

#include <cstddef>
#include <functional>

namespace tenon {

/// How far loading has come, in bytes of the file's tensors.
struct load_progress {
  std::size_t done = 0;
  std::size_t total = 0;
};

/// Called on the loading thread now and then; an empty function is not called.
using progress_callback = std::function<void(const load_progress&)>;

}  // namespace tenon
