// The contract of a micro-kernel: the product of one panel of weights (32 rows) with the activations of some
// tokens.
//
// A kernel has two ways to the same result, bit for bit, because each sum is taken over the groups in order
// with the same operations: `direct` reads the packed weights once for one or two tokens (decode is bound by
// memory); `unpack` and `multiply` decode a stretch of groups to a scratch that stays in cache and run many
// tokens over it (prefill is bound by arithmetic).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/host/activations.hpp"
#include "tenon/backend/host/kernel/unrolled.hpp"
#include "tenon/backend/host/panel.hpp"
#include "tenon/backend/host/simd/simd.hpp"

namespace tenon::host {

/// The number formats of activations, as kernels see them. The policy `activations<bf16>` is as_bf16 where
/// the instruction set multiplies bf16, and elsewhere as_float on rounded values, as `activations<f16>` always is.
struct as_float {};
struct as_int8 {};
struct as_bf16 {};

/// Specialised for each instruction set, weight format and activation form:
///   direct_tokens                                   most tokens that direct takes
///   block_tokens                                    tokens that multiply takes at once
///   scratch_bytes                                   bytes of scratch a group takes when unpacked
///   direct<T>(panel, groups, x, token, acc)         acc[T][32] = product for tokens [token, token + T)
///   unpack(panel, first, last, scratch)             decodes groups [first, last) of a panel
///   multiply<T>(scratch, first, last, x, token, acc)   acc[T][32] += product over groups [first, last)
template <class Isa, class Format, class Form>
struct product_kernel;

}  // namespace tenon::host
