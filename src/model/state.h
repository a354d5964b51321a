// State: what is known about a cluster, folded from its events and from nothing else. The same events give the same state, on
// every machine, which `encode_state` makes comparable byte for byte.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/event.h"
#include "model/node_facts.h"
#include "model/run_history.h"
#include "model/usage.h"

namespace muster {

// Version of the fold: a snapshot made by another one is thrown away and rebuilt from the events.
constexpr std::uint32_t kFoldVersion = 8;

// Who keeps new work off a node. The engine: by its own rules, until Muster takes the node over or somebody puts it back.
enum class Hold : std::uint8_t { none, muster, person, engine };
constexpr std::array<std::string_view, 4> names(Hold) { return {"none", "muster", "person", "engine"}; }

// GPUs of a node that a job has, from the order to start until its end.
struct Share {
  JobId job;
  std::uint16_t slots = 0;     // bit mask
  std::uint16_t milli = 1000;  // of each, in thousandths; below 1000 others may share it
  bool operator==(const Share&) const = default;
};

// An incident that is over, as far as it matters to the next one on that node.
struct PastIncident {
  Time opened;  // mono
  FindingKind cause = FindingKind::gpu_lost;
  std::int16_t slot = -1;
  std::uint32_t repairs = 0;   // steps of the runbook that were tried
  bool stopped_job = false;    // a job ran on it when it began
};

struct NodeState {
  NodeCondition condition = NodeCondition::up;
  Hold hold = Hold::none;
  std::string hold_reason;
  IncidentId incident;          // open one; none otherwise
  std::vector<Share> shares;    // jobs on it, in the order they came
  Time changed;                 // utc of the last change of condition, hold or job
  std::uint32_t swaps = 0;      // how often the node or a GPU of it was replaced
  std::uint32_t incidents = 0;  // ever
  NodeFacts known;              // by its agent's word
  std::vector<PastIncident> past;  // of the last 28 days, since it was last replaced; at most kPastKept, oldest first

  bool busy() const { return !shares.empty(); }
  JobId first_job() const { return shares.empty() ? JobId{} : shares.front().job; }
};

// A row of racks that is hot, from its finding until the end of it and of the power limit set for it.
struct RowHeat {
  RowMeasured last;
  Time at;                         // mono, of that measurement
  FindingId finding;               // none: over, but for the limit
  std::uint32_t limit_pct = 100;   // last ordered
  std::uint32_t before_pct = 100;  // and the one before, which stands if that order did not come through
  Time limited;                    // mono, when it was ordered
  bool again = false;              // a node has booted since, and knows nothing of the limit
};

// An order that has no final outcome yet, or one of the last few hundred that have.
struct OrderRecord {
  Order order;
  Status status = Status::pending;
  std::string detail;
  Time intended;  // utc
  Time intended_mono;
  Time ended;        // utc
  double score = 0;  // of a test, see OrderEnded
};

// A harmful act, remembered for as long as the longest budget window.
struct Harm {
  Time at;  // mono
  Verb verb = Verb::drain_node;
  NodeId node;  // none: the queue's doing, to make room or to move a job
  JobId job;
  FindingKind cause = FindingKind::gpu_lost;
};

struct RefusalRecord {
  Time at;  // utc
  Action action;
  std::string limit;
  IncidentId incident;
};

// An act that waits for a person's word, or waited until a while ago.
struct Approval {
  std::uint64_t id = 0;
  Action action;
  IncidentId incident;
  std::string why;
  std::string sentence;
  Time asked;  // utc
  Time until;  // mono
  bool granted = false;
  bool rejected = false;
  std::string by;      // who gave or refused it
  std::string answer;  // their words; untrusted
};

struct Opened {  // when incidents of a cause opened, for correlation
  Time at;       // mono
  NodeId node;
  FindingKind cause = FindingKind::gpu_lost;
};

struct CommandRecord {
  std::string id;
  std::uint64_t seq = 0;
  std::string digest;  // of the body: the same id with another body is a mistake, not a repeat
};

struct StreamPosition {
  std::string boot;
  std::uint64_t seq = 0;
};

// What a queue has now and had lately.
struct QueueUse {
  Usage past;
  Amounts held{};
};

struct Totals {
  std::uint64_t jobs_submitted = 0;
  std::uint64_t jobs_completed = 0;
  std::uint64_t jobs_failed = 0;
  std::uint64_t jobs_cancelled = 0;
  std::uint64_t requeues = 0;
  std::uint64_t incidents = 0;
  std::uint64_t orders = 0;
  std::uint64_t refusals = 0;
  std::uint64_t jobs_timed_out = 0;  // of those that failed: by their own time limit
};

constexpr Duration kEngineRetry = minutes(5);  // how often an engine that is away is tried again

struct State {
  // Compiled once, in state.cpp: so many maps take seconds in each file that copies or destroys a state.
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  // Journal position
  std::uint64_t seq = 0;
  std::uint64_t turn = 0;
  Now now;               // of the last turn
  Duration mono_offset;  // mono = steady + mono_offset: continuous over restarts, never going back
  Duration utc_jump;     // by how much the wall clock has been set since this run began; 0 while it keeps up with the steady one
  std::uint64_t epoch = 0;
  std::uint32_t rules = 0;
  std::string journal;
  bool paused = false;
  std::string paused_by;
  Policy policy;
  std::string policy_hash;

