// Questions that take seconds of a processor, answered on a thread of their own at the lowest priority: neither the controller
// nor other questions wait for them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "design/search.h"

namespace muster::cmd {

class Errands {
 public:
  // Ends early, with any error, once it may give up: that is when it has had its time, or the program ends.
  using Work = std::function<Result<std::string>(const design::GiveUp&)>;

  Errands();
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // The answer, if it is there within a moment; else {"working":true}, and the same question asked again later gets it. Of those
  // answered last some are kept. `question` says all that the answer depends on.
  Result<std::string> ask(const std::string& question, Work work);

 private:
  struct Errand {
    std::string question;
    Work work;
    std::optional<Result<std::string>> answer;
  };
  void run();
  Errand* find(const std::string& question);

  std::mutex lock_;
  std::condition_variable asked_, answered_;
  std::deque<Errand> all_;  // in the order they were asked; those with an answer first
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster::cmd
