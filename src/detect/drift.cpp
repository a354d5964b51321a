#include "detect/drift.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace muster::detect {
namespace {
constexpr Duration kLookEvery = minutes(10);
constexpr Duration kSettled = minutes(20);  // a node may be in the middle of an update
constexpr Duration kRolls = hours(6);       // several nodes that changed within this: an update is on its way
constexpr double kMost = 0.8;               // of the nodes have the version that is meant
}  // namespace

std::string render_version(double v) {
  const double major = std::floor(v / 1e8);
  const double minor = std::floor((v - major * 1e8) / 1e5);
  return fmt::format("{:.0f}.{:.0f}.{:02.0f}", major, minor, v - major * 1e8 - minor * 1e5);
}

std::size_t Drift::nodes_with(bool driver, double number) const {
  const std::vector<Version>& of = driver ? drivers_ : firmware_;
  return static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [&](const Version& v) { return v.number == number; }));
}

std::optional<Time> Drift::pushed(bool driver, double number) const {
  Time first = kNever;
  bool others = false;
  for (const Version& v : driver ? drivers_ : firmware_) {
    if (v.number == number) first = std::min(first, v.since);
    others = others || (v.number != 0 && v.number != number);
  }
  // What was there when the controller began to listen may be old.
  if (!others || first == kNever || first - begun_ < kLookEvery) return std::nullopt;
  return first;
}

Drift::Drift(const Site& site) : drivers_(site.nodes.size()), firmware_(site.nodes.size()) {}

void Drift::on_sample(const Sample& m, Time mono) {
  if (m.field != Field::driver_version && m.field != Field::nic_firmware) return;
  Version& v = m.field == Field::driver_version ? drivers_[m.node.v] : firmware_[m.node.v];
  if (begun_.ns == 0) begun_ = mono;
  if (v.number == m.value) return;
  if (m.field == Field::nic_firmware && m.slot > 0 && v.number != 0 && m.value > v.number) return;
  v = {m.value, mono, v.number != 0};
  changed_ = true;
}

void Drift::judge(std::vector<Version>& of, const char* what, const State& s, Time utc, Time mono, Signs& out) {
  std::map<double, std::size_t> count;
  std::size_t all = 0, rolling = 0;
  for (const Version& v : of) {
    if (v.number == 0) continue;
    ++count[v.number];
    ++all;
    rolling += v.changed && mono - v.since < kRolls ? 1 : 0;
  }
  if (all < 3) return;
  double meant = 0;
  for (const auto& [number, n] : count) {
    if (static_cast<double>(n) >= kMost * static_cast<double>(all) || (all <= 4 && n + 1 == all)) meant = number;
  }
  if (meant == 0) return;  // nobody agrees
  if (rolling > 1) changed_ = true;
  for (std::uint32_t n = 0; n < of.size(); ++n) {
    const Version& v = of[n];
    if (v.number == 0) continue;
    if (v.number == meant) {
      out.clear(FindingKind::version_drift, NodeId{n}, -1, "it runs what its peers run");
    } else if (mono - v.since < kSettled || rolling > 1) {
      changed_ = true;  // to be looked at again: it may be in the middle of an update, or its turn may come
    } else if (!under_repair(s, NodeId{n})) {
      out.see(FindingKind::version_drift, Severity::info, NodeId{n}, -1, Witness::scrape, utc,
              fmt::format("{} {} where {} of {} nodes run {}", what, render_version(v.number), count[meant], all,
                          render_version(meant)));
    }
  }
}

void Drift::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  if (!changed_ || mono - looked_ < kLookEvery) return;
  changed_ = false;
  looked_ = mono;
  judge(drivers_, "driver", s, utc, mono, out);
  judge(firmware_, "NIC firmware", s, utc, mono, out);
}

}  // namespace muster::detect
