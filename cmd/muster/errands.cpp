#include "errands.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace muster::cmd {
namespace {

constexpr std::size_t kKept = 16;    // answers
constexpr std::size_t kWaiting = 8;  // questions
constexpr std::chrono::milliseconds kMoment(300);
constexpr double kCpuMax_s = 40;

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

Errands::Errands() : thread_([this] { run(); }) {}

Errands::~Errands() {
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
  }
  asked_.notify_all();
  thread_.join();
}

Errands::Errand* Errands::find(const std::string& question) {
  const auto it = std::find_if(all_.begin(), all_.end(), [&](const Errand& e) { return e.question == question; });
  return it == all_.end() ? nullptr : &*it;
}

Result<std::string> Errands::ask(const std::string& question, Work work) {
  std::unique_lock hold(lock_);
  if (find(question) == nullptr) {
    const auto waiting = std::count_if(all_.begin(), all_.end(), [](const Errand& e) { return !e.answer; });
    if (static_cast<std::size_t>(waiting) >= kWaiting)
      return fail(Code::conflict, fmt::format("{} questions of this kind wait already", waiting), "ask again in a minute");
    all_.push_back({question, std::move(work), std::nullopt});
    asked_.notify_one();
  }
  const auto there = [&] {
    const Errand* e = find(question);
    return e == nullptr || e->answer;
  };
  answered_.wait_for(hold, kMoment, there);
  const Errand* e = find(question);
  if (e == nullptr || !e->answer) return R"({"working":true})";
  return *e->answer;
}

void Errands::run() {
#ifdef SYS_gettid
  // On Linux a thread has a priority of its own; elsewhere it stays as it is.
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
#endif
  std::unique_lock hold(lock_);
  const auto next = [&] { return std::find_if(all_.begin(), all_.end(), [](const Errand& e) { return !e.answer; }); };
  for (;;) {
    asked_.wait(hold, [&] { return stopping_ || next() != all_.end(); });
    if (stopping_) return;
    const std::string question = next()->question;
    const Work work = next()->work;
    hold.unlock();
    const double began = thread_cpu_s();
    auto answer = work([&] {
      if (thread_cpu_s() - began > kCpuMax_s) return true;
      const std::lock_guard look(lock_);
      return stopping_;
    });
    hold.lock();
    Errand* e = find(question);  // only what has an answer is ever dropped
    e->answer = std::move(answer);
    e->work = nullptr;
    const auto done = std::count_if(all_.begin(), all_.end(), [](const Errand& x) { return x.answer.has_value(); });
    if (static_cast<std::size_t>(done) > kKept) all_.pop_front();
    answered_.notify_all();
  }
}

}  // namespace muster::cmd
