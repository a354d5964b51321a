#include "report/fabric_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"
#include "report/table.h"

namespace muster::report {
namespace {

constexpr std::size_t kEndsShown = 8;
constexpr std::size_t kWidth = 120;

std::string_view device_of(std::string_view end) { return end.substr(0, end.rfind('[')); }

// Where a person has to go: the device that most of a fault's ports are of, of several the first.
std::string place(const FabricFault& f) {
  std::map<std::string_view, std::size_t> ports;
  for (const std::string& end : f.ends) ++ports[device_of(end)];
  std::string_view best;
  std::size_t most = 0;
  for (const std::string& end : f.ends) {
    const std::size_t count = ports.at(device_of(end));
    if (count > most) most = count, best = device_of(end);
  }
  return best.empty() ? "the whole fabric" : std::string(best);
}

Tone tone(const FabricFault& f) { return f.confidence >= 0.8 ? Tone::bad : Tone::warn; }

void traffic_json(JsonWriter& w, const FabricVerdict& v) {
  const auto figures = [&](std::string_view key, const std::optional<predict::TrafficFigures>& t) {
    if (!t) return;
    w.key(key).object().field("patterns", t->patterns).field("share_mean", t->mean).field("share_worst", t->worst);
    w.field("flows_on_fullest_link", t->max_load).end_object();
  };
  w.key("bandwidth").object();
  figures("shifts", v.shifts);
  figures("bisections", v.pairs);
  w.key("jobs").array();
  for (const predict::JobTraffic& j : v.jobs) {
    w.object().field("name", j.name).field("nodes", j.nodes).field("cards", j.cards).field("ring", j.ring);
    w.field("all_to_all", j.all_to_all).field("ring_together", j.ring_together).end_object();
  }
  w.end_array().end_object();
}

void routes_json(JsonWriter& w, const predict::RouteCheck& r) {
  w.key("routes").object().field("pairs", r.pairs).field("unreachable", r.unreachable).field("looping", r.looping);
  w.field("not_judged", r.not_judged);
  w.field("links_in_credit_loops", r.links_in_credit_loops);
  w.key("layers").array();
  for (const auto& l : r.layers) {
    w.object().field("from_level", l.from_level).field("to_level", l.to_level).field("links", l.links);
    w.field("pairs_mean", l.mean).field("pairs_most", l.most).end_object();
  }
  w.end_array().end_object();
}

}  // namespace

std::string fault_ends(const FabricFault& f) {
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(f.ends.size(), kEndsShown); ++i) some.push_back(printable(f.ends[i]));
  std::string out = join(some, "  ");
  if (f.ends.size() > some.size()) out += fmt::format("  and {} more", f.ends.size() - some.size());
  return out;
}

std::string fabric_summary(const FabricVerdict& v) {
  const auto& c = v.compared;
  const std::string against = v.inferred ? "as the rest suggests" : "as designed";
  std::string out = c.faults.empty() ? "no fault" : fmt::format("{} fault{}", c.faults.size(), c.faults.size() == 1 ? "" : "s");
  out += fmt::format(": {} of {} cables are {}, {} of {} devices answer", c.cables_as_wanted, c.cables_wanted, against,
                     std::min(c.devices_found, c.devices_wanted), c.devices_wanted);
  if (v.shifts) out += fmt::format("; shifts get {:.1f} % of the line rate", 100 * v.shifts->mean);
  if (!c.complete) out += "; the discovery is INCOMPLETE";
  return out;
}

std::string render_fabric_verdict(const FabricVerdict& v, bool colour) {
  std::vector<std::pair<std::string, const FabricFault*>> by_place;
  for (const FabricFault& f : v.compared.faults) by_place.emplace_back(place(f), &f);
  std::stable_sort(by_place.begin(), by_place.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  std::string_view last;
  for (const auto& [where, f] : by_place) {
    if (where != last) out += printable(where) + "\n";
    last = where;
    out += fmt::format("  {}  {:.0f} %  {}\n", paint(name_of(f->kind), tone(*f), colour), 100 * f->confidence, fault_ends(*f));
    out += "    " + wrap(printable(f->detail), kWidth, 4) + "\n";
    if (!f->fix.empty()) out += "    do: " + wrap(printable(f->fix), kWidth, 8) + "\n";
  }
  for (const auto* notes : {&v.compared.notes, &v.notes}) {
    for (const std::string& note : *notes) out += "note: " + wrap(printable(note), kWidth, 6) + "\n";
  }
  for (const predict::JobTraffic& j : v.jobs) {
    out += fmt::format("job {}: {} nodes, {} cards; ring {:.1f} %, beside the other jobs {:.1f} %, all to all {:.1f} %\n",
                       printable(j.name), j.nodes, j.cards, 100 * j.ring, 100 * j.ring_together, 100 * j.all_to_all);
  }
  return out + fabric_summary(v) + "\n";
}

std::string fabric_verdict_json(const FabricVerdict& v) {
  const auto& c = v.compared;
  JsonWriter w;
  w.object().field("complete", c.complete).field("inferred", v.inferred);
  w.key("faults").array();
  for (const FabricFault& f : c.faults) {
    w.object().field("kind", name_of(f.kind));
    w.key("ends").array();
    for (const std::string& e : f.ends) w.value(e);
    w.end_array().field("detail", f.detail).field("confidence", f.confidence).field("fix", f.fix).end_object();
  }
  w.end_array();
  w.key("counts").object().field("devices_wanted", c.devices_wanted).field("devices_found", c.devices_found);
  w.field("cables_wanted", c.cables_wanted).field("cables_found", c.cables_found).field("cables_as_wanted", c.cables_as_wanted);
  w.field("known_by_name", c.known_by_name).field("known_by_place", c.known_by_place).end_object();
  if (v.routes) routes_json(w, *v.routes);
  if (v.shifts || v.pairs || !v.jobs.empty()) traffic_json(w, v);
  w.key("notes").array();
  for (const std::string& n : c.notes) w.value(n);
  for (const std::string& n : v.notes) w.value(n);
  w.end_array().field("summary", fabric_summary(v)).end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
