// The course of one long job through its interruptions: where every second went. Made from what the controller journaled and from
// the twin's truth about the faults.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "model/state.h"
#include "twin/fault.h"

namespace muster::trial {

// What an interruption's time goes to, in this order.
enum class Part : std::uint8_t {
  detect,     // from the fault to the first sign that reaches the controller: a finding on its node, or the end of the job
  decide,     // from there to the order to stop or start the job
  hand_over,  // the engine's part: drain, stop, spare, start
  queue,      // no nodes to start on
  restart,    // from the start of the job to its first step, whole attempts that never came so far included
};
constexpr std::size_t kParts = 5;
constexpr std::array<std::string_view, kParts> names(Part) {
  return {"detect", "decide", "hand over", "wait for a spare", "restart"};
}

struct Interruption {
  twin::FaultKind cause = twin::FaultKind::gpu_off_bus;
  Time began;                         // utc
  std::array<double, kParts> part{};  // seconds
  double lost_s = 0;                  // work that is done again
  std::uint32_t attempts = 0;         // starts until steps ran
  bool spare = true;                  // a sound free node was there when it was noticed
  bool over = false;                  // steps ran again before the end
  double recover_s() const;           // fault to steps
};

// Seconds. They sum to the length of the run.
struct Course {
  double wall_s = 0;
  double useful_s = 0;
  double stall_s = 0;        // steps stopped for a checkpoint
  double first_start_s = 0;  // before the first step of all
  std::vector<Interruption> interruptions;
};

// Listens to a run with one job.
class CourseWatch {
 public:
  void on_event(const Event& e, const State& s);
  // `end`: utc of the end of the run.
  Course course(const std::vector<twin::FaultTruth>& truth, Time begin, Time end) const;

  struct Attempt {
    Time started;
    Time ended;         // 0: it runs still
    Progress progress;  // at its end, or as last told
    std::uint64_t durable_before = 0;
    std::uint32_t free_nodes = 0;  // sound ones, when it ended
  };

 private:
  void add_gap(Interruption& i, NodeId node, Time from, Time ended, Time next) const;

  struct Noted {
    Time at;
    NodeId node;
  };
  struct Waited {
    Time from, to;  // to 0: until the end
  };
  std::vector<Attempt> attempts_;
  std::vector<Noted> findings_;  // on nodes
  std::vector<Time> orders_;     // to stop or start the job
  std::vector<Waited> queued_;
  JobSpec spec_;
};

}  // namespace muster::trial
