// Waiting sequences by client, in turn, so that nobody gets more by asking more often.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "tenon/schedule/indexed_heap.hpp"
#include "tenon/schedule/sequence.hpp"

namespace tenon::schedule {

/// Deficit round robin over clients (Shreedhar and Varghese, 1996): clients that wait stand in a ring; a turn
/// adds `Quantum` tokens to a client's credit, from which it pays for sequences, in the order in which it
/// submitted them. A sequence costs what it may come to cost, and what it did not use is given back if its client
/// still waits. What had to leave has been paid for, and goes first, in the order of first admissions.
template <std::uint64_t Quantum>
class fair_queue {
  static_assert(Quantum > 0, "tenon: fair<Quantum> needs a quantum of at least one token");

 public:
  fair_queue() = default;
  fair_queue(fair_queue&&) = default;  // a client's account does not move with its map
  fair_queue& operator=(fair_queue&&) = default;

  void reserve(std::size_t sequences) { returned_.reserve(sequences); }
  void enroll(const sequence& s) { ++accounts_.try_emplace(s.client).first->second.sequences; }
  std::size_t size() const { return returned_.size() + size_; }

  void push(sequence& s) {
    account& client = accounts_.find(s.client)->second;
    s.before = client.last;
    s.after = nullptr;
    (client.last != nullptr ? client.last->after : client.first) = &s;
    client.last = &s;
    ++size_;
    if (client.next == nullptr) join(client);
  }
  void push_back_in(sequence& s) { returned_.push(s); }

  sequence* next() {
    if (!returned_.empty()) return &returned_.top();
    if (turn_ == nullptr) return nullptr;
    for (std::size_t passed = 0; turn_->credit < cost(*turn_->first); ++passed) {
      if (passed == clients_) skip_rounds();
      pass_turn();
    }
    return turn_->first;
  }
  void pop() {
    if (!returned_.empty()) {
      returned_.erase(returned_.top());
      return;
    }
    sequence& s = *turn_->first;
    turn_->credit -= cost(s);
    s.key = ++admitted_;
    unlink(s, *turn_);
  }
  void erase(sequence& s) {
    if (s.stage == stage::waiting) {
      unlink(s, accounts_.find(s.client)->second);
    } else {
      returned_.erase(s);
    }
  }
  void ended(const sequence& s) {
    const auto found = accounts_.find(s.client);
    account& client = found->second;
    if (s.entered != 0 && client.first != nullptr) client.credit += cost(s) - s.tokens.size();
    if (--client.sequences == 0) accounts_.erase(found);
  }

  template <class Each>
  void for_each(Each&& each) const {
    for (const sequence* s : returned_.all()) each(*s);
    const account* client = turn_;
    for (std::size_t i = 0; i < clients_; ++i, client = client->next)
      for (const sequence* s = client->first; s != nullptr; s = s->after) each(*s);
  }

 private:
  /// Of a client of whom something waits or runs.
  struct account {
    std::size_t sequences = 0;
    std::uint64_t credit = 0;  // tokens
    sequence *first = nullptr, *last = nullptr;
    account *previous = nullptr, *next = nullptr;  // in the ring, while something waits
  };

  static std::uint64_t cost(const sequence& s) { return s.most_tokens(); }

  /// Takes the last place in the ring, just behind whose turn it is.
  void join(account& client) {
    ++clients_;
    if (turn_ == nullptr) {
      turn_ = client.previous = client.next = &client;
      client.credit = Quantum;
      return;
    }
    client.next = turn_;
    client.previous = turn_->previous;
    client.previous->next = turn_->previous = &client;
  }

  void pass_turn() {
    turn_ = turn_->next;
    turn_->credit += Quantum;
  }

  /// As many rounds as nobody can pay in, at once.
  void skip_rounds() {
    std::uint64_t rounds = UINT64_MAX;
    account* client = turn_;
    for (std::size_t i = 0; i < clients_; ++i, client = client->next) {
      const std::uint64_t price = cost(*client->first);
      rounds = (std::min)(rounds, (price - (std::min)(client->credit, price) + Quantum - 1) / Quantum);
    }
    if (rounds < 2) return;
    for (std::size_t i = 0; i < clients_; ++i, client = client->next)
      client->credit += (rounds - 1) * Quantum;
  }

  /// A client of whom nothing waits loses its credit and its place.
  void unlink(sequence& s, account& client) {
    (s.before != nullptr ? s.before->after : client.first) = s.after;
    (s.after != nullptr ? s.after->before : client.last) = s.before;
    s.before = s.after = nullptr;
    --size_;
    if (client.first != nullptr) return;
    if (client.next == &client) {
      turn_ = nullptr;
    } else {
      if (turn_ == &client) pass_turn();
      client.previous->next = client.next;
      client.next->previous = client.previous;
    }
    client.previous = client.next = nullptr;
    client.credit = 0;
    --clients_;
  }

  std::unordered_map<std::uint64_t, account> accounts_;
  account* turn_ = nullptr;
  indexed_heap<goes_before, &sequence::heap_place> returned_;
  std::size_t clients_ = 0;  // in the ring
  std::size_t size_ = 0;     // sequences, without the returned ones
  std::int64_t admitted_ = 0;
};

}  // namespace tenon::schedule
