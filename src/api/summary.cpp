// The two answers that live pages ask for all the time: the cluster in numbers, and one letter per GPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "account/finding_cost.h"
#include "api/render.h"

namespace muster::api {
namespace {

double gpu_hours(std::int64_t ms) { return static_cast<double>(ms) / 3'600'000.0; }

void share_field(JsonWriter& w, std::string_view name, std::int64_t part, std::int64_t whole) {
  w.key(name);
  if (whole <= 0) {
    w.null();
  } else {
    w.value(static_cast<double>(part) / static_cast<double>(whole));
  }
}

void write_gpus(JsonWriter& w, const Frame& f) {
  const Faces& faces = f.faces;
  w.key("gpus").object().field("installed", f.state().site.gpus());
  for (const Face face : {Face::busy, Face::idle, Face::suspect, Face::repairing, Face::drained}) {
    w.field(name_of(face), faces.count(face));
  }
  w.field("down", faces.count(Face::down) + faces.count(Face::booting) + faces.count(Face::lost)).end_object();
  std::uint32_t down = 0, drained = 0;
  for (const NodeState& n : f.state().nodes) {
    if (n.condition == NodeCondition::kept || (n.condition == NodeCondition::up && n.hold != Hold::none)) {
      ++drained;
    } else if (n.condition != NodeCondition::up) {
      ++down;
    }
  }
  const auto total = static_cast<std::uint32_t>(f.state().nodes.size());
  w.key("nodes").object().field("total", total).field("up", total - down - drained).field("drained", drained);
  w.field("down", down).end_object();
}

// What is lost in an hour as things stand, in GPU-hours and, where the policy has a price, in money.
void write_losing(JsonWriter& w, const Frame& f) {
  const State& s = f.state();
  const std::vector<JobId> jobs = jobs_by_gpu(s);
  const std::map<JobId, double> slow = account::slow_shares(s);
  std::int64_t whole = 0;
  double slowed = 0;
  for (std::size_t g = 0; g < f.faces.gpus.size(); ++g) {
    const bool all = loses(s, f.faces.gpus[g], jobs[g]);
    const auto gang = slow.find(jobs[g]);
    whole += all ? 1 : 0;
    slowed += !all && gang != slow.end() ? gang->second : 0;
  }
  const double lost = static_cast<double>(whole) + std::round(slowed * 10) / 10;
  w.key("losing").object().field("gpus", lost).field("slow_gpus", std::round(slowed * 10) / 10).key("money_per_h");
  if (s.policy.gpu_hour_price > 0) {
    w.value(lost * s.policy.gpu_hour_price);
  } else {
    w.null();
  }
  w.field("currency", s.policy.currency).field("price_assumed", s.policy.price_assumed).end_object();
}

// Jobs on whose nodes something is wrong, or that are broken.
std::uint64_t at_risk(const Frame& f) {
  const State& s = f.state();
  std::uint64_t out = 0;
  for (const auto& [id, j] : s.jobs) {
    const bool on_bad = std::any_of(j.nodes.begin(), j.nodes.end(), [&](NodeId n) {
      return n.v < f.faces.nodes.size() && f.faces.nodes[n.v] != Face::busy && f.faces.nodes[n.v] != Face::idle;
    });
    out += j.phase == JobPhase::broken || ((j.phase == JobPhase::running || j.phase == JobPhase::starting) && on_bad) ? 1 : 0;
  }
  return out;
}

void write_jobs(JsonWriter& w, const State& s) {
  std::array<std::uint64_t, names(JobPhase{}).size()> phases{};
  for (const auto& [id, j] : s.jobs) ++phases[static_cast<std::size_t>(j.phase)];
  w.key("jobs").object();
  for (const JobPhase p : {JobPhase::running, JobPhase::starting, JobPhase::queued, JobPhase::broken}) {
    w.field(name_of(p), phases[static_cast<std::size_t>(p)]);
  }
  w.field("submitted", s.totals.jobs_submitted).field("completed", s.totals.jobs_completed);
  w.field("failed", s.totals.jobs_failed).field("cancelled", s.totals.jobs_cancelled);
  w.field("requeues", s.totals.requeues).end_object();
}

}  // namespace

std::string render_summary(const Frame& f) {
  const State& s = f.state();
  const GpuHours& g = f.snapshot.gpu_hours;
  JsonWriter w;
  w.object().field("cluster", s.site.name).field("simulation", f.snapshot.simulation).field("now_utc", render_utc(s.now.utc));
  w.field("seq", s.seq).field("turn", s.turn).field("digest", f.snapshot.digest);
  w.field("trouble", f.snapshot.trouble).field("paused", s.paused).field("paused_by", s.paused_by);
  w.key("frozen").array();  // causes that struck too many nodes at once: not acted on for now
  for (const auto& [cause, until] : s.frozen) w.value(name_of(cause));
  w.end_array();
  w.key("policy").object().field("name", s.policy.name).field("hash", s.policy_hash).end_object();
  write_gpus(w, f);
  write_losing(w, f);
  w.field("jobs_at_risk", at_risk(f));
  write_jobs(w, s);
  std::uint64_t incidents = 0, findings = 0, pending = 0;
  for (const auto& [id, i] : s.incidents) incidents += i.stage != Stage::closed;
  for (const auto& [id, x] : s.findings) findings += x.cleared.ns == 0;
  for (const auto& [key, o] : s.orders) pending += o.status == Status::pending || o.status == Status::unknown;
  w.key("incidents").object().field("open", incidents).field("total", s.totals.incidents).end_object();
  w.key("findings").object().field("open", findings).end_object();
  w.key("orders").object().field("total", s.totals.orders).field("pending", pending);
  w.field("refused", s.totals.refusals).end_object();
  w.key("gpu_hours").object().field("installed", gpu_hours(g.installed_ms));
  for (std::size_t i = 0; i < kWasteClasses; ++i) w.field(names(Waste{})[i], gpu_hours(g.ms[i]));
  w.end_object();
  share_field(w, "goodput", g[Waste::useful], g.installed_ms - g[Waste::idle] - g[Waste::unsettled]);
  share_field(w, "useful_share", g[Waste::useful], g.installed_ms);
  w.end_object();
  return w.take();
}

MapCells map_cells(const Frame& f) {
  const State& s = f.state();
  MapCells out;
  out.seq = s.seq;
  out.letters.reserve(f.faces.gpus.size());
  for (const Face face : f.faces.gpus) out.letters += letter(face);
  out.jobs.reserve(s.nodes.size());
  out.incidents.reserve(s.nodes.size());
  for (const NodeState& n : s.nodes) {
    out.jobs.push_back(n.busy() ? render(n.first_job()) : std::string());
    out.incidents.push_back(n.incident.v);
  }
  return out;
}

std::string render_map_changes(const MapCells& before, const MapCells& now, std::uint32_t gpus_per_node) {
  JsonWriter w;
  w.object().field("seq", now.seq).field("since", before.seq).key("nodes").array();
  for (std::size_t n = 0; n < now.jobs.size(); ++n) {
    const std::string_view letters = std::string_view(now.letters).substr(n * gpus_per_node, gpus_per_node);
    const bool same = letters == std::string_view(before.letters).substr(n * gpus_per_node, gpus_per_node) &&
                      now.jobs[n] == before.jobs[n] && now.incidents[n] == before.incidents[n];
    if (!same) w.array().value(n).value(letters).value(now.jobs[n]).value(now.incidents[n]).end_array();
  }
  w.end_array().end_object();
  return w.take();
}

std::string render_map(const Frame& f, const MapCells& cells) {
  const State& s = f.state();
  JsonWriter w;
  w.object().field("gpus_per_node", s.site.gpus_per_node).key("racks").array();
  std::vector<std::vector<std::uint32_t>> racks(s.site.racks.size());
  for (std::uint32_t n = 0; n < s.site.nodes.size(); ++n) {
    if (s.site.nodes[n].rack < racks.size()) racks[s.site.nodes[n].rack].push_back(n);
  }
  for (std::size_t r = 0; r < racks.size(); ++r) {
    w.object().field("name", s.site.racks[r]);
    if (r < s.site.rack_row.size()) w.field("row", s.site.rack_row[r] + 1);  // as people count; absent where rows are unknown
    w.key("nodes").array();
    for (const std::uint32_t n : racks[r]) w.value(n);
    w.end_array().end_object();
  }
  w.end_array().key("names").array();
  for (const NodeSpec& n : s.site.nodes) w.value(n.name);
  w.end_array().field("gpu_state", cells.letters).key("node_job").array();
  for (const std::string& job : cells.jobs) w.value(job);
  w.end_array().key("node_incident").array();
  for (const std::uint64_t incident : cells.incidents) w.value(incident);
  w.end_array().key("legend").object();
  for (const Face face : {Face::busy, Face::idle, Face::suspect, Face::repairing, Face::drained, Face::down, Face::lost}) {
    w.field(std::string(1, letter(face)), name_of(face));
  }
  w.end_object().field("seq", cells.seq).end_object();
  return w.take();
}

}  // namespace muster::api
