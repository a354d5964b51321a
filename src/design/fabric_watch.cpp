#include "design/fabric_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "design/fabric_symptoms.h"

namespace muster::design {
namespace {

using Kind = FabricFaultKind;
constexpr std::size_t kTracksMax = 65536;  // ports and counters whose growth is followed
constexpr std::size_t kFlapsMax = 65536;   // cables
constexpr std::size_t kFlapsBad = 2;       // in the window; one alone may be somebody who plugs
constexpr double kDeviations = 5;          // as for faults: chance must not fill a list of ten thousand ports
constexpr double kTimes = 2;               // faster or slower by less is no trend
constexpr std::size_t kPiecesMin = 4;      // readings before there is one

std::string rate_words(double per_s) { return per_s >= 100 ? fmt::format("{:.0f}", per_s) : fmt::format("{:.3g}", per_s); }

// Those that are errors, and may grow all the time. A link that goes down is a flap.
bool followed(std::string_view counter) {
  static constexpr std::string_view kAll[] = {"SymbolErrorCounter",           "PortRcvErrors",
                                              "LinkErrorRecoveryCounter",     "LocalLinkIntegrityErrors",
                                              "ExcessiveBufferOverrunErrors", "PortXmitDiscards"};
  return std::find(std::begin(kAll), std::end(kAll), counter) != std::end(kAll);
}

bool among(const std::vector<std::string>& ends, const std::set<std::string>& troubled) {
  return std::any_of(ends.begin(), ends.end(), [&](const std::string& e) {
    return troubled.count(e) != 0 || troubled.count(e.substr(0, e.rfind('['))) != 0;
  });
}

// Empty where the reading is whole: then all are.
std::set<std::string> ports_told(const CounterReading& r) {
  std::set<std::string> out;
  for (const PortCounters& p : r.ports) {
    if (!r.complete) out.insert(p.port.say());
  }
  return out;
}

bool of_cable(Kind k) { return k == Kind::missing_cable || k == Kind::dead_host; }

struct Rates {
  double before = 0, now = 0;  // per second
  ErrorTrend trend = ErrorTrend::steady;
};

// The newer half of what is remembered against the older one.
template <class Pieces>
Rates compare_halves(const Pieces& pieces) {
  double n[2] = {0, 0}, t[2] = {0, 0};
  const std::size_t half = pieces.size() / 2;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    n[i >= half ? 1 : 0] += pieces[i].grew;
    t[i >= half ? 1 : 0] += pieces[i].seconds;
  }
  Rates out;
  if (t[0] <= 0 || t[1] <= 0) return out;
  out.before = n[0] / t[0];
  out.now = n[1] / t[1];
  if (pieces.size() < kPiecesMin) return out;
  const double apart = out.now - out.before;
  // Of two Poisson counts; one more in each, so that none at all is not taken for certainty.
  const double variance = (n[0] + 1) / (t[0] * t[0]) + (n[1] + 1) / (t[1] * t[1]);
  if (apart * apart < kDeviations * kDeviations * variance) return out;
  if (apart > 0 && out.now >= kTimes * out.before) out.trend = ErrorTrend::rising;
  if (apart < 0 && out.before >= kTimes * out.now) out.trend = ErrorTrend::falling;
  return out;
}

}  // namespace

void advise_for_lldp(std::vector<FabricFault>& faults) {
  for (FabricFault& f : faults) {
    // Where nothing is of the design, that is what to mend.
    if (f.kind == Kind::incomplete_discovery && f.fix.find("ibnetdiscover") != std::string::npos)
      f.fix = "have lldpd run on the devices named, and take what lldpctl prints on all hosts and switches again";
  }
}

FabricWatch::Key FabricWatch::key_of(const FabricFault& f) {
  // Each reading loses other answers: that some are lost is one fault. So is a fallback, whatever it stumbles over.
  if (f.kind == Kind::incomplete_discovery || f.kind == Kind::routing_fallback) return {f.kind, {}};
  auto ends = f.ends;
  std::sort(ends.begin(), ends.end());
  return {f.kind, std::move(ends)};
}

std::vector<FabricFault> FabricWatch::faults() const {
  std::vector<FabricFault> out;
  for (const auto& [key, s] : standing_) out.push_back(s.fault);
  return out;
}

std::vector<FabricFault> FabricWatch::flapping() const {
  std::vector<FabricFault> out;
  for (const auto& [ends, times] : flaps_) {
    if (times.size() < kFlapsBad) continue;
    out.push_back({Kind::flapping_link, ends,
                   fmt::format("went down and came back {} times in {} s", times.size(), say_seconds(window_s_)), 0.9,
                   fmt::format("reseat and clean the plugs at {}; if it goes on, replace the cable", join(ends, " and "))});
  }
  return out;
}

