// The engine of the programs here.
#pragma once

#include <tenon/tenon.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::host>;
