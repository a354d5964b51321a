// The bench on which the GPUs of this node are tested: it has a process for each of them and one for the driver, gives them their
// tests and deadlines, and hands on the rows of a recording as they become known. Whatever hangs or dies, the bench does not.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "adapters/accept/kernel_words.h"
#include "adapters/accept/station.h"
#include "adapters/accept/watch.h"
#include "base/result.h"
#include "base/time.h"
#include "model/acceptance.h"

namespace muster::bench {

struct Limits {  // seconds
  double driver_s = 60;  // for NVML to start: without persistence mode the driver starts with it
  double watch_s = 10;   // for each answer of NVML after that; a GPU in trouble keeps it for seconds
  double open_s = 60;    // for CUDA to start
  double idle_s = 10;    // that a GPU which others use is waited for, in one recording
  double end_s = 3;      // for a worker to leave its GPU by itself
  double stop_s = 0.5;   // for a test to come back when a person stops it
};

struct Options {
  std::string library;                      // of the tests; empty: beside the program, then where the loader looks
  std::string nvml = "libnvidia-ml.so.1";
  std::vector<std::string> gpus;            // numbers, UUIDs or PCI addresses; empty: all
  std::string kernel_log = "/dev/kmsg";     // or a file of such records
  std::string plant;                        // a fault to plant in each test, as accept.h says; empty: none
  std::uint64_t seed = 1;
  std::string cooling;                      // what a person says of it
  double reading_s = 0.04;                  // between two readings of power, clock and heat
  Limits limits;
};

struct Task {
  AcceptTest test = AcceptTest::inventory;
  double seconds = 0;         // that it is asked to take; 0: as long as one pass takes
  double deadline_s = 60;     // after which it is hung, and ended
  std::uint32_t turn = 0;
  std::vector<int> gpus;      // empty: all of the recording
  std::uint32_t at_once = 0;  // GPUs that run it at the same time; 0: all. For what shares the host's memory or sockets
};

struct Progress {
  std::size_t index = 0, count = 0;  // of the tasks of this run
  Task task;
  double share = 0;  // of this task, 0 to 1, as far as its slowest GPU tells
  double at_s = 0;   // since the recording began
};

using Sink = std::function<void(accepting::Row)>;
using Telling = std::function<void(const Progress&)>;
using Stop = std::function<bool()>;  // asked many times a second; once it said yes, the bench does not ask again

class Bench {
 public:
  // Asks the driver who is there. No other thread may run in this process while a bench is alive: it forks. An error says why
  // nothing can be tested; not_run() then makes a recording of it.
  static Result<std::unique_ptr<Bench>> open(Options options, const Stop& stop);
  ~Bench();  // whatever still runs is killed
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const std::vector<accepting::Gpu>& gpus() const { return chosen_; }
  // Runs the tasks in their order. Each gives a row Ran for each of its GPUs, when all rows of its figures were given; but
  // `counters`, of which finish() tells. The first run begins with the rows of the host and its GPUs. Comes back within a second
  // of a stop: what had not begun is then `stopped`, too.
  void run(std::span<const Task> tasks, const Sink& sink, const Telling& tell, const Stop& stop);
  // Ends the workers, reads the counters again, looks what is left behind, and gives the last rows.
  void finish(const Sink& sink);
  bool stopped() const { return stop_at_ > 0; }

 private:
  struct Seat {  // a GPU of this recording
    accepting::Gpu gpu;
    std::string trouble;  // why nothing can be run on it; empty: it can
    std::unique_ptr<Station> station;
    double waited_s = 0;          // for others to leave it
    double link_gen = -1, link_width = -1;  // the best since the test began, of so many times that it was looked at
    int link_looks = 0;
    double ran_s = -1e9;          // when a test of ours ended
  };
  struct Ended {
    Outcome outcome;
    double begun_s = 0, took_s = 0;
  };
  using Outcomes = std::map<int, Ended>;  // by GPU

  Bench() = default;
  Result<void> settle(const Stop& stop);
  double now_s() const { return steady_s() - begun_s_; }
  Seat* seat(int gpu);
  WorkerSetup setup(const std::vector<int>& gpus) const;
  std::unique_ptr<Station> station(const std::vector<int>& gpus);

  // What is done between two packets: readings and kernel words are handed on, progress is told, a stop is noticed.
  void turn(int most_ms, std::span<Station* const> waited_for);
  bool stop_now();
  void carry(std::span<Station* const> stations, const std::function<void(Station&, Outcome)>& ended);
  void retire(std::span<Station* const> stations);
  std::map<int, Outcome> seat_all(const std::vector<int>& gpus);
  std::map<int, std::string> users(const std::vector<int>& gpus, bool wait);
  std::string user_of(const Seat& s, const Answer& look) const;
  void take_note(const Answer& look);

  void introduce();
  void inventory(const Task& task, const std::vector<int>& gpus);
  void apart(const Task& task, const std::vector<int>& gpus);
  void together(const Task& task, const std::vector<int>& gpus);
  Outcomes run_on(const Task& task, std::span<Station* const> stations);
  void tell_ran(const Task& task, int gpu, const Ended& ended);
  void tell_readings();
  void tell_counters(double begun_s, double took_s, const std::optional<Answer>& after);
  double memory_left(double limit_s);

  Options options_;
  double begun_s_ = 0;
  Time begun_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<KernelWords> kernel_;
  std::vector<accepting::Gpu> chosen_;
  std::vector<Seat> seats_;
  std::unique_ptr<Station> group_;  // for the tests between GPUs
  std::optional<Answer> before_;    // counters
  std::optional<Answer> look_;      // the last
  double looked_s_ = -1e9;
  std::map<int, double> used_mib_;  // before the first test
  std::set<std::int64_t> ours_;     // processes, past ones too
  std::atomic<int>* stop_page_ = nullptr;
  bool introduced_ = false, finished_ = false;
  std::map<int, Ended> introductions_;
  std::map<int, std::uint32_t> counters_wanted_;  // GPU, turn
  double stop_at_ = 0;
  std::uint64_t driver_words_ = 0;

  Sink sink_;
  Telling tell_;
  Stop stop_;
  Progress progress_;
  double told_s_ = 0;
};

// A recording of tests that could not even begin: of no GPU (-1) each.
std::vector<accepting::Row> not_run(const Options& options, const Error& why, std::span<const Task> tasks);

}  // namespace muster::bench
