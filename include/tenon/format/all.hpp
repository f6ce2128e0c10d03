// All weight formats that tenon decodes. A format of your own needs no entry here: it is a type like these.
#pragma once

#include "tenon/format/bf16.hpp"
#include "tenon/format/e4m3.hpp"
#include "tenon/format/f16.hpp"
#include "tenon/format/f32.hpp"
#include "tenon/format/format.hpp"
#include "tenon/format/q4_0.hpp"
#include "tenon/format/q4_1.hpp"
#include "tenon/format/q8_0.hpp"
