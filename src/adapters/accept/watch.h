// The bench's side of the process that asks NVML: questions with a deadline, and what it tells meanwhile.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/accept/child.h"
#include "model/acceptance.h"

namespace muster::bench {

// What was answered, by GPU; -1: of the node.
struct Answer {
  std::map<int, std::map<std::string, double>> figures;
  std::map<int, std::map<std::string, std::string>> facts;
  struct Process {
    std::int64_t pid = 0;
    std::string name;  // empty: of another container
  };
  std::map<int, std::vector<Process>> processes;

  double figure(int gpu, const std::string& name, double otherwise = -1) const;
  std::string fact(int gpu, const std::string& name) const;
};

class Watch {
 public:
  // Asks who is there; an error says why the driver does not tell.
  static Result<std::unique_ptr<Watch>> start(const std::string& library, double reading_s, double limit_s,
                                              const std::function<bool()>& stop);

  const Answer& who() const { return who_; }
  // Nothing where it was stopped, or does not answer: then it is ended, and trouble() says so.
  std::optional<Answer> ask(Order::Kind what, double limit_s, const std::function<bool()>& stop);
  void sample(std::uint64_t mask);  // 0: no more
  // Readings and Xids since the last time; ends a process that has told nothing for `limit_s` while it should.
  std::vector<Said> take(double limit_s);
  const std::string& trouble() const { return trouble_; }
  int fd() const { return trouble_.empty() ? child_->fd() : -1; }
  void end();
  bool gone() { return child_->gone(); }

 private:
  explicit Watch(std::unique_ptr<Child> child) : child_(std::move(child)) {}
  void give_up(std::string why);

  std::unique_ptr<Child> child_;
  Answer who_;
  std::string trouble_;
  std::vector<Said> told_;
  std::optional<Said> broken_;
  std::uint32_t number_ = 0;
  std::uint64_t mask_ = 0;
  double heard_s_ = 0;
};

}  // namespace muster::bench
