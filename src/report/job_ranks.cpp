#include "report/job_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/node_list.h"
#include "base/series.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

// The 64 steps from low to high that the map's values are written in.
constexpr std::string_view kSteps = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~";
static_assert(kSteps.size() == 64);
constexpr std::size_t kLeavesTold = 200;

// Spreads below these are the sensors' grain: a step of the clock, a degree; of shares, such a part of the median.
constexpr double kClockGrain_mhz = 15, kTempGrain_c = 1, kPowerGrain_w = 5, kUtilGrain_pct = 1;
constexpr double kTensorGrain = 0.02, kCollectiveGrain = 0.033;

Usual usual_of(const std::vector<RankRow>& ranks, float RankReading::*what, double grain, double relative = 0) {
  std::vector<double> known;
  for (const RankRow& r : ranks) {
    if (const float v = r.read.*what; v >= 0 && std::isfinite(v)) known.push_back(static_cast<double>(v));
  }
  Usual out;
  out.known = known.size();
  if (known.empty()) return out;
  out.median = median_of(known);
  for (double& v : known) v = std::abs(v - out.median);
  out.spread = std::max({median_of(std::move(known)), grain, relative * out.median});
  return out;
}

// How far a reading lies on the bad side of the gang's median.
struct Judge {
  const Usual& usual;
  float RankReading::*what;
  double side;  // 1: high is bad, -1: low is
  std::string_view words;

  void look(RankRow& r) const {
    const float v = r.read.*what;
    if (v < 0 || !std::isfinite(v) || usual.known < kRankPeersMin || usual.spread <= 0) return;
    const double off = std::max(0.0, side * (static_cast<double>(v) - usual.median) / usual.spread);
    if (off <= r.behind) return;
    r.behind = off;
    r.why = off < 1 ? std::string() : fmt::format(fmt::runtime(words), static_cast<double>(v), usual.median);
  }
};

// A job that waits still knows the nodes of its last attempt, but they are others' now.
bool has_nodes(const Job& j) { return j.phase != JobPhase::queued && !ended(j.phase); }

std::vector<RankRow> ranks_of(const State& s, const Job& j, std::span<const RankReading> readings) {
  std::vector<RankRow> out;
  if (!has_nodes(j)) return out;
  const std::size_t width = s.site.gpus_per_node;
  for (std::size_t i = 0; i < j.nodes.size(); ++i) {
    if (j.nodes[i].v >= s.site.nodes.size()) continue;
    const std::uint16_t slots = i < j.slots.size() ? j.slots[i] : all_slots(s.site);
    for (std::uint32_t slot = 0; slot < width; ++slot) {
      if ((slots >> slot & 1) == 0) continue;
      RankRow r;
      r.rank = static_cast<std::uint32_t>(out.size());
      r.node = j.nodes[i];
      r.slot = slot;
      const std::size_t gpu = j.nodes[i].v * width + slot;
      if (gpu < readings.size()) r.read = readings[gpu];
      out.push_back(r);
    }
  }
  return out;
}

bool any(const RankReading& r) {
  return r.sm_clock_mhz >= 0 || r.temp_c >= 0 || r.power_w >= 0 || r.util_pct >= 0 || r.tensor_active >= 0 ||
         r.collective_us >= 0;
}

}  // namespace

RankTable study_ranks(const State& s, const Job& j, std::span<const RankReading> readings) {
  RankTable out;
  out.ranks = ranks_of(s, j, readings);
  out.clock = usual_of(out.ranks, &RankReading::sm_clock_mhz, kClockGrain_mhz);
  out.temp = usual_of(out.ranks, &RankReading::temp_c, kTempGrain_c);
  out.power = usual_of(out.ranks, &RankReading::power_w, kPowerGrain_w);
  out.util = usual_of(out.ranks, &RankReading::util_pct, kUtilGrain_pct);
  out.tensor = usual_of(out.ranks, &RankReading::tensor_active, 0, kTensorGrain);
  out.collective = usual_of(out.ranks, &RankReading::collective_us, 0, kCollectiveGrain);
  const Judge judges[] = {
      {out.clock, &RankReading::sm_clock_mhz, -1, "clock {:.0f} MHz where the gang's is {:.0f}"},
      {out.temp, &RankReading::temp_c, 1, "{:.0f} °C where the gang has {:.0f}"},
      {out.tensor, &RankReading::tensor_active, 1,
       "tensor cores busy {:.2f} where the gang's are {:.2f}: the others wait for it"},
      {out.collective, &RankReading::collective_us, -1,
       "in collectives for {:.4g} us where the gang is for {:.4g}: it comes to them last"},
  };
  for (RankRow& r : out.ranks) {
    for (const Judge& judge : judges) judge.look(r);
    if (r.read.power_w >= 0) out.power_w += static_cast<double>(r.read.power_w);
    out.read += any(r.read) ? 1 : 0;
  }
  return out;
}