  Site site;
  std::vector<NodeState> nodes;                     // as Site::nodes
  std::map<JobId, Job> jobs;                        // all that have not ended, and those of ended_jobs
  std::set<std::pair<std::uint64_t, JobId>> queue;  // (order, job) of queued jobs
  std::deque<JobId> ended_jobs;                     // the last kEndedJobsKept, of one array no more than kMembersKept
  std::map<FindingId, Finding> findings;     // open ones, and those of incidents still kept
  std::map<IncidentId, Incident> incidents;  // open ones, and the last kEndedKept
  std::deque<IncidentId> closed_incidents;
  std::deque<FindingId> cleared_findings;
  std::map<std::string, OrderRecord> orders;  // by key: pending ones and the last kEndedKept
  std::deque<std::string> ended_orders;
  std::deque<Harm> harms;
  std::deque<Opened> openings;
  std::deque<RefusalRecord> refusals;  // the last kEndedKept
  std::map<FindingKind, Time> frozen;  // cause -> mono until
  std::map<std::uint64_t, Approval> approvals;  // of open incidents
  std::uint64_t next_approval = 1;
  Upgrade upgrade;                              // the one that runs, or the last one
  std::map<std::string, StreamPosition> streams;
  std::deque<CommandRecord> commands;  // the last ones, so that a repeat is recognised
  std::vector<CommandGiven> wishes;    // given, not yet turned into orders
  std::uint64_t next_finding = 1;
  std::uint64_t next_incident = 1;
  std::uint64_t next_order = 1;  // of jobs: FIFO
  Totals totals;
  PriceAnnounced prices;                              // the newest word
  std::map<std::uint32_t, RowHeat> hot_rows;          // by row
  Histories histories;                                // run times of completed jobs, for estimates
  std::map<std::string, QueueUse, std::less<>> used;  // by queue, or account

  // What changed since the last decision; not stored. A decision looks at these and at nothing else.
  std::set<IncidentId> dirty_incidents;
  std::set<FindingId> new_findings;  // not yet in an incident
  std::set<JobId> broken_jobs;       // phase broken, undecided
  std::set<NodeId> dirty_nodes;      // job, hold, condition or incident changed: for placement and accounting
  bool queue_dirty = false;
  Time queue_looked;                   // mono, of the last decision: a queue that waits is looked at again after a while
  std::set<std::uint32_t> dirty_rows;  // hot ones with a new measurement
  bool upgrade_dirty = false;          // an order of it has ended, or somebody spoke about it
  std::set<JobId> checkpointed;        // made durable progress: the cheapest moment to move them
  std::set<std::pair<Time, IncidentId>> timers;  // (due, incident) of open incidents
  std::set<NodeId> out_nodes;                    // out of service by Muster's doing, or about to be; derived
  std::set<std::string> open_orders;             // keys without a final outcome; derived
  std::set<JobId> placed;                        // starting or running; derived
  std::set<JobId> followers;                     // queued, and others must complete first; derived
  std::vector<std::int16_t> group;               // of Policy::groups, by node; empty: there are none; -1: in none; derived

  std::map<NodeId, std::set<FindingId>> explained;    // open findings that an open common cause explains, by node; derived
  std::map<FindingKind, std::uint32_t> open_kinds;    // how many findings of each kind are open; derived
  FindingId engine_away;                              // the open finding that says so; derived
  std::map<std::uint32_t, std::uint32_t> suspect_leaves;  // leaf -> how many open findings suspect_leaf() has of it; derived
  Time engine_asked;                                  // mono, of the last order that the engine did not get
  std::map<std::uint32_t, std::uint32_t> ended_members;  // array -> how many of it ended_jobs has; derived

