// Events: everything that happened and everything that was decided, in one envelope. Their canonical bytes are hashed and stored;
// docs/formats/journal.md is the format's page. A body's schema number rises when its fields change meaning.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/acceptance_word.h"
#include "model/action.h"
#include "model/fabric_fault.h"
#include "model/finding.h"
#include "model/incident.h"
#include "model/job.h"
#include "model/policy.h"
#include "model/sample.h"
#include "model/site.h"
#include "model/upgrade.h"

namespace muster {

// Where an event comes from. An engine's stream numbers its events densely within one boot, so that a resend is recognised.
struct Source {
  std::string boot;
  std::string stream;  // "engine", "detect", "operator", "muster", "agent/NODE/kernel", "agent/NODE"
  std::uint64_t seq = 0;
};

enum class NodeCondition : std::uint8_t {
  up,
  down,
  booting,
  kept,  // the engine keeps it from new work on purpose: maintenance, somebody's reservation, power saving
};
constexpr std::array<std::string_view, 4> names(NodeCondition) { return {"up", "down", "booting", "kept"}; }

// ---- the controller itself
struct RunStarted {  // a controller took over; everything is looked at afresh
  std::string version;
  std::uint64_t epoch = 0;
  std::uint32_t rules = 0;  // version of the decision code
  std::string journal;      // id of the journal: keeps order keys of different ones apart
  Now now;
  std::string simulation = {};  // what a simulated cluster says of itself; empty: a real one, or an older record
};
struct SiteDeclared {
  Site site;
};  // the first event of a journal
struct PoolsDeclared {
  std::vector<Pool> pools;
};
struct CablesDeclared {
  Cabling cables;
};  // when a controller starts and they are not those of before
struct PolicyApplied {
  Policy policy;
  std::string hash;
};
struct TurnBegan {  // one pass of the loop: what follows up to the next one happened in it
  std::uint64_t turn = 0;
  Now now;
};

// ---- what engines and detectors say
struct JobSubmitted {
  JobId job;
  JobSpec spec;
};
struct JobAmended {  // its owner or the engine changed what it asks for, or whether it may start
  JobId job;
  JobSpec spec;
};
struct JobStarted {
  JobId job;
  std::uint32_t attempt = 0;
  std::vector<NodeId> nodes;
  std::vector<std::uint16_t> slots;  // GPUs on each, as a bit mask; empty: all of each
  Time at;                           // utc, where it was told late; 0: now
};
struct JobProgressed {
  JobId job;
  std::uint32_t attempt = 0;
  Progress progress;
};
struct JobEnded {
  JobId job;
  std::uint32_t attempt = 0;
  JobEnd end = JobEnd::completed;
  Progress progress;
  std::string detail;
  Time at;  // utc, where it was told late; 0: now
};
struct JobRequeued {
  JobId job;
};
struct JobGone {
  JobId job;
  JobEnd end = JobEnd::cancelled;
};  // ended while not running: cancelled or given up
struct NodeChanged {
  NodeId node;
  NodeCondition condition = NodeCondition::up;
  std::string detail;
};
struct NodeHeld {  // somebody drained the node at the engine itself, or put it back; Muster's own orders are not told so
  NodeId node;
  bool held = false;
  std::string by;  // untrusted, as is the reason
  std::string why;
  bool engine = false;     // nobody did: the engine's own rules did it
  bool leftovers = false;  // and that because it could not end what a job had left running there
};
struct GpuSwapped {
  NodeId node;
  std::int16_t slot = -1;
  std::string uuid;
};  // slot -1: the whole node was swapped
struct FindingOpened {
  Finding finding;
};
struct FindingGrew {
  FindingId id;
  Severity severity = Severity::warning;
  Evidence evidence;  // of no witness's when its text is empty: only what follows is new
  FindingId part_of;  // the common cause that explains it, from now on
};
struct FindingCleared {
  FindingId id;
  std::string why;
};
struct RowMeasured {  // while a row is hot: what its nodes report, once a minute
  std::uint32_t row = 0;
  double inlet_c = 0;          // mean
  double hottest_c = 0;        // GPU
  double trend_c_per_min = 0;  // of the inlet
};
struct OrderEnded {
  std::string key;
  Status status = Status::done;
  std::string detail;
  // test_node: how fast the node did known work; only comparable with its own and with nodes of its kind. 0: nobody measured.
  double score = 0;
};

// ---- what the agents on the nodes say; each agent's records have a stream of their own
struct KernelHeard {  // a record of a node's kernel that means something
  KernelRecord record;
  bool trusted = false;  // read from /dev/kmsg, not from a file that users may write to
};
enum class AgentWord : std::uint8_t { started, kernel_gap, dropped, probe_hung, probe_back, mount_stalled, mount_back };
constexpr std::array<std::string_view, 7> names(AgentWord) {
  return {"started", "kernel_gap", "dropped", "probe_hung", "probe_back", "mount_stalled", "mount_back"};
}
struct AgentSaid {
  NodeId node;
  AgentWord word = AgentWord::started;
  std::string subject;      // the probe, the mount, the stream; untrusted
  std::uint64_t count = 0;  // kernel_gap, dropped: how many records are missing
  std::string text;         // untrusted
};
// Who a GPU is. Journaled when it is first known and when it changes.
struct GpuIdentity {
  std::int16_t slot = -1;
  std::string uuid;
  std::string serial;
  std::string vbios;
  std::string pci;
  bool operator==(const GpuIdentity&) const = default;
};
struct GpuIdentified {
  NodeId node;
  GpuIdentity gpu;
};
// What a node runs and has: versions, NIC ports, topology; by name. Likewise.
using Facts = std::vector<std::pair<std::string, std::string>>;
struct NodeDescribed {
  NodeId node;
  Facts facts;
};

// In what a job runs on one of its nodes, as its processes were found there: image, libraries, settings; by name. Journaled when
// a node first tells of an attempt, and when that changes.
struct JobDescribed {
  JobId job;
  std::uint32_t attempt = 0;
  NodeId node;
  Facts facts;  // untrusted
};

// ---- what a watch of the network says (docs/fabric.md)
struct FabricTold {
  FabricFaultKind kind{};
  std::vector<std::string> ends;  // untrusted, as is the detail
  std::string detail;
  double confidence = 1;      // 0 to 1
  std::vector<NodeId> nodes;  // that it touches
  std::string fix = {};       // what to do, and where; untrusted
};
struct FabricSaid {      // all faults that stand in one, when they are others than before
  bool complete = true;  // false: what is not among them may stand all the same
  std::vector<FabricTold> faults;
  std::uint32_t left_out = 0;       // of them: more than could be told
  std::uint32_t unknown_nodes = 0;  // names that the cluster does not have
  std::string name = {};            // of the network; empty: it has none
  // False: too little was read to know that an error_rate, or a flapping_link, that is not among them is over.
  bool rates = true, flaps = true;
};

// ---- what the acceptance tests of a node said (docs/accept.md)
struct AcceptFaultTold {
  AcceptFault kind = AcceptFault::none;
  std::int16_t slot = -1;  // -1: of no single GPU
  bool failed = true;      // false: it does its work, and is short of a limit
  std::string part;        // "tensor cores: SM 17"; untrusted, as is the text
  std::string text;
};
struct AcceptanceSaid {  // whoever is in neither list was not tested
  NodeId node;
  std::string profile;                  // which tests: "quick"; untrusted
  std::vector<std::int16_t> passed;     // slots
  std::vector<AcceptFaultTold> faults;  // the worst first
};

// What energy will cost and how dirty it will be, hour by hour: known, or forecast the day before.
struct PriceAnnounced {
  Time from;  // utc, of the first hour
  std::vector<double> price_per_mwh;
  std::vector<double> carbon_g_per_kwh;  // may be empty
};

// ---- what people say
enum class CommandVerb : std::uint8_t {
  drain,
  undrain,
  pause,
  resume,
  submit,
  cancel,
  approve,
  reject,
  upgrade,
  upgrade_stop,  // nothing more is begun; what is done stays
  upgrade_back,  // and everything that was installed is taken back
};
constexpr std::array<std::string_view, 11> names(CommandVerb) {
  return {"drain",   "undrain", "pause",   "resume",       "submit",      "cancel",
          "approve", "reject",  "upgrade", "upgrade_stop", "upgrade_back"};
}
struct CommandGiven {
  CommandVerb verb = CommandVerb::pause;
  std::string actor;
  std::string id;  // chosen by the client: a repeat of the same id is the same command
  NodeId node;
  JobId job;
  JobSpec spec;
  std::string reason;          // untrusted
  std::uint64_t approval = 0;  // approve, reject
  UpgradeSpec upgrade;
};

// ---- what Muster decides
struct IncidentOpened {
  IncidentId id;
  FindingId finding;
};
struct IncidentJoined {
  IncidentId id;
  FindingId finding;
};  // a further finding on the same node
struct IncidentMoved {
  IncidentId id;
  Stage stage = Stage::opened;
  std::uint32_t rung = 0;
  Time due;  // mono
  std::string note;
};
struct IncidentClosed {
  IncidentId id;
  std::string resolution;
};
struct OrderIntended {
  Order order;
  Placement placement;
};
struct OrderRefused {  // the guard said no; not asked again before `retry`
  Action action;
  Reason reason;
  std::string limit;  // which limit, in words
  Time retry;         // mono
};
struct CauseFrozen {
  FindingKind cause = FindingKind::gpu_lost;
  Time until;
  std::string why;
};                      // mono
struct ApprovalAsked {  // an act waits for a person's word
  std::uint64_t id = 0;
  Action action;
  Reason reason;
  std::string why;  // it is asked for, in words
  Time until;       // mono; asked anew after this
};

struct UpgradePhased {  // a rolling upgrade goes on, stops, turns back or ends
  std::uint64_t id = 0;
  UpgradePhase phase = UpgradePhase::canary;
  std::string why;
};
struct TurnMoved {  // a node's turn in it
  std::uint64_t id = 0;
  NodeId node;
  TurnStage stage = TurnStage::draining;
  bool back = false;  // the old version is brought back
  std::string note;
};

using AnyBody = std::variant<RunStarted, SiteDeclared, PolicyApplied, TurnBegan, JobSubmitted, JobStarted, JobProgressed,
                             JobEnded, JobRequeued, JobGone, NodeChanged, GpuSwapped, FindingOpened, FindingGrew,
                             FindingCleared, OrderEnded, CommandGiven, IncidentOpened, IncidentJoined, IncidentMoved,
                             IncidentClosed, OrderIntended, OrderRefused, CauseFrozen, PriceAnnounced, RowMeasured,
                             KernelHeard, AgentSaid, GpuIdentified, NodeDescribed, CablesDeclared, ApprovalAsked,
                             UpgradePhased, TurnMoved, JobAmended, NodeHeld, PoolsDeclared, FabricSaid, AcceptanceSaid,
                             JobDescribed>;
// How one of so many is copied, moved and destroyed is compiled once, in event.cpp: in each file that does so it took seconds.
struct Body : AnyBody {
  using AnyBody::AnyBody;
  using AnyBody::operator=;
  Body();
  Body(const Body&);
  Body(Body&&) noexcept;
  Body& operator=(const Body&);
  Body& operator=(Body&&) noexcept;
  ~Body();
};
// In the order of Body.
constexpr std::array<std::string_view, std::variant_size_v<AnyBody>> kBodyNames = {
    "run_started",     "site_declared",  "policy_applied",  "turn_began",     "job_submitted",  "job_started",
    "job_progressed",  "job_ended",      "job_requeued",    "job_gone",       "node_changed",   "gpu_swapped",
    "finding_opened",  "finding_grew",   "finding_cleared", "order_ended",    "command_given",  "incident_opened",
    "incident_joined", "incident_moved", "incident_closed", "order_intended", "order_refused",  "cause_frozen",
    "price_announced", "row_measured",   "kernel_heard",    "agent_said",     "gpu_identified", "node_described",
    "cables_declared", "approval_asked", "upgrade_phased",  "turn_moved",     "job_amended",    "node_held",
    "pools_declared",  "fabric_said",    "acceptance_said", "job_described"};

struct Event {
  std::uint32_t schema = 1;
  std::uint64_t seq = 0;  // dense from 1 within a journal
  Source source;
  Time utc;
  Body body;
};

inline std::string_view type_of(const Event& e) { return kBodyNames[e.body.index()]; }
// True for what the pure core produces, which a replay must reproduce; false for what the world fed in.
bool decided(const Body& b);

}  // namespace muster
