// The slots of an engine: for each there is one policy. A policy is a public class that names its slot and
// itself.
#pragma once

#include <concepts>
#include <string_view>

namespace tenon {

/// The kinds of choices that make an engine. The README's table lists the policies for each.
namespace slot {
struct model {};
struct backend {};
struct precision {};
struct cache {};
struct sampling {};
struct batching {};
struct reduction {};
struct execution {};
struct speculation {};
struct parallelism {};
struct instrumentation {};
}  // namespace slot

/// Anything that can be given to tenon::engine:
///   slot   one of the tags in tenon::slot
///   name   its name for logs and messages, a fixed_string
template <class P>
concept engine_policy = requires {
  typename P::slot;
  { P::name } -> std::convertible_to<std::string_view>;
};

}  // namespace tenon