namespace {

void write_usual(JsonWriter& w, const RankTable& t) {
  w.key("usual").object();
  const auto one = [&](std::string_view name, const Usual& u) {
    if (u.known == 0) return;
    w.key(name).object().field("median", u.median).field("spread", u.spread).field("known", u.known).end_object();
  };
  one("sm_clock_mhz", t.clock);
  one("temp_c", t.temp);
  one("power_w", t.power);
  one("util_pct", t.util);
  one("tensor_active", t.tensor);
  one("collective_us", t.collective);
  w.end_object();
}

void write_rows(JsonWriter& w, const State& s, const RankTable& t) {
  std::vector<const RankRow*> order;
  for (const RankRow& r : t.ranks) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->behind > b->behind; });
  order.resize(std::min(order.size(), kRankRows));
  const auto reading = [&](std::string_view name, float v, double places) {
    w.key(name);
    v < 0 ? w.null() : w.value(std::round(static_cast<double>(v) * places) / places);
  };
  w.key("rows").array();
  for (const RankRow* r : order) {
    w.object().field("rank", r->rank).field("node", s.site.nodes[r->node.v].name).field("gpu_slot", r->slot).key("behind");
    r->behind < 0 ? w.null() : w.value(std::round(r->behind * 100) / 100);
    w.field("stands_out", r->behind >= kBehindMost).field("why", r->why);
    reading("sm_clock_mhz", r->read.sm_clock_mhz, 1);
    reading("temp_c", r->read.temp_c, 10);
    reading("power_w", r->read.power_w, 1);
    reading("util_pct", r->read.util_pct, 10);
    reading("tensor_active", r->read.tensor_active, 1000);
    reading("collective_us", r->read.collective_us, 10);
    w.end_object();
  }
  w.end_array();
}

std::string letters_of(const RankTable& t) {
  std::string out;
  out.reserve(t.ranks.size());
  for (const RankRow& r : t.ranks) {
    const double share = std::clamp(r.behind / kBehindMost, 0.0, 1.0);
    out += r.behind < 0 ? '-' : kSteps[static_cast<std::size_t>(std::lround(share * 63))];
  }
  return out;
}

std::string_view s_of(std::size_t n) { return n == 1 ? "" : "s"; }

struct Spread {
  std::map<std::uint32_t, std::vector<std::string>> by_leaf;
  std::map<std::uint32_t, std::uint32_t> pod_of_leaf;
  std::set<std::uint32_t> pods, domains, racks;
};

Spread spread_of(const Site& site, const Job& j) {
  Spread out;
  if (!has_nodes(j)) return out;
  for (const NodeId n : j.nodes) {
    if (n.v >= site.nodes.size()) continue;
    const NodeSpec& spec = site.nodes[n.v];
    out.by_leaf[spec.leaf].push_back(spec.name);
    out.pod_of_leaf[spec.leaf] = spec.pod;
    out.pods.insert(spec.pod);
    out.domains.insert(spec.domain);
    out.racks.insert(spec.rack);
  }
  return out;
}

