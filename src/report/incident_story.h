// The story of one incident, gathered from the events of a journal: what was seen, what it passed through and for how long, whose
// work it cost, and how it ended.
#pragma once
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "model/state.h"

namespace muster::report {

struct Moment {
  Time at;  // utc
  std::uint64_t seq = 0;
  std::string what;  // plain words; may hold untrusted text
};

// Time spent in one kind of waiting or work, all of it together, in the order of first appearance.
struct Phase {
  std::string name;  // "detect", "drain", "repair" ...
  Duration length;
};

// A gang that lost an attempt by it.
struct JobHit {
  JobId id;
  std::string name, user;  // untrusted
  std::uint32_t attempt = 0;
  std::int64_t milli = 0;  // thousandths of GPUs that it had, on all its nodes
  std::vector<NodeId> nodes;
  JobEnd end = JobEnd::node_failed;
  std::string detail;  // untrusted
  Time stopped;        // utc
  Time restarted;      // utc; 0: not yet
  bool over = false;   // it ended for good: there is nothing to restart
  std::uint64_t lost_steps = 0;
  // Since its last checkpoint, or its start, as the books of goodput have it: steps that were lost, and a start that was in vain.
  std::int64_t lost_gpu_ms = 0, starting_gpu_ms = 0;
};

class IncidentStory {
 public:
  explicit IncidentStory(IncidentId id) : id_(id) {}
  // One that begins now, beside `listener`, which has heard all events so far: so it knows what broke before.
  IncidentStory(IncidentId id, const IncidentStory& listener) : id_(id), recent_(listener.recent_) {}
  // To be called with every event, in order: before it is folded, and after.
  void before(const Event& e, const State& s);
  void after(const Event& e, const State& s);

  bool found = false;
  Incident incident;              // as last known
  std::vector<Finding> findings;  // with every evidence there was, up to kEvidenceTold each
  std::uint64_t evidence_left_out = 0;
  std::vector<std::string> cleared_why;  // by finding, as `findings`
  Time began;                            // utc, as far as can be told
  std::vector<Moment> timeline;
  std::uint64_t moments_left_out = 0;
  std::vector<Phase> phases;  // their sum is the whole length
  std::vector<JobHit> jobs;
  std::vector<JobId> present;   // had the node when it opened
  std::int64_t out_gpu_ms = 0;  // GPUs of the node out of service that no job had
  // What gangs with the node were slower than nominal while it was open, on all their GPUs; of causes that slow gangs.
  std::int64_t slow_gpu_ms = 0;
  std::set<JobId> slowed;
  std::vector<std::string> replaced;
  std::string dossier;  // of the last order to replace the part: what whoever does it needs to know; may hold untrusted text
  std::vector<std::string> frozen;
  std::uint64_t first_seq = 0, last_seq = 0;

 private:
  void open(const Event& e, const State& s, FindingId finding);
  void told(const Event& e, const State& s);
  void told_of_work(const Event& e, const State& s);
  void told_of_orders(const Event& e, const State& s);
  void spend(const State& s);
  void slow_down(const State& s, JobId job, std::uint32_t attempt, const Progress& told, Time utc);
  void say(const Event& e, std::string what) { say(e.utc, e.seq, std::move(what)); }
  void say(Time at, std::uint64_t seq, std::string what);
  Finding* mine(FindingId id);
  bool running() const { return found && incident.closed.ns == 0; }

  IncidentId id_;
  std::deque<JobHit> recent_;  // attempts that failed of late, anywhere: an incident may open after its work broke
  std::set<JobId> stopped_by_us_;
  struct Given {
    std::string key;
    Time at;
    Verb verb = Verb::probe_node;
  };
  std::vector<Given> given_;
  bool answered_ = false;  // an order has ended: the note that follows repeats it
  std::string refusal_;    // what was held back last, and how often
  std::uint32_t refused_ = 0;
  Time spent_until_;  // mono
  std::string phase_;
  bool out_ = false;
  std::int64_t free_gpus_ = 0;
};
constexpr std::size_t kEvidenceTold = 50;
constexpr std::size_t kMomentsKept = 400;

}  // namespace muster::report
