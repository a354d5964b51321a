#include <fmt/format.h>

#include "base/json_writer.h"
#include "trial/fleet_trial.h"

namespace muster::trial {
namespace {

void write(JsonWriter& w, std::string_view key, const std::vector<CauseTried>& rows) {
  w.key(key).array();
  for (const CauseTried& r : rows) {
    w.object().field("name", r.name).field("nodes", r.nodes).field("facts", r.facts).field("causes", r.causes);
    w.field("effect", r.effect).field("noise", r.noise).field("racks", r.racks).field("fleets", r.fleets);
    w.field("right", r.right).field("named", r.named).field("wrong", r.wrong).field("candidate", r.candidate);
    for (std::size_t k = 0; k < r.baseline.size(); ++k) w.field(names(Baseline{})[k], r.baseline[k]);
    w.end_object();
  }
  w.end_array();
}

void write(JsonWriter& w, std::string_view key, const std::vector<DriftTried>& rows) {
  w.key(key).array();
  for (const DriftTried& r : rows) {
    w.object().field("nodes", r.nodes).field("facts", r.facts).field("seeded", r.seeded).field("found", r.found);
    w.field("alarms", r.alarms).end_object();
  }
  w.end_array();
}

std::string causes_text(const FleetTrial& t) {
  if (t.causes.empty()) return {};
  std::string out =
      fmt::format("Share of fleets in which the first guess is right, in percent ({} of the first kind, {} of each other)\n",
                  t.causes.front().fleets, t.causes.back().fleets);
  out += fmt::format("  {:<38}{:>8}{:>8}{:>8}{:>12}{:>9}{:>16}\n", "", "muster", "named", "wrong", "diff-count", "rarity",
                     "slow-flag lift");
  for (const CauseTried& r : t.causes) {
    out += fmt::format("  {:<38}{:>8.1f}{:>8.1f}{:>8.1f}{:>12.1f}{:>9.1f}{:>16.1f}\n", r.name, 100 * r.share(r.right),
                       100 * r.share(r.named), 100 * r.share(r.wrong), 100 * r.share(r.baseline[0]), 100 * r.share(r.baseline[1]),
                       100 * r.share(r.baseline[2]));
  }
  return out +
         "  first guess: the first cause that is named (named), or with none the first candidate; wrong: something else is named "
         "first\n";
}

std::string innocent_text(const FleetTrial& t) {
  std::string out;
  for (const CauseTried& r : t.innocent) {
    out += fmt::format("\nFleets without any cause in which something is blamed, in percent (of {})\n", r.fleets);
    out += fmt::format("  muster {:.2f} ({} of {}); a candidate is listed in {:.1f}\n", 100 * r.share(r.wrong), r.wrong, r.fleets,
                       100 * r.share(r.candidate));
    out += fmt::format("  diff-count {:.1f}, rarity {:.1f}, slow-flag lift {:.1f}\n", 100 * r.share(r.baseline[0]),
                       100 * r.share(r.baseline[1]), 100 * r.share(r.baseline[2]));
  }
  return out;
}

std::string racks_text(const FleetTrial& t) {
  if (t.racks.empty()) return {};
  std::string out = fmt::format("\nSlow racks, innocent batches: fleets in which a setting is blamed, in percent (of {} each)\n",
                                t.racks[0].fleets);
  for (const CauseTried& r : t.racks) {
    out +=
        fmt::format("  {}: muster {:.2f} ({}), listed as a candidate in {:.1f}; diff-count {:.1f}, rarity {:.1f}, lift {:.1f}\n",
                    r.name, 100 * r.share(r.wrong), r.wrong, 100 * r.share(r.candidate), 100 * r.share(r.baseline[0]),
                    100 * r.share(r.baseline[1]), 100 * r.share(r.baseline[2]));
  }
  return out;
}

}  // namespace

std::string render_fleet_trial(const FleetTrial& t) {
  std::string out = fmt::format("Simulated fleets, seed {}\n\n", t.seed) + causes_text(t) + innocent_text(t) + racks_text(t);
  for (const DriftTried& r : t.clean)
    out += fmt::format("\nClean fleet of {} nodes with {} facts: {} alarms\n", r.nodes, r.facts, r.alarms);
  for (const DriftTried& r : t.drift) {
    out += fmt::format("\nDrift: {} of {} seeded values found ({:.2f} %), {} alarms beside them\n", r.found, r.seeded,
                       100 * r.share(), r.alarms);
  }
  for (const SpeedTried& r : t.speed) {
    out += fmt::format("\n{} nodes, {} facts: causes among {} differences by {} shuffles {:.2f} CPU-s, drift {:.2f} CPU-s\n",
                       r.nodes, r.facts, r.values, r.permutations, r.explain_cpu_s, r.drift_cpu_s);
  }
  out += "\n";
  for (const Bound& b : t.bounds)
    out += fmt::format("{} {}{}\n",
                       !b.kept    ? "NOT KEPT:"
                       : b.enough ? "kept:    "
                                  : "too few: ",
                       b.what, b.sample.empty() ? "" : fmt::format(" ({})", b.sample));
  return out;
}

std::string fleet_trial_json(const FleetTrial& t) {
  JsonWriter w;
  w.object().field("seed", t.seed);
  write(w, "causes", t.causes);
  write(w, "innocent", t.innocent);
  write(w, "racks", t.racks);
  write(w, "clean", t.clean);
  write(w, "drift", t.drift);
  w.key("speed").array();
  for (const SpeedTried& r : t.speed) {
    w.object()
        .field("nodes", r.nodes)
        .field("facts", r.facts)
        .field("differences", r.values)
        .field("permutations", r.permutations);
    w.field("explain_cpu_s", r.explain_cpu_s).field("drift_cpu_s", r.drift_cpu_s).end_object();
  }
  w.end_array().key("bounds").array();
  for (const Bound& b : t.bounds)
    w.object().field("bound", b.what).field("kept", b.kept).field("enough", b.enough).field("sample", b.sample).end_object();
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::trial
