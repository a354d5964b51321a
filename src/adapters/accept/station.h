// One worker and what it works on: a GPU, or several for the tests between them. Begins and ends tests, and never waits.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/accept/child.h"
#include "adapters/accept/worker.h"
#include "model/acceptance.h"

namespace muster::bench {

struct Opened {  // what CUDA says
  std::string model, uuid;
  double sms = -1, memory_mib = -1;
  int driver = 0, runtime = 0, cublas = 0;
};

struct Outcome {
  TestState state = TestState::done;
  std::string why;
};

class Station {
 public:
  // `gpus`: their numbers on the node, in the order in which the worker sees them. Rows are told with times since `begun_s`.
  Station(std::vector<int> gpus, WorkerSetup setup, double begun_s, std::function<void(accepting::Row)> sink)
      : gpus_(std::move(gpus)), setup_(std::move(setup)), begun_s_(begun_s), sink_(std::move(sink)) {}

  const std::vector<int>& gpus() const { return gpus_; }
  bool busy() const { return doing_ != Doing::nothing; }
  bool open() const { return child_ != nullptr && opened_ && !leaving_; }
  pid_t pid() const { return child_ ? child_->pid() : -1; }
  int fd() const { return child_ ? child_->fd() : -1; }
  // Why nothing more can be run here; empty: it can.
  const std::string& lost() const { return lost_; }
  const std::optional<Opened>& opened() const { return opened_; }
  double share() const { return share_; }  // of the test, 0 to 1, as far as it tells

  void lose(std::string why) { lost_ = std::move(why); }
  // Each then is busy until tend() gives its outcome.
  void take_gpu(double limit_s);
  void run(AcceptTest test, std::uint32_t turn, const Order& order, double limit_s);

  // Looks what the worker has said, and at its deadline. The outcome, once.
  std::optional<Outcome> tend();
  // Ends what is being done, by force: what it was doing ends in `state`.
  Outcome cut(TestState state, std::string why);
  void leave();             // the worker is asked to close its GPU and to end
  void kill();              // it is ended
  bool gone();              // whether it has ended; then take_gpu() starts another
  static constexpr std::size_t kFiguresMax = 4096, kWrongMax = 256;  // of one test

 private:
  enum class Doing { nothing, opening, testing };
  Outcome heard(const Said& said);
  void tell_figure(const Said& said);
  void tell_wrong(const Said& said);
  void tell_rest();
  Outcome died();
  std::vector<int> whom(std::string& text) const;

  std::vector<int> gpus_;
  WorkerSetup setup_;
  double begun_s_;
  std::function<void(accepting::Row)> sink_;
  std::unique_ptr<Child> child_;
  std::optional<Opened> opened_;
  std::string lost_;
  Doing doing_ = Doing::nothing;
  bool leaving_ = false;
  AcceptTest test_ = AcceptTest::inventory;
  std::uint32_t turn_ = 0;
  double until_s_ = 0, limit_s_ = 0, share_ = 0;
  std::size_t figures_ = 0, figures_left_out_ = 0, wrongs_ = 0;
  std::uint64_t wrongs_left_out_ = 0;
  std::string bad_figure_;
};

}  // namespace muster::bench
