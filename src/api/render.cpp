#include "api/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/node_list.h"
#include "base/text.h"
#include "report/checkpoint_note.h"
#include "report/finding_view.h"
#include "report/job_note.h"

namespace muster::api {
namespace {

void time_field(JsonWriter& w, std::string_view name, Time t) {
  w.key(name);
  if (t.ns == 0) {
    w.null();
  } else {
    w.value(render_utc(t));
  }
}

// Of what is about no node the slot is no GPU's: `where` says what it is.
void slot_field(JsonWriter& w, NodeId node, std::int16_t slot) {
  w.key("gpu_slot");
  if (slot < 0 || !node.some()) {
    w.null();
  } else {
    w.value(static_cast<int>(slot));
  }
}

void job_field(JsonWriter& w, JobId job) { w.field("job", job.some() ? render(job) : std::string()); }

std::string node_name(const State& s, NodeId n) { return n.v < s.site.nodes.size() ? s.site.nodes[n.v].name : std::string(); }

void reading(JsonWriter& w, std::string_view name, float value) {
  w.key(name);
  if (value < 0) {
    w.null();
  } else {
    w.value(static_cast<double>(static_cast<int>(value * 10 + 0.5f)) / 10);  // a tenth is more than any sensor knows
  }
}

void readings(JsonWriter& w, const Frame& f, std::size_t gpu) {
  const GpuReading none;
  const GpuReading& r = gpu < f.snapshot.readings.size() ? f.snapshot.readings[gpu] : none;
  reading(w, "temp_c", r.temp_c);
  reading(w, "power_w", r.power_w);
  reading(w, "util_pct", r.util_pct);
  reading(w, "sm_clock_mhz", r.sm_clock_mhz);
}

void begin_list(JsonWriter& w, const Frame& f, std::string_view kind) {
  w.object().field("apiVersion", "v1").field("kind", kind).field("seq", f.state().seq).key("items").array();
}

Result<std::size_t> limit_of(const Query& q, std::size_t otherwise) {
  const auto it = q.find("limit");
  if (it == q.end()) return otherwise;
  const auto n = parse_uint(it->second);
  if (!n || *n == 0) return fail(Code::bad_input, fmt::format("limit is '{}'", printable(it->second)), "it must be 1 or more");
  return static_cast<std::size_t>(*n);
}

Result<bool> yes_or_no(const Query& q, const std::string& name) {
  const auto it = q.find(name);
  if (it == q.end() || it->second == "0") return false;
  if (it->second == "1") return true;
  return fail(Code::bad_input, fmt::format("{} is '{}'", name, printable(it->second)), "it must be 1 or 0");
}

template <NamedEnum E>
Result<std::optional<E>> word_of(const Query& q, const std::string& name) {
  const auto it = q.find(name);
  if (it == q.end() || it->second.empty()) return std::optional<E>();
  E e{};
  if (parse_name(it->second, e)) return std::optional<E>(e);
  std::vector<std::string> words;
  for (const auto n : names(E{})) words.emplace_back(n);
  return fail(Code::bad_input, fmt::format("{} is '{}'", name, printable(it->second)), "it must be one of " + join(words, ", "));
}

Result<std::optional<NodeId>> node_of(const Frame& f, const Query& q) {
  const auto it = q.find("node");
  if (it == q.end()) return std::optional<NodeId>();
  auto n = find_node_named(f.state().site, it->second);
  if (!n) return tl::unexpected(n.error());
  return std::optional<NodeId>(*n);
}

// ---------------------------------------------------------------- nodes

struct Chosen {
  std::vector<std::uint32_t> nodes;
  std::string next;  // name to go on after; empty: that was all
};

Result<Chosen> choose_nodes(const Frame& f, const Query& q) {
  const State& s = f.state();
  auto state = word_of<Face>(q, "state");
  if (!state) return tl::unexpected(state.error());
  auto limit = limit_of(q, SIZE_MAX);
  if (!limit) return tl::unexpected(limit.error());
  std::optional<std::set<std::string, std::less<>>> list;
  if (const auto it = q.find("name"); it != q.end()) {
    auto names = expand_node_list(it->second);
    if (!names) return tl::unexpected(names.error());
    list.emplace(std::make_move_iterator(names->begin()), std::make_move_iterator(names->end()));
  }
  std::size_t begin = 0;
  if (const auto it = q.find("after"); it != q.end()) {
    auto n = find_node_named(s.site, it->second);
    if (!n) return tl::unexpected(n.error());
    begin = n->v + 1;
  }
  std::optional<std::uint32_t> rack;
  if (const auto it = q.find("rack"); it != q.end()) {
    const auto at = std::find(s.site.racks.begin(), s.site.racks.end(), it->second);
    if (at == s.site.racks.end()) {
      const auto close = nearest(it->second, s.site.racks);
      return fail(Code::not_found, fmt::format("there is no rack '{}'", printable(it->second)),
                  close ? fmt::format("did you mean '{}'?", printable(*close)) : "");
    }
    rack = static_cast<std::uint32_t>(at - s.site.racks.begin());
  }
  Chosen out;
  for (std::size_t n = begin; n < s.nodes.size(); ++n) {
    const NodeSpec& spec = s.site.nodes[n];
    if (*state && f.faces.nodes[n] != **state) continue;
    if (rack && spec.rack != *rack) continue;
    if (list && list->count(spec.name) == 0) continue;
    if (out.nodes.size() == *limit) {
      out.next = s.site.nodes[out.nodes.back()].name;
      break;
    }
    out.nodes.push_back(static_cast<std::uint32_t>(n));
  }
  return out;
}

void write_node(JsonWriter& w, const Frame& f, std::uint32_t n) {
  const State& s = f.state();
  const NodeSpec& spec = s.site.nodes[n];
  const NodeState& node = s.nodes[n];
  w.object().field("id", n).field("name", spec.name);
  w.field("rack", spec.rack < s.site.racks.size() ? s.site.racks[spec.rack] : std::string());
  w.field("leaf", spec.leaf).field("pod", spec.pod).field("domain", spec.domain);
  w.field("gpu_model", spec.gpu_model.empty() ? s.site.gpu_model : spec.gpu_model);
  w.field("state", name_of(f.faces.nodes[n])).field("condition", name_of(node.condition));
  w.field("hold", name_of(node.hold)).field("hold_reason", node.hold_reason);
  job_field(w, node.first_job());
  w.key("jobs").array();
  for (const Share& x : node.shares) w.value(render(x.job));
  w.end_array();
  w.field("incident", node.incident.v).field("incidents", node.incidents).field("swaps", node.swaps);
  time_field(w, "changed_utc", node.changed);
  w.key("gpus").array();
  for (std::uint32_t slot = 0; slot < s.site.gpus_per_node; ++slot) {
    const std::size_t gpu = std::size_t{n} * s.site.gpus_per_node + slot;
    w.object().field("slot", slot).field("state", name_of(f.faces.gpus[gpu]));
    readings(w, f, gpu);
    w.end_object();
  }
  w.end_array().end_object();
}

// ---------------------------------------------------------------- jobs

void ids_field(JsonWriter& w, std::string_view name, const std::vector<JobId>& ids) {
  w.key(name).array();
  for (const JobId id : ids) w.value(render(id));
  w.end_array();
}

// Some jobs are on a node without any of its GPUs.
std::int64_t gpus_of(const Site& site, const Job& j) {
  const bool none = !j.slots.empty() && std::all_of(j.slots.begin(), j.slots.end(), [](std::uint16_t mask) { return mask == 0; });
  return none ? 0 : (milli_gpus(site, j.spec) + 999) / 1000;
}

void write_job(JsonWriter& w, const State& s, const Job& j, const report::JobNotes& notes,
               const report::CheckpointNotes& saved) {
  w.object().field("id", render(j.id)).field("name", j.spec.name).field("user", j.spec.user).field("account", j.spec.account);
  w.field("phase", name_of(j.phase)).field("nodes_wanted", j.spec.nodes).field("gpus", gpus_of(s.site, j));
  w.field("gpus_per_node", j.spec.gpus_per_node).field("gpu_milli", j.spec.gpu_milli).field("queue", queue_of(j.spec));
  w.field("priority", j.spec.priority).field("within", name_of(j.spec.within)).field("prefer", name_of(j.spec.prefer));
  w.field("prefer_wait_s", j.spec.prefer_wait_s).field("segment", j.spec.segment).field("gpu_model", j.spec.gpu_model);
  if (!j.spec.pool.empty()) w.field("pool", j.spec.pool);
  w.field("time_limit_s", j.spec.time_limit_s);
  time_field(w, "deadline_utc", j.spec.deadline);
  w.field("deferrable", j.spec.deferrable).field("value_per_gpu_h", j.spec.value_per_gpu_h);
  ids_field(w, "after", j.spec.after);
  ids_field(w, "waits_for", j.waits_for);
  w.field("note", notes.of(j));
  w.key("nodes").array();
  for (const NodeId n : j.nodes) w.value(node_name(s, n));
  w.end_array().field("attempt", j.attempt).field("restarts", j.restarts);
  time_field(w, "submitted_utc", j.submitted);
  time_field(w, "started_utc", j.started);
  time_field(w, "ended_utc", j.ended);
  w.field("steps", j.progress.steps).field("steps_total", j.spec.steps).field("durable_steps", j.progress.durable_steps);
  w.field("progress", j.spec.steps == 0 ? 0.0 : static_cast<double>(j.progress.steps) / static_cast<double>(j.spec.steps));
  w.key("placement").object().field("leaves", j.placement.leaves).field("leaves_min", j.placement.leaves_min);
  w.field("why", j.placement.why).end_object();
  // Before the first end there is none to tell of.
  const bool has_ended = ended(j.phase) || j.phase == JobPhase::broken || j.restarts > 0;
  w.field("last_end", has_ended ? name_of(j.last_end) : std::string_view()).field("last_detail", j.last_detail);
  w.key("checkpoint");
  saved.write(w, j);
  w.end_object();
}

// What a list of many shows: pages that follow a large cluster read it again and again.
void write_job_brief(JsonWriter& w, const State& s, const Job& j, const report::JobNotes& notes) {
  w.object().field("id", render(j.id)).field("name", j.spec.name).field("user", j.spec.user).field("account", j.spec.account);
  w.field("queue", queue_of(j.spec)).field("phase", name_of(j.phase)).field("nodes_wanted", j.spec.nodes);
  w.field("gpus", gpus_of(s.site, j)).field("attempt", j.attempt).field("restarts", j.restarts);
  time_field(w, "submitted_utc", j.submitted);
  time_field(w, "started_utc", j.started);
  time_field(w, "ended_utc", j.ended);
  w.field("steps", j.progress.steps).field("steps_total", j.spec.steps).field("durable_steps", j.progress.durable_steps);
  w.field("progress", j.spec.steps == 0 ? 0.0 : static_cast<double>(j.progress.steps) / static_cast<double>(j.spec.steps));
  w.field("note", notes.of(j)).field("last_detail", j.last_detail).end_object();
}

// An array, named whole: what its members have in common, how many there are in each phase, and all their ids.
void write_array(JsonWriter& w, const State& s, const std::vector<JobId>& members) {
  const Job& first = s.jobs.at(members.front());
  w.object().field("id", std::to_string(first.id.number)).field("name", report::array_name(first));
  w.field("user", first.spec.user).field("account", first.spec.account).field("queue", queue_of(first.spec));
  w.field("nodes_wanted", first.spec.nodes).field("gpus_per_node", first.spec.gpus_per_node);
  w.field("gpu_milli", first.spec.gpu_milli).key("phases").object();
  for (const auto& [phase, ids] : report::members_by_phase(s, members)) w.field(name_of(phase), ids.size());
  w.end_object();
  ids_field(w, "members", members);
  w.end_object();
}

// ---------------------------------------------------------------- findings, incidents, actions

double rounded(double x) { return static_cast<double>(static_cast<std::int64_t>(x * 100 + 0.5)) / 100; }

void write_where(JsonWriter& w, const State& s, const Finding& f) {
  const report::Whereabouts at = report::whereabouts(s, f);
  w.key("where").object().field("rack", at.rack).field("row", at.row).field("pci", at.pci).field("nic", at.nic);
  w.field("switch", at.switch_name).field("port", at.switch_port).field("cable", at.cable);
  w.field("uuid", at.uuid).field("serial", at.serial);
  const auto index = [&](std::string_view name, std::int64_t v) {
    w.key(name);
    if (v < 0) {
      w.null();
    } else {
      w.value(v);
    }
  };
  index("leaf", at.leaf);
  index("pod", at.pod);
  index("nvlink_domain", at.domain);
  w.field("words", report::say(at, f.slot)).end_object();
}

void write_finding(JsonWriter& w, const State& s, const Finding& f) {
  w.object().field("id", f.id.v).field("kind", name_of(f.kind)).field("severity", name_of(f.severity));
  w.field("node", node_name(s, f.node));
  slot_field(w, f.node, f.slot);
  job_field(w, f.job);
  w.field("code", static_cast<std::int64_t>(f.code));
  time_field(w, "opened_utc", f.opened);
  time_field(w, "cleared_utc", f.cleared);
  time_field(w, "since_utc", f.began());
  w.field("subject", f.subject).field("part_of", f.part_of.v).field("confidence", rounded(confidence(f)));
  w.field("suggestion", report::advice(f)).field("loss_pct", f.loss_pct);
  write_where(w, s, f);
  const account::FindingCost cost = account::cost_of(s, f, s.now.utc);
  w.key("cost")
      .object()
      .field("gpu_hours", rounded(static_cast<double>(cost.gpu_ms) / 3.6e6))
      .field("money", rounded(cost.money))
      .field("currency", cost.currency);
  w.end_object();
  if (f.kind == FindingKind::common_cause || f.kind == FindingKind::storage_stall) {
    const report::Members m = report::members_of(s, f.id);
    w.field("members", m.findings.size()).field("member_nodes", compress_node_list(m.nodes));
    w.key("member_kinds").array();
    for (const std::string& kind : m.kinds) w.value(kind);
    w.end_array();
  }
  w.key("evidence").array();
  for (const Evidence& e : f.evidence) {
    w.object().field("witness", name_of(e.witness));
    time_field(w, "at_utc", e.at);
    w.field("ref", e.ref).field("text", e.text).end_object();
  }
  w.end_array().end_object();
}

// An order or a refusal of the guard, on the one list people read.
struct Act {
  Time at;
  const std::string* key = nullptr;
  const OrderRecord* order = nullptr;
  const RefusalRecord* refusal = nullptr;
  const Action& action() const { return order != nullptr ? order->order.action : refusal->action; }
};

std::vector<Act> all_acts(const State& s) {
  std::vector<Act> out;
  out.reserve(s.orders.size() + s.refusals.size());
  for (const auto& [key, o] : s.orders) out.push_back({o.intended, &key, &o, nullptr});
  std::sort(out.begin(), out.end(), [](const Act& a, const Act& b) { return natural_less(*b.key, *a.key); });
  for (const RefusalRecord& r : s.refusals) out.push_back({r.at, nullptr, nullptr, &r});
  std::stable_sort(out.begin(), out.end(), [](const Act& a, const Act& b) { return a.at > b.at; });
  return out;
}

void write_act(JsonWriter& w, const State& s, const Act& a) {
  static const Reason kNone;
  const Action& action = a.action();
  const Reason& reason = a.order != nullptr ? a.order->order.reason : kNone;
  w.object().field("key", a.key != nullptr ? *a.key : std::string()).field("verb", name_of(action.verb));
  w.field("node", node_name(s, action.node));
  slot_field(w, action.node, action.slot);
  job_field(w, action.job);
  w.key("nodes").array();
  for (const NodeId n : action.nodes) w.value(node_name(s, n));
  w.end_array();
  w.field("status", a.order != nullptr ? name_of(a.order->status) : std::string_view("refused_by_guard"));
  w.field("detail", a.order != nullptr ? a.order->detail : std::string());
  w.field("limit", a.refusal != nullptr ? a.refusal->limit : std::string());
  time_field(w, "intended_utc", a.at);
  time_field(w, "ended_utc", a.order != nullptr ? a.order->ended : a.at);
  w.field("sentence", a.order != nullptr ? reason.sentence : "A safety limit said no: " + a.refusal->limit);
  w.field("rule", reason.rule).key("findings").array();
  for (const FindingId id : reason.findings) w.value(id.v);
  w.end_array().key("alternatives").array();
  for (const std::string& other : reason.alternatives) w.value(other);
  w.end_array().field("budget", reason.budget);
  w.field("incident", a.order != nullptr ? reason.incident.v : a.refusal->incident.v).field("actor", reason.actor).end_object();
}

using ActsByIncident = std::map<IncidentId, std::vector<Act>>;

ActsByIncident by_incident(const State& s) {
  ActsByIncident out;
  for (const Act& a : all_acts(s)) {
    const IncidentId id = a.order != nullptr ? a.order->order.reason.incident : a.refusal->incident;
    if (id.some()) out[id].push_back(a);
  }
  return out;
}

void write_incident(JsonWriter& w, const State& s, const Incident& i, const ActsByIncident& acts) {
  w.object().field("id", i.id.v).field("node", node_name(s, i.node));
  slot_field(w, i.node, i.slot);
  w.field("cause", name_of(i.cause)).field("code", static_cast<std::int64_t>(i.code)).field("stage", name_of(i.stage));
  w.field("rung", i.rung);
  const Finding lead = report::leading(s, i);
  w.field("subject", lead.subject).key("where").object();
  w.field("words", report::say_briefly(report::whereabouts(s, lead), lead.slot)).end_object();
  job_field(w, i.job);
  time_field(w, "opened_utc", i.opened);
  time_field(w, "closed_utc", i.closed);
  w.field("resolution", i.resolution).key("findings").array();
  for (const FindingId id : i.findings) {
    if (const Finding* f = find_finding(s, id)) write_finding(w, s, *f);
  }
  w.end_array().key("notes").array();
  for (const Note& n : i.notes) {
    w.object();
    time_field(w, "at_utc", n.at);
    w.field("text", n.text).end_object();
  }
  w.end_array().key("actions").array();
  if (const auto it = acts.find(i.id); it != acts.end()) {
    for (auto a = it->second.rbegin(); a != it->second.rend(); ++a) write_act(w, s, *a);  // as they happened
  }
  w.end_array().end_object();
}

}  // namespace

Result<JobId> parse_job_id(std::string_view text) {
  const auto bar = text.find('_');
  const auto number = parse_uint(text.substr(0, bar));
  const auto index = bar == std::string_view::npos ? std::optional<std::uint64_t>(0) : parse_uint(text.substr(bar + 1));
  if (!number || !index || *number == 0 || *number > UINT32_MAX || *index >= UINT32_MAX) {
    return fail(Code::not_found, fmt::format("'{}' is not a job id", printable(text)), "job ids look like 17 or 17_3");
  }
  return JobId{static_cast<std::uint32_t>(*number), bar == std::string_view::npos ? 0 : static_cast<std::uint32_t>(*index + 1)};
}

tl::unexpected<Error> unknown_job(const State& s, JobId id) {
  if (const auto others = members_of(s, JobId{id.number, 0}); !others.empty()) {
    const bool array = others.front().array_index != 0;
    return fail(Code::not_found,
                array ? fmt::format("job {} is not known: of array {}, {} members are, {} to {}", render(id), id.number,
                                    others.size(), render(others.front()), render(others.back()))
                      : fmt::format("job {} is not known: job {} is no array", render(id), id.number),
                fmt::format("`muster describe job {}` shows what is known", id.number));
  }
  const bool was_there = !s.jobs.empty() && id.number <= s.jobs.rbegin()->first.number;
  if (!was_there) {
    return fail(Code::not_found, fmt::format("there is no job {}: none of that number was submitted", render(id)),
                "`muster get jobs` lists those there are");
  }
  return fail(Code::not_found,
              fmt::format("job {} is not known any more: it ended before the last {} jobs that are remembered (of an array, {}), "
                          "or never existed",
                          render(id), kEndedJobsKept, kMembersKept),
              "the journal has it: `muster journal export --type job_ended`");
}

Result<NodeId> find_node_named(const Site& site, std::string_view name) {
  const NodeId n = find_node(site, name);
  if (n.some()) return n;
  std::vector<std::string> all;
  for (const NodeSpec& spec : site.nodes) all.push_back(spec.name);
  const auto close = nearest(name, all);
  return fail(Code::not_found, fmt::format("there is no node '{}'", printable(name)),
              close ? fmt::format("did you mean '{}'?", printable(*close)) : "GET /api/v1/nodes lists them");
}

Result<std::string> render_nodes(const Frame& f, const Query& q) {
  auto chosen = choose_nodes(f, q);
  if (!chosen) return tl::unexpected(chosen.error());
  JsonWriter w;
  begin_list(w, f, "NodeList");
  for (const std::uint32_t n : chosen->nodes) write_node(w, f, n);
  w.end_array();
  if (!chosen->next.empty()) w.field("next", chosen->next);
  w.end_object();
  return w.take();
}

Result<std::string> render_node(const Frame& f, const std::string& name) {
  auto n = find_node_named(f.state().site, name);
  if (!n) return tl::unexpected(n.error());
  JsonWriter w;
  write_node(w, f, n->v);
  return w.take();
}

Result<std::string> render_gpus(const Frame& f, const Query& q) {
  auto chosen = choose_nodes(f, q);
  if (!chosen) return tl::unexpected(chosen.error());
  const State& s = f.state();
  JsonWriter w;
  begin_list(w, f, "GpuList");
  const auto asked = q.find("figures");
  const bool wide = asked != q.end() && asked->second == "1";
  const GpuFigures figures = wide ? gpu_figures(f) : GpuFigures{};
  const auto figure = [&](std::string_view name, float value) {
    w.key(name);
    if (std::isnan(value)) {
      w.null();
    } else {
      w.value(rounded(value));
    }
  };
  for (const std::uint32_t n : chosen->nodes) {
    for (std::uint32_t slot = 0; slot < s.site.gpus_per_node; ++slot) {
      const std::size_t gpu = std::size_t{n} * s.site.gpus_per_node + slot;
      w.object().field("node", s.site.nodes[n].name).field("slot", slot).field("state", name_of(f.faces.gpus[gpu]));
      const auto& shares = s.nodes[n].shares;
      const auto on = std::find_if(shares.begin(), shares.end(), [&](const Share& x) { return (x.slots >> slot & 1) != 0; });
      job_field(w, on == shares.end() ? JobId{} : on->job);
      readings(w, f, gpu);
      if (wide) {
        figure("peers_mad", figures.peers[gpu]);
        figure("risk", figures.risk[gpu]);
        figure("losing", figures.losing[gpu]);
        w.field("losing_unit", figures.unit);
      }
      w.end_object();
    }
  }
  w.end_array();
  if (!chosen->next.empty()) w.field("next", chosen->next);
  w.end_object();
  return w.take();
}

Result<std::string> render_jobs(const Frame& f, const Query& q) {
  std::set<JobPhase> phases;
  if (const auto it = q.find("phase"); it != q.end()) {
    for (const std::string_view word : split(it->second, ',')) {
      auto phase = word_of<JobPhase>({{"phase", std::string(word)}}, "phase");
      if (!phase) return tl::unexpected(phase.error());
      if (*phase) phases.insert(**phase);
    }
  }
  auto limit = limit_of(q, SIZE_MAX);
  if (!limit) return tl::unexpected(limit.error());
  auto brief = yes_or_no(q, "brief");
  if (!brief) return tl::unexpected(brief.error());
  std::vector<const Job*> chosen;
  for (const auto& [id, j] : f.state().jobs) {
    if (phases.empty() || phases.contains(j.phase)) chosen.push_back(&j);
  }
  const report::JobNotes notes(f.state());
  const report::CheckpointNotes saved(f.state());
  JsonWriter w;
  begin_list(w, f, "JobList");
  for (std::size_t i = chosen.size() > *limit ? chosen.size() - *limit : 0; i < chosen.size(); ++i) {
    if (*brief) {
      write_job_brief(w, f.state(), *chosen[i], notes);
    } else {
      write_job(w, f.state(), *chosen[i], notes, saved);
    }
  }
  w.end_array().end_object();
  return w.take();
}

Result<std::string> render_job(const Frame& f, const std::string& id) {
  auto parsed = parse_job_id(id);
  if (!parsed) return tl::unexpected(parsed.error());
  const Job* j = find_job(f.state(), *parsed);
  JsonWriter w;
  if (j == nullptr) {
    const auto members = members_of(f.state(), *parsed);
    if (members.empty()) return unknown_job(f.state(), *parsed);
    write_array(w, f.state(), members);
    return w.take();
  }
  write_job(w, f.state(), *j, report::JobNotes(f.state()), report::CheckpointNotes(f.state()));
  return w.take();
}

Result<std::string> render_findings(const Frame& f, const Query& q) {
  auto open = yes_or_no(q, "open");
  if (!open) return tl::unexpected(open.error());
  auto limit = limit_of(q, SIZE_MAX);
  if (!limit) return tl::unexpected(limit.error());
  auto node = node_of(f, q);
  if (!node) return tl::unexpected(node.error());
  const auto& all = f.state().findings;
  JsonWriter w;
  begin_list(w, f, "FindingList");
  std::size_t written = 0;
  for (auto it = all.rbegin(); it != all.rend() && written < *limit; ++it) {
    if ((*open && it->second.cleared.ns != 0) || (*node && it->second.node != **node)) continue;
    write_finding(w, f.state(), it->second);
    ++written;
  }
  w.end_array().end_object();
  return w.take();
}

Result<std::string> render_incidents(const Frame& f, const Query& q) {
  auto open = yes_or_no(q, "open");
  if (!open) return tl::unexpected(open.error());
  auto limit = limit_of(q, SIZE_MAX);
  if (!limit) return tl::unexpected(limit.error());
  auto node = node_of(f, q);
  if (!node) return tl::unexpected(node.error());
  const auto& all = f.state().incidents;
  const ActsByIncident acts = by_incident(f.state());
  JsonWriter w;
  begin_list(w, f, "IncidentList");
  std::size_t written = 0;
  for (auto it = all.rbegin(); it != all.rend() && written < *limit; ++it) {
    if ((*open && it->second.stage == Stage::closed) || (*node && it->second.node != **node)) continue;
    write_incident(w, f.state(), it->second, acts);
    ++written;
  }
  w.end_array().end_object();
  return w.take();
}

Result<std::string> render_incident(const Frame& f, const std::string& id) {
  const auto number = parse_uint(id);
  const Incident* i = number ? find_incident(f.state(), IncidentId{*number}) : nullptr;
  if (i == nullptr) {
    return fail(Code::not_found, fmt::format("there is no incident '{}'", printable(id)), "GET /api/v1/incidents lists them");
  }
  JsonWriter w;
  write_incident(w, f.state(), *i, by_incident(f.state()));
  return w.take();
}

Result<std::string> render_actions(const Frame& f, const Query& q) {
  auto limit = limit_of(q, SIZE_MAX);
  if (!limit) return tl::unexpected(limit.error());
  auto node = node_of(f, q);
  if (!node) return tl::unexpected(node.error());
  JsonWriter w;
  begin_list(w, f, "ActionList");
  std::size_t written = 0;
  for (const Act& a : all_acts(f.state())) {
    if (written == *limit) break;
    if (*node && a.action().node != **node) continue;
    write_act(w, f.state(), a);
    ++written;
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace muster::api