// Against a reading of a window ago, which shows what is slow and steady, and against the one before, which shows a burst.
void FabricWatch::judge_counters(const FabricReading& r, std::vector<FabricFault>& seen) const {
  std::set<Key> known;
  const auto add = [&](FabricSymptoms said) {
    for (FabricFault& f : said.faults) {
      if (known.insert(key_of(f)).second) seen.push_back(std::move(f));
    }
  };
  if (!last_.second) return add(counter_symptoms(nullptr, *r.counters, 0, &r.found.fabric));
  for (const Counters* before : {&kept_.front(), &last_}) {
    const double seconds = r.at_s - before->first;
    if (seconds > 0) add(counter_symptoms(before->second.get(), *r.counters, seconds, &r.found.fabric));
  }
}

// Ports and devices that have a fault which takes their links with it.
std::set<std::string> FabricWatch::troubled() const {
  std::set<std::string> out;
  for (const auto& [key, s] : standing_) {
    if (key.first != Kind::error_rate && key.first != Kind::degraded_link) out.insert(s.fault.ends.begin(), s.fault.ends.end());
  }
  return out;
}

void FabricWatch::stand(std::vector<FabricFault> seen, const FabricReading& r, std::vector<FabricChange>& out) {
  for (FabricFault& f : seen) {
    const auto [it, fresh] = standing_.try_emplace(key_of(f), Standing{{}, r.at_s, r.at_s});
    it->second.last = r.at_s;
    it->second.fault = std::move(f);
    if (fresh) out.push_back({FabricChangeKind::fault, it->second.fault});
  }
  const auto told = r.counters ? ports_told(*r.counters) : std::set<std::string>();
  // One device that never answers must not keep the errors of all others standing.
  const auto counted = [&](const FabricFault& f) {
    return r.counters && (r.counters->complete || std::all_of(f.ends.begin(), f.ends.end(), [&](const std::string& e) {
                            return told.count(e) != 0;
                          }));
  };
  std::vector<Standing> gone;
  for (auto it = standing_.begin(); it != standing_.end();) {
    const bool of_counters = it->first.first == Kind::error_rate;
    // Errors pause; what did not answer is not known to be well.
    const bool over = of_counters
                          ? counted(it->second.fault) && r.at_s - it->second.last >= window_s_ / 2
                          : it->second.last < r.at_s && (compared_.complete || it->first.first == Kind::incomplete_discovery);
    if (!over) {
      ++it;
      continue;
    }
    gone.push_back(std::move(it->second));
    it = standing_.erase(it);
  }
  const auto bad = gone.empty() ? std::set<std::string>() : troubled();
  for (Standing& s : gone) {
    const double lasted = r.at_s - s.since;
    // Not where a greater fault explains it now: its cables are gone with a switch.
    const bool back = of_cable(s.fault.kind) && lasted <= window_s_ && !among(s.fault.ends, bad);
    const auto ends = s.fault.ends;
    out.push_back({FabricChangeKind::over, std::move(s.fault), lasted});
    if (back) flapped(ends, r.at_s, lasted, out);
  }
}

void FabricWatch::flapped(std::vector<std::string> ends, double at, double down_s, std::vector<FabricChange>& out) {
  auto sorted = ends;
  std::sort(sorted.begin(), sorted.end());
  if (flaps_.size() >= kFlapsMax && flaps_.count(sorted) == 0) return;
  std::deque<double>& times = flaps_[sorted];
  if (!times.empty() && times.back() == at) return;  // both ends tell of it
  times.push_back(at);
  FabricChange c{FabricChangeKind::flap, {}};
  c.times = static_cast<std::uint32_t>(times.size());
  c.lasted_s = down_s;
  const std::string how = down_s > 0 ? fmt::format("was gone for up to {} s and is back", say_seconds(down_s))
                                     : std::string("went down and came back between two readings");
  c.fault.ends = std::move(ends);
  c.fault.detail = fmt::format("{} {}; {} time{} in {} s", join(c.fault.ends, " to "), how, c.times, c.times == 1 ? "" : "s",
                               say_seconds(window_s_));
  c.fault.fix = fmt::format("reseat and clean the plugs at {}; if it goes on, replace the cable", join(c.fault.ends, " and "));
  out.push_back(std::move(c));
}

void FabricWatch::note_rates(const std::vector<CounterGrowth>& all, const FabricReading& r, double seconds) {
  std::vector<const CounterGrowth*> fresh;
  std::vector<PortEnd> ports;
  std::set<std::pair<std::string, std::string>> grew;
  for (const CounterGrowth& g : all) {
    if (!followed(g.counter)) continue;
    const auto key = std::pair(g.port.say(), g.counter);
    // At its maximum it tells nothing more.
    if (g.pegged) {
      tracks_.erase(key);
      continue;
    }
    const auto it = tracks_.find(key);
    if (it == tracks_.end()) {
      fresh.push_back(&g);
      ports.push_back(g.port);
      continue;
    }
    it->second.pieces.push_back({r.at_s, seconds, static_cast<double>(g.grew)});
    grew.insert(key);
  }
  const auto before = ports_told(*last_.second), now = ports_told(*r.counters);
  for (auto& [key, t] : tracks_) {
    // Of a port that a torn reading does not tell of it is not known whether it grew.
    const bool told =
        (last_.second->complete || before.count(key.first) > 0) && (r.counters->complete || now.count(key.first) > 0);
    if (told && grew.count(key) == 0) t.pieces.push_back({r.at_s, seconds, 0});
  }
  const auto ends = cable_ends(r.found.fabric, ports);
  for (std::size_t i = 0; i < fresh.size() && tracks_.size() < kTracksMax; ++i) {
    Track t;
    t.ends = ends[i];
    // It did not grow before, or it would be followed: as long as there were readings.
    const double quiet = last_.first - kept_.front().first;
    if (quiet > 0) {
      for (int half = 0; half < 2; ++half) t.pieces.push_back({last_.first - quiet / 2 * (1 - half), quiet / 2, 0});
    }
    t.pieces.push_back({r.at_s, seconds, static_cast<double>(fresh[i]->grew)});
    tracks_.emplace(std::pair(fresh[i]->port.say(), fresh[i]->counter), std::move(t));
  }
}