std::vector<std::string> certificate(const Job& j, const Spread& at) {
  std::vector<std::string> out;
  if (j.nodes.empty() || !has_nodes(j)) return out;
  out.push_back(fmt::format("Its {} node{} lie on {} leaf switch{} in {} pod{}, {} NVLink domain{} and {} rack{}.",
                            j.nodes.size(), s_of(j.nodes.size()), at.by_leaf.size(), at.by_leaf.size() == 1 ? "" : "es",
                            at.pods.size(), s_of(at.pods.size()), at.domains.size(), s_of(at.domains.size()), at.racks.size(),
                            s_of(at.racks.size())));
  const Placement& p = j.placement;
  if (p.leaves == 0) {
    out.push_back("Its engine placed it: there is no certificate of how few there could have been.");
    return out;
  }
  out.push_back(fmt::format("When it was placed, {} leaf switch{} was the proven least; on an empty cluster it would be {}.",
                            p.leaves_min, p.leaves_min == 1 ? "" : "es", p.leaves_empty));
  for (std::size_t level = 0; level < p.best_below.size() && level < names(Level{}).size(); ++level) {
    out.push_back(fmt::format("No {} could have taken more than {} of its {} piece{}.", names(Level{})[level],
                              p.best_below[level], j.nodes.size(), s_of(j.nodes.size())));
  }
  if (!p.apart.empty())
    out.push_back(fmt::format("It was kept off {} free node{} that reservations need.", p.apart.size(), s_of(p.apart.size())));
  out.push_back(p.leaves == at.by_leaf.size()
                    ? "Counted again on its nodes: as the certificate says."
                    : fmt::format("The certificate says {} leaf switches: its nodes are others now.", p.leaves));
  return out;
}

void write_placement(JsonWriter& w, const State& s, const Job& j) {
  const Spread at = spread_of(s.site, j);
  const Placement& p = j.placement;
  w.key("placement").object().field("nodes", j.nodes.size()).field("leaves", at.by_leaf.size()).field("pods", at.pods.size());
  w.field("domains", at.domains.size()).field("racks", at.racks.size()).field("certified", p.leaves > 0);
  w.field("leaves_min", p.leaves_min).field("leaves_empty", p.leaves_empty).field("level", name_of(p.level)).field("why", p.why);
  w.key("by_leaf").array();
  std::size_t told = 0;
  for (const auto& [leaf, nodes] : at.by_leaf) {
    if (told++ == kLeavesTold) break;
    w.object().field("leaf", leaf).field("pod", at.pod_of_leaf.at(leaf)).field("count", nodes.size());
    w.field("nodes", compress_node_list(nodes)).end_object();
  }
  w.end_array().key("words").array();
  for (const std::string& line : certificate(j, at)) w.value(line);
  w.end_array().end_object();
}

}  // namespace

std::string job_ranks_json(const State& s, const Job& j, std::span<const RankReading> readings) {
  const RankTable t = study_ranks(s, j, readings);
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "JobRanks").field("job", render(j.id)).field("attempt", j.attempt);
  w.field("ranks", t.ranks.size()).field("read", t.read).field("high", kBehindMost).field("letters", letters_of(t));
  write_usual(w, t);
  w.key("nodes").array();
  for (std::size_t i = 0; i < t.ranks.size();) {
    std::size_t end = i;
    while (end < t.ranks.size() && t.ranks[end].node == t.ranks[i].node) ++end;
    w.array().value(s.site.nodes[t.ranks[i].node.v].name).value(end - i).end_array();
    i = end;
  }
  w.end_array();
  write_rows(w, s, t);
  w.field("power_w", std::round(t.power_w)).field("power_known", t.power.known);
  w.field(
      "judged",
      "Lower clock, higher temperature, busier tensor cores and shorter time in collectives than the gang's median, the worst "
      "of them in median absolute deviations. Ranks are counted as launchers deal them out: node by node, GPU by GPU.");
  w.field(
      "unjudged",
      "Power and use are shown and not judged: in a gang that steps together all but the slow one wait. A rank's own step time "
      "is not measured by anybody: profiles of single ranks tell it.");
  write_placement(w, s, j);
  w.end_object();
  return w.take();
}

std::string say_job_ranks(const Value& ranks) {
  std::string out;
  for (const Value& r : list_of(ranks, "rows")) {
    if (text_of(r, "stands_out") != "true") continue;
    out += fmt::format("{}rank {} ({} GPU {}): {}", out.empty() ? "" : "\n", text_of(r, "rank"), printable(text_of(r, "node")),
                       text_of(r, "gpu_slot"), printable(text_of(r, "why")));
  }
  return out;
}

}  // namespace muster::report
