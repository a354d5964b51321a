// Picture: what was last known of a Slurm cluster. Each look at it gives what has changed since, as events. No I/O.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "adapters/slurm/reasons.h"
#include "ingest/slurm_file.h"
#include "ingest/slurm_text.h"
#include "model/event.h"
#include "model/state.h"

namespace muster::slurm {

// How Slurm's priority grows while a job waits. A job behind the gate does not age, so Muster adds it.
struct Ageing {
  double weight = 0;
  double longest_s = 0;
};

// What the gate in job_submit.lua writes into the admin comment, and what Muster does when it has chosen nodes: the release timer
// lets go of both.
constexpr std::string_view kGate = "muster: gate";
constexpr std::string_view kPlace = "muster: place";
// What Muster could not place and gave to Slurm, with the reason.
constexpr std::string_view kLeft = "muster: left to Slurm: ";

constexpr std::uint32_t kLooks = 2;  // that a job or a node is missing from before it is taken to be gone

class Picture {
 public:
  // `site` and `reasons` must outlive this. A partition that is not named is
  // in mode `otherwise`.
  Picture(const Site& site, std::map<std::string, Mode> modes, Mode otherwise, const Reasons& reasons);

  void age_by(Ageing a) { ageing_ = a; }
  // PreemptType=preempt/partition_prio: jobs of a higher tier stop those of a lower one.
  void preempt_by_partition(bool yes) { preempt_by_partition_ = yes; }
  void know(const State& s);  // what the journal knows: the first look is compared with that

  // Slurm is about to be asked: what an order brings about from here on may be missing from the answer.
  void look_begins();
  // All jobs that Slurm knows. What is missing from two looks in a row is gone.
  std::vector<Body> see_jobs(const std::vector<JobRow>& rows, Time utc);
  // Jobs of Slurm's accounting that ended after `since`, while nobody looked: to be told before the first look at jobs. What the
  // journal knows of ends as it did; what came and went is told in one breath.
  std::vector<Body> see_history(const std::vector<JobRow>& rows, Time since, Time utc);
  // Some of them: of the others this says nothing.
  std::vector<Body> see_some(const std::vector<JobRow>& rows, Time utc);
  // Which partitions there are: in one that is missing, or has other nodes than when Muster started, it does not place. What is
  // new about that, in words.
  std::vector<std::string> see_partitions(const std::vector<PartitionRow>& rows);
  std::vector<Body> see_nodes(const std::vector<NodeRow>& rows, const std::vector<ReservationRow>& reservations, Time utc);

  // Nodes whose slurmd answered slurmctld, by the last look: they are alive, whoever else hears of them.
  const std::vector<NodeId>& heard() const { return heard_; }

  bool gated(JobId id) const { return gate_.count(id) != 0; }
  // Jobs that pend on nodes Muster once chose for them, and that no order has in hand: Slurm put them back, or an earlier Muster
  // did not live to see them start. They are to go behind the gate again, or they wait for those nodes for ever.
  const std::set<JobId>& strays() const { return strays_; }

  // Jobs behind the gate that Muster will never place, and why: they are to be given to Slurm.
  std::map<JobId, std::string> not_ours() const;
  // Jobs whose start somebody set while they were behind the gate: they are Slurm's, at that time.
  std::vector<JobId> owners_starts() const;

  // Orders under way: what they bring about is not taken for somebody else's doing.
  void take_in_hand(const Action& a);
  void let_go(const Action& a, bool done);
  // Slurm would not let it start: not tried again before `until` (utc). `counts`: as so many tries.
  std::vector<Body> bar(JobId id, std::string why, Time until, std::uint32_t counts = 1);
  // Jobs that run on parts of nodes, of which squeue does not tell: their start is told at the look after their GPUs are known.
  const std::set<JobId>& without_slots() const { return without_slots_; }
  void told_slots(JobId id, const std::map<std::string, std::uint16_t>& slots);

  // The attempt that runs; 0: none does. The engine's count of waiting jobs that Muster may start.
  std::uint32_t running(JobId id) const;
  std::vector<JobId> gated_waiting() const;
  bool knows(JobId id) const { return jobs_.count(id) != 0; }

  Mode mode_of(const std::string& partition) const;
  const std::string& name_of_node(NodeId n) const { return site_.nodes[n.v].name; }

