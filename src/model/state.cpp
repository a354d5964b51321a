// What a state is asked: who may take work, what is free, who is who, and which ended jobs it still knows.
#include "model/state.h"

#include "model/codec.h"
#include "model/whole_site.h"

namespace muster {

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

bool placeable(const State& s, NodeId id) {
  const NodeState& n = s.nodes[id.v];
  if (n.condition != NodeCondition::up || n.hold != Hold::none) return false;
  if (s.out_nodes.count(id) != 0) return false;  // its drain is under way
  // What many nodes share is at fault there: nobody drains them one by one, and nobody starts on them either.
  if (const auto x = s.explained.find(id); x != s.explained.end()) {
    const auto bad = [&](FindingId f) {
      const Finding* cause = cause_of(s, *find_finding(s, f));
      if (cause != nullptr && cause->subject == kWholeSiteSubject) return false;
      const Runbook* l = runbook_for(s, id, find_finding(s, f)->kind, find_finding(s, f)->code);
      return l != nullptr && l->act;
    };
    if (std::any_of(x->second.begin(), x->second.end(), bad)) return false;
  }
  const Incident* i = find_incident(s, n.incident);
  if (i == nullptr || i->stage == Stage::watching) return true;
  const bool held_back = i->stage == Stage::opened && i->due.ns != 0;
  return held_back && !leaves_nothing_to_run_on(i->cause);
}

std::uint16_t all_slots(const Site& site) { return static_cast<std::uint16_t>((1U << site.gpus_per_node) - 1); }

bool room_for(const State& s, NodeId id, std::uint16_t slots, std::uint32_t milli, JobId job) {
  for (std::uint32_t slot = 0; slot < s.site.gpus_per_node; ++slot) {
    if ((slots >> slot & 1) == 0) continue;
    std::uint32_t used = milli;
    for (const Share& x : s.nodes[id.v].shares) {
      if (x.job != job && (x.slots >> slot & 1) != 0) used += x.milli;
    }
    if (used > 1000) return false;
  }
  return true;
}

std::int64_t milli_gpus(const Site& site, const JobSpec& spec) {
  if (spec.gpu_milli > 0) return spec.gpu_milli;
  return std::int64_t{1000} * spec.nodes * (spec.gpus_per_node > 0 ? spec.gpus_per_node : site.gpus_per_node);
}

Amounts amounts_of(const State& s, const JobSpec& spec, std::int64_t milli) {
  Amounts out = {milli, 0, 0, 0};
  const auto scarce = scarce_models(s.policy);
  for (std::size_t k = 0; k < scarce.size(); ++k) {
    if (!spec.gpu_model.empty() && spec.gpu_model == scarce[k]) out[static_cast<std::size_t>(Resource::first_model) + k] = milli;
  }
  return out;
}

std::string command_digest(const CommandGiven& c) {
  CommandGiven plain = c;
  plain.id.clear();
  return render_hex(sha256(encode_body(plain))).substr(0, 16);
}

Event next_event(const State& s, std::string_view stream, Time utc, Body body) {
  Event e;
  e.seq = s.seq + 1;
  e.source.stream = stream;
  e.utc = utc;
  e.body = std::move(body);
  return e;
}

const Job* find_job(const State& s, JobId id) {
  const auto it = s.jobs.find(id);
  return it == s.jobs.end() ? nullptr : &it->second;
}
std::vector<JobId> members_of(const State& s, JobId id) {
  if (find_job(s, id) != nullptr) return {id};
  std::vector<JobId> out;
  if (id.array_index != 0) return out;
  for (auto it = s.jobs.lower_bound(JobId{id.number, 1}); it != s.jobs.end() && it->first.number == id.number; ++it)
    out.push_back(it->first);
  return out;
}
const Incident* find_incident(const State& s, IncidentId id) {
  const auto it = s.incidents.find(id);
  return it == s.incidents.end() ? nullptr : &it->second;
}
const Finding* find_finding(const State& s, FindingId id) {
  const auto it = s.findings.find(id);
  return it == s.findings.end() ? nullptr : &it->second;
}
NodeId find_node(const Site& site, std::string_view name) {
  for (std::uint32_t i = 0; i < site.nodes.size(); ++i) {
    if (site.nodes[i].name == name) return NodeId{i};
  }
  return {};
}

bool decided(const Body& b) {
  return std::holds_alternative<IncidentOpened>(b) || std::holds_alternative<IncidentJoined>(b) ||
         std::holds_alternative<IncidentMoved>(b) || std::holds_alternative<IncidentClosed>(b) ||
         std::holds_alternative<OrderIntended>(b) || std::holds_alternative<OrderRefused>(b) ||
         std::holds_alternative<CauseFrozen>(b) || std::holds_alternative<ApprovalAsked>(b) ||
         std::holds_alternative<UpgradePhased>(b) || std::holds_alternative<TurnMoved>(b);
}

const GpuIdentity* find_gpu(const State& s, NodeId n, std::int16_t slot) {
  return n.v < s.nodes.size() ? s.nodes[n.v].known.gpu(slot) : nullptr;
}

bool in_hot_row(const State& s, NodeId n) { return !s.hot_rows.empty() && s.hot_rows.count(row_of(s.site, n)) != 0; }

namespace {

// The oldest of the array that completed goes first: that one failed matters to who follows it.
void forget_member(State& s, std::uint32_t array) {
  auto oldest = s.ended_jobs.end();
  for (auto it = s.ended_jobs.begin(); it != s.ended_jobs.end(); ++it) {
    if (it->number != array) continue;
    if (oldest == s.ended_jobs.end()) oldest = it;
    if (s.jobs.at(*it).phase != JobPhase::completed) continue;
    oldest = it;
    break;
  }
  s.jobs.erase(*oldest);
  s.ended_jobs.erase(oldest);
  --s.ended_members[array];
}

}  // namespace

void retire_job(State& s, JobId id) {
  s.ended_jobs.push_back(id);
  if (id.array_index != 0 && ++s.ended_members[id.number] > kMembersKept) forget_member(s, id.number);
  while (s.ended_jobs.size() > kEndedJobsKept) {
    const JobId oldest = s.ended_jobs.front();
    const auto array = s.ended_members.find(oldest.number);
    if (array != s.ended_members.end() && --array->second == 0) s.ended_members.erase(array);
    s.jobs.erase(oldest);
    s.ended_jobs.pop_front();
  }
}

}  // namespace muster
