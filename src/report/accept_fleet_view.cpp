// A fleet's acceptance for a terminal and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/accept_fleet_page.h"
#include "report/accept_parts.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Verdict;

constexpr std::size_t kNodesShown = 200;  // in a terminal
constexpr std::size_t kWordsBytes = 160;  // of a trouble there

double rounded(double v, double steps) { return std::round(v * steps) / steps; }

void nodes_json(JsonWriter& w, const AcceptedFleet& f) {
  w.key("nodes").array();
  for (std::size_t i = 0; i < f.recordings.size(); ++i) {
    const Acceptance& a = f.recordings[i];
    const accept::Judgement& j = f.fleet.judgements[i];
    w.object().field("node", a.host.name).field("verdict", name_of(j.verdict)).field("sentence", accept_sentence({a, j}));
    a.host.begun.ns == 0 ? w.key("begun_utc").null() : w.field("begun_utc", render_utc(a.host.begun));
    w.field("took_s", length_s(a)).field("recording", a.file).field("suite", a.suite.version).field("suite_hash", a.suite.hash);
    w.field("provisional", j.provisional).key("troubles").array();
    for (const accept::Trouble* t : j.troubles()) trouble_json(w, *t);
    w.end_array().end_object();
  }
  w.end_array();
}

// Of each GPU two lists as long as the kind's "metrics": a fleet has too many GPUs for names beside each number.
void kind_gpus_json(JsonWriter& w, const AcceptedFleet& f, const accept::FleetKind& kind) {
  std::map<std::string_view, std::size_t> column;
  for (std::size_t i = 0; i < kind.metrics.size(); ++i) column[kind.metrics[i].metric] = i;
  std::vector<const accept::Standing*> at(kind.metrics.size());
  w.key("gpus").array();
  for (const accept::FleetGpu& g : kind.gpus) {
    std::fill(at.begin(), at.end(), nullptr);
    for (const accept::Standing& s : g.standings) {
      if (const auto it = column.find(s.metric); it != column.end()) at[it->second] = &s;
    }
    const accepting::Gpu* known = gpu_of(f.recordings[g.node], g.gpu);
    w.object().field("node", static_cast<std::uint64_t>(g.node)).field("gpu", g.gpu).field("uuid", g.uuid);
    w.field("serial", known == nullptr ? std::string() : known->serial)
        .field("verdict", name_of(g.verdict))
        .key("values")
        .array();
    for (const auto* s : at) s == nullptr ? w.null() : w.value(s->value);
    w.end_array().key("percentiles").array();
    for (const auto* s : at) s == nullptr ? w.null() : w.value(rounded(s->percentile, 100));
    w.end_array().end_object();
  }
  w.end_array();
}

void kind_json(JsonWriter& w, const AcceptedFleet& f, const accept::FleetKind& kind) {
  const accept::Cohort& c = kind.cohort;
  w.object().field("kind", accept::render(c)).field("model", c.model).field("power", c.power).field("driver", c.driver);
  w.field("cublas", c.cublas).field("cooling", c.cooling).field("suite", c.suite).key("metrics").array();
  for (const accept::FleetMetric& m : kind.metrics) {
    const accept::Metric* known = accept::find_metric(m.metric);
    w.object().field("metric", m.metric).field("count", static_cast<std::uint64_t>(m.of.count)).field("median", m.of.median);
    w.field("sigma", m.of.sigma).field("least", m.least).field("most", m.most);
    if (known != nullptr) {
      w.field("title", known->title)
          .field("unit", known->unit)
          .field("better", known->better == accept::Better::higher ? "higher" : "lower");
      if (const auto limit = fleet_limit(f, c, *known))
        w.field("limit", limit->value).field("basis", name_of(limit->basis)).field("provisional", limit->provisional);
    }
    w.end_object();
  }
  w.end_array();
  kind_gpus_json(w, f, kind);
  w.end_object();
}

}  // namespace

std::vector<std::size_t> nodes_not_pass(const accept::Fleet& f) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < f.judgements.size(); ++i) {
    if (f.judgements[i].verdict != Verdict::pass) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(),
                   [&f](std::size_t a, std::size_t b) { return f.judgements[a].verdict > f.judgements[b].verdict; });
  return out;
}

std::size_t gpus_of(const accept::Fleet& f) {
  return std::accumulate(f.kinds.begin(), f.kinds.end(), std::size_t{0},
                         [](std::size_t n, const auto& k) { return n + k.gpus.size(); });
}