 private:
  struct Known {
    JobSpec spec;
    bool runs = false;
    std::uint32_t attempt = 0;   // of the last start
    std::uint32_t restarts = 0;  // by Slurm's count, at that start
    std::uint32_t missed = 0;    // looks
    std::vector<NodeId> nodes;
    std::vector<std::uint16_t> slots;  // empty: all of each
    bool in_hand = false;
    std::uint32_t ordered = 0;  // attempt of the order under way
  };
  struct Gated {
    std::string partition;
    std::string slurms;  // why only Slurm can place it; empty: Muster can
    Time since;          // utc, of the first look that saw it there
    JobId overtaken_by;  // one that Slurm started though it comes later in Slurm's own order
    Time overtaken;      // utc, the last time
  };
  struct Coming {  // a reservation that has not begun
    std::string name;
    Time from;  // utc
  };
  struct Begin {
    std::string comment;  // of the gate; Muster never writes the same one twice
    Time at;              // utc, of its start
    bool owners = false;
  };
  struct Bar {
    std::string why;
    Time until;
    std::uint32_t times = 0;
  };
  JobSpec spec_of(const JobRow& r, Time utc) const;
  std::string bar_of(const JobRow& r, Time utc) const;
  std::string slurms(const JobRow& r, Time utc) const;
  std::map<std::string, JobId> overtaken() const;
  void overtake(const JobRow& r, const std::vector<NodeId>& nodes, Time utc);
  bool shares_nodes(const std::string& partition, const std::vector<NodeId>& nodes) const;
  void see_coming(const std::vector<ReservationRow>& reservations, Time utc);
  bool owners_start(const JobRow& r, Time utc);
  std::set<JobId> see_rows(const std::vector<JobRow>& rows, Time utc, std::vector<Body>& out);
  void see(const JobRow& r, Time utc, std::vector<Body>& out);
  void appear(const JobRow& r, Time utc, std::vector<Body>& out);
  void start(Known& k, const JobRow& r, Time utc, std::vector<Body>& out);
  std::uint16_t slots_on(JobId id, const Known& k, NodeId n) const;
  bool knows_slots(const JobRow& r, std::uint32_t gpus_per_node);
  void make_way(JobId id, const JobStarted& b, std::vector<Body>& out);
  void end(JobId id, Known& k, const JobRow& r, Time utc, std::vector<Body>& out);
  void amend(JobId id, Known& k, const JobRow& r, Time utc, std::vector<Body>& out);
  std::vector<NodeId> nodes_of(const std::string& list) const;
  const Pool* pool_of(std::string_view partition) const;  // null: all nodes
  std::string why_unfit(const PartitionRow& partition, const std::vector<PartitionRow>& all) const;
  bool tell_past(const JobRow& r, Time utc, std::vector<Body>& out);
  void miss(std::vector<Body>& out, const std::set<JobId>& seen);
  void see_hold(NodeId n, const NodeRow& r, std::vector<Body>& out);
  void forget(JobId id);

  const Site& site_;
  const Reasons& reasons_;
  std::map<std::string, NodeId, std::less<>> by_name_;
  std::map<std::string, Mode> modes_;
  Mode otherwise_;
  std::map<std::string, std::string> unfit_;  // partitions in which Muster was to place and cannot, and why
  Ageing ageing_;
  bool preempt_by_partition_ = false;
  std::map<std::string, Coming> coming_;  // by pool, "" for all nodes: the one that begins first there
  std::set<std::string, std::less<>> closed_;  // partitions that are not up
  std::map<std::string, std::pair<std::uint32_t, double>> limits_;  // of a job in a partition: nodes, seconds; 0: none
  Time reference_;  // of ages: priorities must not change from look to look
  std::map<JobId, Known> jobs_;
  std::map<JobId, Gated> gate_;  // jobs that wait for Muster, by their admin comment
  std::map<JobId, Begin> begins_;  // of those
  std::set<std::string> ahead_;    // partitions in which one that was overtaken waits for Slurm to start it
  Time looked_;                    // utc, of the last look at jobs
  std::set<JobId> over_;         // ended, and still on Slurm's list
  std::set<JobId> strays_;
  std::map<JobId, Bar> bars_;
  std::map<JobId, std::map<std::string, std::uint16_t>> slots_;
  std::set<JobId> without_slots_;
  Time first_look_;
  std::vector<NodeCondition> conditions_;
  std::vector<std::string> details_;
  std::vector<Hold> holds_;
  std::vector<std::uint32_t> nodes_missed_;
  std::vector<NodeId> heard_;
  std::map<NodeId, Time> back_;  // nodes that came back lately, and when (utc)
  std::set<NodeId> nodes_in_hand_;
  std::set<NodeId> nodes_since_;  // let go of since the last look began
  std::set<JobId> jobs_since_;
};

}  // namespace muster::slurm
