// JobHistory: what became of each job over the life of a journal: its phases with their attempts, how far it came and when, the
// incidents that hit it and what was done about it. Kept in memory for every job, in bounded room.
#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "model/state.h"
#include "report/history.h"

namespace muster::report {

// How far an attempt had come at a moment, by the engine's word.
struct JobPoint {
  Time at;  // utc
  std::uint32_t attempt = 0;
  bool begins = false;  // the attempt starts here, with the steps of its last checkpoint
  Progress progress;
};

class JobHistory {
 public:
  static constexpr std::size_t kPointsMax = 1024;  // of a job that lives; then every second one is dropped
  static constexpr std::size_t kPointsEnded = 128;
  static constexpr std::size_t kListMax = 400;  // of phases, of incidents and of deeds of a job: the newest
  static constexpr std::size_t kEndedMax = 100'000;

  // After the event was folded into `s`.
  void take(const Event& e, const State& s);

  // The story of a job up to `to` (kNever: all that is known), as JSON:
  //   job name from_utc to_utc      its submission; the last event, or `to`
  //   phases       [{phase, attempt, from_utc, to_utc (null: it goes on), end, detail, nodes, node_count}]
  //   checkpoints  [{at_utc, step, attempt}], at most 300; checkpoints_in_all
  //   incidents    [{id, node, gpu_slot, cause, opened_utc, closed_utc, resolution}] on its nodes while it ran there
  //   actions      [{verb, at_utc, ended_utc, node, status, incident, actor, sentence}] about it, or on its nodes for those
  //   left_out     {list: how many, the oldest, were left out of it}
  Result<std::string> timeline_json(JobId job, Time to = kNever) const;

  // How far it had come, from its first attempt up to `to`. not_found where nothing is known of the job.
  Result<std::vector<JobPoint>> points(JobId job, Time from, Time to) const;

  Time last() const { return last_; }

 private:
  static constexpr std::int64_t kGoesOn = std::numeric_limits<std::int64_t>::max();

  // Times are utc in milliseconds, texts are of the pool.
  struct Phase {
    std::int64_t from_ms = 0;
    std::uint32_t attempt = 0;
    std::uint32_t nodes = 0;  // their names, as a list of nodes is written
    std::uint32_t node_count = 0;
    std::uint32_t detail = 0;
    JobPhase phase = JobPhase::queued;
    std::uint8_t end = 0;  // JobEnd and one; 0: no attempt ended here
  };
  struct Point {
    std::int64_t at_ms = 0;
    std::uint32_t attempt = 0;
    bool begins = false;
    Progress progress;
  };
  struct Hit {
    std::uint64_t incident = 0;
    std::int64_t from_ms = 0, to_ms = kGoesOn;
    std::uint32_t node = 0, resolution = 0;
    std::int16_t slot = -1;
    FindingKind cause = FindingKind::gpu_lost;
  };
  struct Deed {
    std::uint64_t id = 0;  // ours: an order finds what was noted of it
    std::int64_t at_ms = 0, ended_ms = kGoesOn;
    std::uint64_t incident = 0;
    std::uint32_t verb = 0, node = 0, actor = 0, sentence = 0, status = 0;
  };
  struct Record {
    std::uint32_t name = 0;
    std::vector<NodeId> nodes;  // of the attempt that runs
    std::deque<Phase> phases;
    std::vector<Point> points;
    std::deque<Hit> hits;
    std::deque<Deed> deeds;
    std::uint32_t phases_dropped = 0, hits_dropped = 0, deeds_dropped = 0;
  };
  struct Broken {  // an attempt that failed a moment ago: its incident may be found only now
    Time at;
    JobId job;
    std::vector<NodeId> nodes;
  };
  struct Hearing;

  void look_at(JobId id, const State& s, const Event& e);
  void note_point(Record& r, Time at, std::uint32_t attempt, const Progress& p, bool begins);
  void hit(const Incident& i, const State& s, Time utc);
  void heal(const Incident& i, const std::string& resolution, Time utc);
  void ordered(const OrderIntended& b, const State& s, Time utc);
  void order_ended(const std::string& key, const State& s, Time utc);
  void note_deed(JobId job, Deed d);
  void put_away(JobId id);
  std::uint32_t node_name(const State& s, NodeId n);

  TextPool pool_;
  Time last_;
  std::map<JobId, Record> jobs_;
  std::deque<JobId> ended_;                       // in their order
  std::map<IncidentId, std::vector<JobId>> hit_;  // open incidents
  std::map<std::string, std::vector<std::pair<JobId, std::uint64_t>>> open_orders_;
  std::deque<Broken> broken_;
  std::uint64_t next_deed_ = 1;
};

}  // namespace muster::report