std::optional<accept::Limit> fleet_limit(const AcceptedFleet& f, const accept::Cohort& kind, const accept::Metric& m) {
  if (f.limits == nullptr || m.judged != accept::Judged::limited) return std::nullopt;
  const std::span<const accept::Limit> all = f.limits->gpu(kind, "").of_kind(m);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::string accept_fleet_sentence(const AcceptedFleet& f) {
  std::string out;
  for (const auto& [v, n] : {std::pair(Verdict::fail, f.fleet.fail), std::pair(Verdict::could_not_run, f.fleet.could_not_run),
                             std::pair(Verdict::degraded, f.fleet.degraded), std::pair(Verdict::pass, f.fleet.pass)}) {
    if (n > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(v), render_count(static_cast<std::int64_t>(n)));
  }
  if (out.empty() && f.left_out.empty()) return "no recording was given";
  const auto of_speed = [&f](auto is) { return std::count_if(f.fleet.judgements.begin(), f.fleet.judgements.end(), is); };
  const auto unjudged = of_speed([](const accept::Judgement& j) { return !j.unjudged.empty(); });
  const auto provisional = of_speed([](const accept::Judgement& j) { return j.provisional && j.unjudged.empty(); });
  return fmt::format(
      "{} of {} ({}){}{}{}", out, counted(std::ssize(f.recordings), "node"),
      counted(static_cast<std::int64_t>(gpus_of(f.fleet)), "GPU"),
      f.left_out.empty() ? "" : fmt::format("; {} could not be read", counted(std::ssize(f.left_out), "recording")),
      unjudged == 0 ? "" : fmt::format("; speed was not judged of {}", counted(unjudged, "node")),
      provisional == 0 ? "" : fmt::format("; limits are provisional for {}", counted(provisional, "node")));
}

std::string render_accept_fleet(const AcceptedFleet& f, bool colour) {
  const std::vector<std::size_t> bad = nodes_not_pass(f.fleet);
  Table t;
  t.columns = {{"NODE"}, {"VERDICT"}, {"GPU"}, {"PART"}, {"WHAT"}, {"NEXT STEP"}};
  for (std::size_t i = 0; i < std::min(kNodesShown, bad.size()); ++i) {
    const Acceptance& a = f.recordings[bad[i]];
    const accept::Judgement& j = f.fleet.judgements[bad[i]];
    const std::vector<TroubleGroup> troubles = grouped(j);
    const accept::Trouble none;
    const accept::Trouble& first = troubles.empty() ? none : troubles.front().trouble;
    const std::string more = troubles.size() > 1 ? fmt::format("; {} more", troubles.size() - 1) : "";
    t.rows.push_back({Cell(std::string(clipped(node_name(a), kWordsBytes))),
                      Cell(std::string(name_of(j.verdict)), j.verdict == Verdict::fail ? Tone::bad : Tone::warn),
                      Cell(troubles.empty() ? "-" : group_title(a, troubles.front())), Cell(std::string(name_of(first.part))),
                      Cell(std::string(clipped(first.what, kWordsBytes)) + more),
                      Cell(std::string(clipped(first.next, kWordsBytes)))});
  }
  std::string out = accept_fleet_sentence(f) + "\n";
  if (!t.rows.empty()) out += "\n" + render_table(t, {true, false, colour});
  if (bad.size() > kNodesShown) out += fmt::format("{} more nodes are not PASS (-o json)\n", bad.size() - kNodesShown);
  return out;
}

std::string accept_fleet_json(const AcceptedFleet& f) {
  JsonWriter w;
  w.object().field("name", f.name).field("sentence", accept_fleet_sentence(f)).key("counts").object();
  w.field("nodes", static_cast<std::uint64_t>(f.recordings.size())).field("gpus", static_cast<std::uint64_t>(gpus_of(f.fleet)));
  w.field("pass", static_cast<std::uint64_t>(f.fleet.pass)).field("degraded", static_cast<std::uint64_t>(f.fleet.degraded));
  w.field("could_not_run", static_cast<std::uint64_t>(f.fleet.could_not_run))
      .field("fail", static_cast<std::uint64_t>(f.fleet.fail));
  w.field("older_recordings", static_cast<std::uint64_t>(f.older)).end_object();
  w.key("left_out").array();
  for (const std::string& why : f.left_out) w.value(why);
  w.end_array();
  nodes_json(w, f);
  w.key("kinds").array();
  for (const accept::FleetKind& k : f.fleet.kinds) kind_json(w, f, k);
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