void FabricWatch::tell_trend(const std::string& counter, Track& t, std::vector<FabricChange>& out) const {
  const Rates rates = compare_halves(t.pieces);
  if (rates.trend == t.said) return;
  t.said = rates.trend;
  FabricChange c{FabricChangeKind::rate, {}};
  c.counter = counter;
  c.per_s = rates.now;
  c.per_s_before = rates.before;
  c.trend = rates.trend;
  c.fault.ends = t.ends;
  c.fault.detail = fmt::format("{} of {} grows by {} a second, {} before: {}", counter, t.ends.front(), rate_words(rates.now),
                               rate_words(rates.before), names(ErrorTrend{})[static_cast<std::size_t>(rates.trend)]);
  if (rates.trend == ErrorTrend::rising)
    c.fault.fix = fmt::format("plan to clean or replace the cable between {}", join(t.ends, " and "));
  out.push_back(std::move(c));
}

void FabricWatch::grow(const FabricReading& r, std::vector<FabricChange>& out) {
  const double seconds = r.at_s - last_.first;
  if (!last_.second || seconds <= 0) return;
  const std::vector<CounterGrowth> all = counter_growth(*last_.second, *r.counters, seconds);
  std::vector<PortEnd> downed;
  for (const CounterGrowth& g : all) {
    if (g.counter == "LinkDownedCounter" && g.grew > 0) downed.push_back(g.port);
  }
  const auto bad = downed.empty() ? std::set<std::string>() : troubled();
  for (auto& ends : cable_ends(r.found.fabric, downed)) {
    if (ends.size() == 2 && !among(ends, bad)) flapped(std::move(ends), r.at_s, 0, out);
  }
  note_rates(all, r, seconds);
  for (auto it = tracks_.begin(); it != tracks_.end();) {
    Track& t = it->second;
    tell_trend(it->first.second, t, out);
    while (!t.pieces.empty() && r.at_s - t.pieces.front().at > window_s_) t.pieces.pop_front();
    const bool quiet = std::all_of(t.pieces.begin(), t.pieces.end(), [](const Piece& p) { return p.grew == 0; });
    it = quiet && t.said == ErrorTrend::steady ? tracks_.erase(it) : std::next(it);
  }
}

std::vector<FabricChange> FabricWatch::take(FabricReading r) {
  std::vector<FabricChange> out;
  if (!began_) began_ = r.at_s;
  flaps_judged_ = r.at_s - *began_ >= window_s_;
  // Slow errors show over half a window: a watch that starts anew has not seen them yet, and they are not over.
  rates_judged_ = r.counters && r.counters->complete && !kept_.empty() && r.at_s - kept_.front().first >= window_s_ / 2;
  for (auto it = flaps_.begin(); it != flaps_.end();) {
    while (!it->second.empty() && r.at_s - it->second.front() > window_s_) it->second.pop_front();
    it = it->second.empty() ? flaps_.erase(it) : std::next(it);
  }
  compared_ = compare_fabrics(design_, r.found, r.ports);
  if (r.ethernet) advise_for_lldp(compared_.faults);
  std::vector<FabricFault> seen = compared_.faults;
  if (!r.ports.empty()) {
    std::set<Key> known;
    for (const FabricFault& f : seen) known.insert(key_of(f));
    auto said = link_symptoms(r.ports, &design_, compared_.faults);
    for (FabricFault& f : said.faults) {
      // Which cables are gone was settled with the rest of the fabric in sight.
      if (f.kind != Kind::missing_cable && known.insert(key_of(f)).second) seen.push_back(std::move(f));
    }
  }
  if (r.counters) judge_counters(r, seen);
  stand(std::move(seen), r, out);
  if (!r.counters) return out;
  grow(r, out);
  last_ = {r.at_s, std::make_shared<const CounterReading>(std::move(*r.counters))};
  if (kept_.empty() || r.at_s - kept_.back().first >= window_s_ / 4) kept_.push_back(last_);
  while (kept_.size() > 1 && r.at_s - kept_.front().first > window_s_) kept_.pop_front();
  return out;
}

}  // namespace muster::design