  Time mono() const { return now.steady + mono_offset; }
  // Nothing is ordered: by a person's word, or because the engine gets nothing and was asked a moment ago.
  bool idle() const { return paused || (engine_away.some() && mono() < engine_asked + kEngineRetry); }
};
constexpr std::size_t kEndedKept = 512;
constexpr std::size_t kPastKept = 32;
constexpr std::size_t kEndedJobsKept = 1'000;  // they are copied with every state that is published
constexpr std::size_t kMembersKept = 200;      // of one array; or a large one would push everybody else out

// Applies one event. Events must arrive in order; what does not fit (an unknown job, a repeated order) is ignored, never fatal:
// journals outlive the code that wrote them.
void fold(State& s, const Event& e);
// causes.cpp: keep `explained`, `open_kinds`, `engine_away` and `suspect_leaves` as findings open (or get a cause) and end.
void index_finding(State& s, FindingId id);
void unindex_finding(State& s, FindingId id);
void clear_finding(State& s, FindingId id, Time utc);
// The open common cause that explains an open finding; null: none does. Of an incident: one that explains all that is open of it.
const Finding* cause_of(const State& s, const Finding& f);
const Finding* cause_of(const State& s, const Incident& i);
// How old evidence of that time (utc) is, whatever the wall clock was set to meanwhile.
Duration evidence_age(const State& s, Time at);
// The event that comes next, of a stream that is not journaled: for benches and tests, which fold and keep nothing.
Event next_event(const State& s, std::string_view stream, Time utc, Body body);
// After a snapshot was read, or a controller started: rebuilds what is not stored and marks everything as changed.
void refresh(State& s);
// The changes have been looked at. Called between a decision and the folding of what it decided, so that those changes are seen
// by the next one.
void settle(State& s);

// What a command says, whatever its id: the same for a repeat.
std::string command_digest(const CommandGiven& c);

// A node that may take new work, as far as its GPUs are free. One whose drain a limit holds back is in service: only a fault that
// leaves nothing to run on keeps work off it.
bool placeable(const State& s, NodeId n);
// Whether the node stands in a row that is hot or whose power is limited: slower than others, by no fault of its own.
bool in_hot_row(const State& s, NodeId n);
// All GPUs of a node, as a bit mask.
std::uint16_t all_slots(const Site& site);
// Whether these GPUs of the node can take `milli` thousandths each, whoever asks, not counting what `job` has there already.
bool room_for(const State& s, NodeId n, std::uint16_t slots, std::uint32_t milli, JobId job = {});
// Whose use a job counts for.
inline const std::string& queue_of(const JobSpec& spec) { return spec.queue.empty() ? spec.account : spec.queue; }
// So many thousandths of GPUs as quotas count them for a job: of all models, and of those the policy names as scarce.
Amounts amounts_of(const State& s, const JobSpec& spec, std::int64_t milli);
// What a job asks for in thousandths of a GPU, all its pieces together.
std::int64_t milli_gpus(const Site& site, const JobSpec& spec);
// The job has ended: it joins those that are remembered, and the oldest of them may be forgotten.
void retire_job(State& s, JobId id);
const Job* find_job(const State& s, JobId id);
// The job, or all members of the array of that number; none when nobody of that number is known.
std::vector<JobId> members_of(const State& s, JobId id);
const Incident* find_incident(const State& s, IncidentId id);
const Finding* find_finding(const State& s, FindingId id);
// Who the GPU is, by its agent's word; null when nobody said.
const GpuIdentity* find_gpu(const State& s, NodeId n, std::int16_t slot);
// What is to be done about an incident or a finding of this kind on this node, by the policy and by the group the node is in.
const Runbook* runbook_for(const State& s, NodeId n, FindingKind kind, std::int32_t code);
inline const Runbook* runbook_for(const State& s, const Incident& i) { return runbook_for(s, i.node, i.cause, i.code); }
// Nothing is done there, by the policy or by the group.
bool in_shadow(const State& s, NodeId n);
// Such incidents on the node within so long before now.
std::uint32_t repeats(const State& s, NodeId n, FindingKind cause, Duration within);
// How often the node failed of late, and how badly: one for each incident of the last 28 days, one more when it met a job, a half
// for each repair that was tried. A node of the fleet in a healthy month has less than one.
double lemon_score(const State& s, NodeId n);
// The rolling upgrade is at work on the node: recovery leaves it alone, but for a job that hangs there.
bool in_turn(const State& s, NodeId n);
// Whether anybody knows how old the job's last checkpoint is.
bool checkpoint_known(const Job& j);
// By hostname; none when absent.
NodeId find_node(const Site& site, std::string_view name);

}  // namespace muster
