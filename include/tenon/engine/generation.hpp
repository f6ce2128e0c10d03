// A request as a range: `for (auto piece : engine.generate(prompt, params)) ...`.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "tenon/core/error.hpp"
#include "tenon/engine/result.hpp"

namespace tenon {

/// The pieces of one request, produced by stepping the engine. A piece is valid until the next is asked for.
/// Leaving the loop early cancels the request. The engine must outlive it and stay where it is.
template <class Engine>
class generation {
 public:
  class iterator {
   public:
    using value_type = piece;
    using difference_type = std::ptrdiff_t;

    const piece& operator*() const { return owner_->state_->current; }
    const piece* operator->() const { return &owner_->state_->current; }
    iterator& operator++() {
      owner_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    friend class generation;
    explicit iterator(generation& owner) : owner_(&owner) {}
    bool at_end() const { return !owner_->state_->has_piece; }
    generation* owner_;
  };

  /// `submit(callbacks)` submits the request and returns its id.
  template <class Submit>
  generation(Engine& owner, Submit&& submit) : engine_(&owner), state_(std::make_unique<state>()) {
    state* into = state_.get();
    into->id = submit(request_callbacks{.on_piece =
                                            [into](const piece& next) {
                                              into->text.assign(next.text);
                                              into->current = next;
                                              into->current.text = into->text;
                                              into->has_piece = true;
                                            },
                                        .on_finish =
                                            [into](const request_result& result) {
                                              into->result = result;
                                              into->ended = true;
                                            }});
  }
  generation(generation&&) = default;
  generation& operator=(generation&&) = delete;
  ~generation() {
    if (state_ != nullptr && !state_->ended) engine_->cancel(state_->id);
  }

  iterator begin() {
    advance();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// The whole, once the range has come to its end.
  const request_result& result() const { return state_->result; }

 private:
  struct state {
    request_id id = 0;
    piece current;
    std::string text;
    bool has_piece = false;
    bool ended = false;
    request_result result;
  };

  /// Steps until this request has its next piece or has ended. Throws request_error when it ended in an
  /// error.
  void advance() {
    state_->has_piece = false;
    while (!state_->has_piece && !state_->ended) engine_->step();
    if (!state_->has_piece && state_->result.finish == finish_reason::error)
      throw request_error(state_->result.error);
  }

  Engine* engine_;
  std::unique_ptr<state> state_;
};

}  // namespace tenon
