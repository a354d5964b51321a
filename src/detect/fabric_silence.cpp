#include "detect/fabric_silence.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/fabric_fault.h"

namespace muster::detect {
namespace {

constexpr std::size_t kNetworksMax = 64;  // as many as faults can stand in
constexpr int kReadings = 5;              // that may fail or get lost
constexpr Duration kLeast = minutes(15);  // one reading of a large network that loses answers takes ten

Duration patience(Duration every) { return std::max(every * kReadings, kLeast); }

}  // namespace

void FabricSilence::take_over(const Finding& f) {
  if (f.kind != FindingKind::fabric_fault) return;
  const FaultSubject what = read_fault_subject(f.subject);
  if (what.fault == kUnwatched) networks_[std::string(what.fabric)].said = true;
}

void FabricSilence::on_heard(const FabricHeard& h, Time mono, Signs& out) {
  const auto it = networks_.find(h.name);
  if (it != networks_.end() && it->second.said) {
    out.gone.push_back({FindingKind::fabric_fault, {}, -1, {}, "the watch of the network is heard again",
                        fault_subject(h.name, kUnwatched)});
  }
  if (h.every.ns <= 0) {
    if (it != networks_.end()) networks_.erase(it);
  } else if (it != networks_.end() || networks_.size() < kNetworksMax) {
    networks_[h.name] = {h.every, mono};
  }
}

void FabricSilence::on_turn(Time utc, Time mono, Signs& out) {
  for (auto& [name, n] : networks_) {
    if (n.said || mono - n.heard < patience(n.every)) continue;
    n.said = true;
    out.see(FindingKind::fabric_fault, Severity::warning, {}, -1, Witness::silence, utc,
            fmt::format("nothing was heard for {} of the watch of the network{}{}, which reads it every {}: new faults are not "
                        "seen, and what stands is as it last told{}see that `muster fabric watch` runs, can read the network "
                        "and reaches this controller",
                        render_duration(mono - n.heard), name.empty() ? "" : " ", name, render_duration(n.every), kFixWords));
    out.seen.back().subject = fault_subject(name, kUnwatched);
    out.seen.back().code = 99;
    out.seen.back().since = utc - (mono - n.heard);
  }
}

Time FabricSilence::next() const {
  Time t = kNever;
  for (const auto& [name, n] : networks_) {
    if (!n.said) t = std::min(t, n.heard + patience(n.every));
  }
  return t;
}

}  // namespace muster::detect
