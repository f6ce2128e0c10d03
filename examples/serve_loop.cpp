// The core of a server: threads ask, one thread steps the engine, and text streams back to whoever asked. The
// engine takes no locks, as it only ever sees that one thread.
//   serve_loop MODEL.gguf
#include <condition_variable>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <syncstream>
#include <tenon/tenon.hpp>
#include <thread>
#include <utility>
#include <vector>

using engine = tenon::engine<tenon::model::llama, tenon::backend::host, tenon::sampling::greedy,
                             tenon::cache::paged<16>, tenon::batching::continuous<>>;

/// One request's text, on its way from the engine's thread to another.
class answer {
 public:
  /// Waits for more text; empty once there is no more.
  std::string next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !text_.empty() || result_; });
    return std::exchange(text_, {});
  }
  /// How it ended; there once next() is empty.
  const tenon::request_result& result() const { return *result_; }

 private:
  friend class server;
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    text_ += text;
    changed_.notify_one();
  }
  void end(const tenon::request_result& result) {
    const std::lock_guard lock(mutex_);
    result_ = result;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::optional<tenon::request_result> result_;
  tenon::request_id id_ = 0;  // for the engine's thread only
};

/// Its functions may be called by any thread. Its end waits for all answers.
class server {
 public:
  explicit server(engine loaded)
      : engine_(std::move(loaded)), thread_([this](std::stop_token stop) { run(stop); }) {}

  std::shared_ptr<answer> submit(const std::string& prompt, const engine::params& params) {
    auto made = std::make_shared<answer>();
    between_steps([=, this] {
      try {
        made->id_ = engine_.submit(prompt, params,
                                   {.on_piece = [=](const tenon::piece& piece) { made->add(piece.text); },
                                    .on_finish = [=](const auto& result) { made->end(result); }});
      } catch (const tenon::request_error& refused) {
        made->end({.finish = tenon::finish_reason::error, .error = refused.what()});
      }
    });
    return made;
  }

  void cancel(std::shared_ptr<answer> unwanted) {
    between_steps([=, this] { engine_.cancel(unwanted->id_); });
  }

 private:
  void between_steps(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }

  void run(std::stop_token stop) {
    for (bool done = false; !done;) {
      std::vector<std::function<void()>> tasks;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [&] { return !tasks_.empty() || !engine_.idle(); });
        tasks.swap(tasks_);
      }
      for (const auto& task : tasks) task();
      done = !engine_.step() && tasks.empty();  // only when asked to stop: it has waited for work until then
    }
  }

  engine engine_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::function<void()>> tasks_;
  std::jthread thread_;  // ends before what it uses
};

/// Asks, reads along, and has enough after so many bytes.
void client(server& asked, const std::string& prompt, std::int32_t max_tokens, std::size_t enough) {
  const auto reply = asked.submit(prompt, {.max_tokens = max_tokens, .ignore_eos = true});
  std::string text;
  for (std::string more; !(more = reply->next()).empty();) {
    text += more;
    if (text.size() >= enough) asked.cancel(reply);
  }
  const tenon::request_result& result = reply->result();
  std::osyncstream(std::cout) << to_string(result.finish) << " after " << result.tokens.size() << " tokens"
                              << (text == result.text ? ": " : ", DIFFERENT: ") << prompt << " ..." << text
                              << result.error << '\n';
}

int main(int count, char** arguments) try {
  if (count != 2) throw tenon::error("usage: serve_loop MODEL.gguf");
  server one(engine::load(arguments[1], {.max_batch = 4, .context = 1024}));
  std::vector<std::jthread> clients;
  for (const char* prompt : {"The capital of France is", "1, 2, 3, 4,", "A tenon is", "def f(x):", ""})
    clients.emplace_back(
        [&one, prompt] { client(one, prompt, 24, SIZE_MAX); });  // "" is refused, and costs no other
  clients.emplace_back([&one] { client(one, "Once upon a time", 900, 100); });
} catch (const tenon::error& fault) {
  std::cerr << fault.what() << '\n';
  return 1;
}
