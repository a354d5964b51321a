// One thread for work that must not hold the HTTP server: tools' questions.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace muster::cmd {

class Background {
 public:
  Background() : thread_([this] { work(); }) {}
  ~Background() { finish(); }
  void run(std::function<void()> job) {
    const std::lock_guard hold(lock_);
    jobs_.push_back(std::move(job));
    bell_.notify_one();
  }
  // Does what is queued, then ends the thread. May be called twice.
  void finish() {
    {
      const std::lock_guard hold(lock_);
      done_ = true;
      bell_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    std::unique_lock hold(lock_);
    for (;;) {
      bell_.wait(hold, [&] { return done_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      hold.unlock();
      job();
      hold.lock();
    }
  }
  std::mutex lock_;
  std::condition_variable bell_;
  std::deque<std::function<void()>> jobs_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace muster::cmd
