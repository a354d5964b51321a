#include "design/fabric_symptoms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "design/fabric_compare.h"

namespace muster::design {
namespace {

// Devices of a fabric by what readings call them.
class Known {
 public:
  explicit Known(const Fabric* fabric) : fabric_(fabric) {
    if (fabric == nullptr) return;
    for (std::uint32_t n = 0; n < fabric->nodes.size(); ++n) {
      const FabricNode& node = fabric->nodes[n];
      by_guid_.try_emplace(node.guid, n);
      // The node's GUID is what tools print of an adapter, and a fabric has its port's: the name and the port find it.
      if (!node.is_switch) by_name_.try_emplace({node.name, node.card_port}, n);
    }
  }

  std::string device(std::uint64_t guid) const {
    const auto it = by_guid_.find(guid);
    return it == by_guid_.end() ? fmt::format("0x{:016x}", guid) : fabric_->nodes[it->second].name;
  }

  // The link that leaves at this port; kNoLink: not known.
  std::uint32_t link(const PortEnd& e) const {
    if (fabric_ == nullptr || e.port < 0) return Fabric::kNoLink;
    const auto it = by_guid_.find(e.guid);
    if (it != by_guid_.end() && fabric_->nodes[it->second].is_switch)
      return fabric_->out(it->second, static_cast<std::size_t>(e.port));
    if (it != by_guid_.end()) return fabric_->out(it->second, 1);
    const auto named = by_name_.find({e.node, static_cast<std::uint16_t>(e.port)});
    return named == by_name_.end() ? Fabric::kNoLink : fabric_->out(named->second, 1);
  }

  // The other end of the cable at this link: "leaf03[17]".
  std::string far(std::uint32_t link) const {
    const FabricLink& back = fabric_->links[link ^ 1U];
    const FabricNode& node = fabric_->nodes[back.from];
    return fmt::format("{}[{}]", node.name, node.is_switch ? back.port : node.card_port);
  }
  const FabricLink& at(std::uint32_t link) const { return fabric_->links[link]; }

 private:
  const Fabric* fabric_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;
  std::map<std::pair<std::string, std::uint16_t>, std::uint32_t> by_name_;
};

std::string say_rate_of(int lanes, double lane_gbit_s) { return fmt::format("{}x {} Gb/s", lanes, render_number(lane_gbit_s)); }

// What most links of a kind (from a host, between switches) run at.
struct Usual {
  std::map<int, std::size_t> lanes;
  std::map<std::pair<int, double>, std::size_t> could;  // notes that they could be more
  std::size_t links = 0;

  int most_lanes() const {
    int out = 0;
    std::size_t best = 0;
    for (const auto& [l, n] : lanes) {
      if (n >= best) out = l, best = n;
    }
    return 2 * best > links ? out : 0;
  }
};

// Whether both ends are switches, and whether any is.
std::pair<bool, bool> kind_of(const PortState& p) { return {p.is_switch && p.far_is_switch, p.is_switch || p.far_is_switch}; }

bool below_design(const PortState& p, const FabricLink* meant) {
  return meant != nullptr && p.lanes * p.lane_gbit_s / 8 < 0.99 * meant->gb_s;
}

// A link that runs below its design.
struct Slow {
  const PortState* port;
  const FabricLink* meant;
  std::vector<std::string> ends;
  std::pair<int, double> rate() const { return {port->lanes, port->lane_gbit_s}; }
};

std::string reseat(const std::vector<std::string>& ends) {
  return fmt::format("clean and reseat the plugs at {}, reset the port; then replace the cable", join(ends, " and "));
}

// Each for itself; but what most of the cables have in common is no plug's fault, and one.
void say_slow(const std::vector<Slow>& slow, std::size_t links, std::span<const FabricFault> known, FabricSymptoms& out) {
  constexpr std::size_t kFew = 8;
  std::map<std::pair<int, double>, std::vector<const Slow*>> by_rate;
  for (const Slow& s : slow) by_rate[s.rate()].push_back(&s);
  std::set<std::string> named;  // ends of what is known to be slow
  for (const FabricFault& f : known) {
    if (f.kind == FabricFaultKind::degraded_link) named.insert(f.ends.begin(), f.ends.end());
  }
  const auto is_named = [&](const Slow* s) {
    return std::any_of(s->ends.begin(), s->ends.end(), [&](const std::string& e) { return named.count(e) > 0; });
  };
  for (const auto& [rate, alike] : by_rate) {
    const std::string runs = say_rate_of(rate.first, rate.second);
    if (alike.size() <= kFew || 2 * alike.size() <= links) {
      for (const Slow* s : alike)
        out.faults.push_back({FabricFaultKind::degraded_link, s->ends,
                              fmt::format("{}, where the design has {}", runs, say_rate(s->meant->gb_s, s->meant->lanes)), 0.98,
                              reseat(s->ends)});
    } else if (std::none_of(alike.begin(), alike.end(), is_named)) {
      const Slow& first = *alike.front();
      out.faults.push_back({FabricFaultKind::degraded_link, first.ends,
                            fmt::format("{} of {} cables run at {}, where the design has {}: the first is named", alike.size(),
                                        links, runs, say_rate(first.meant->gb_s, first.meant->lanes)),
                            0.9, "compare the speed that the switches are set to with the design's"});
    }
  }
}

// Why a link that runs as designed is less than it could be, and how sure that is; empty: it is not.
std::pair<std::string, double> degraded(const PortState& p, const Usual& usual, const FabricLink* meant) {
  const std::string rate = say_rate_of(p.lanes, p.lane_gbit_s);
  const bool as_designed = meant != nullptr && meant->lanes > 0 && p.lanes >= meant->lanes;  // half a port, by a splitter
  if (p.lanes < usual.most_lanes() && !as_designed)
    return {fmt::format("{}, where most such links have {} lanes", rate, usual.most_lanes()), 0.9};
  const auto same = usual.could.find({p.lanes_could, p.lane_gbit_s_could});
  if (same != usual.could.end() && 2 * same->second <= usual.links) {
    return {fmt::format("{}; both ends could do {}", rate,
                        say_rate_of(std::max(p.lanes_could, p.lanes), std::max(p.lane_gbit_s_could, p.lane_gbit_s))),
            meant != nullptr ? 0.5 : 0.85};
  }
  return {};
}

// Links whose ends see each other and that no subnet manager has made use of: plugs and cables are sound.
void not_brought_up(std::span<const PortState* const> waiting, std::size_t links, FabricSymptoms& out) {
  constexpr std::size_t kFew = 8;
  constexpr std::string_view kAsk =
      "`sminfo` says whether a subnet manager answers, and its log (OpenSM's) why it leaves out a port";
  if (waiting.size() > kFew || 2 * waiting.size() > links) {
    out.notes.push_back(
        fmt::format("{} of {} links are up and not Active, as {} ({}): the subnet manager has not brought them up, or none "
                    "runs; {}",
                    waiting.size(), links, waiting.front()->here.say(), waiting.front()->logical, kAsk));
    return;
  }
  for (const PortState* p : waiting) {
    out.faults.push_back({FabricFaultKind::degraded_link,
                          {p->here.say(), p->far->say()},
                          fmt::format("physically {} and {}, not Active: the subnet manager has not brought it up, and it "
                                      "carries nothing",
                                      p->physical, p->logical),
                          0.5,
                          std::string(kAsk)});
  }
}

// ---- counters

// A rule for one counter: how many in a time a sound link may show.
enum class Rule : std::uint8_t {
  bit_errors,  // no more than one for each bit that may go wrong
  never,       // once is a fault
  discards,    // packets given up by their sender
  congestion,  // a note
  elsewhere,   // a note: the fault is behind another port
  settings,    // a note
};
struct Judged {
  std::string_view counter;
  Rule rule;
  double confidence;
  std::string_view means;
};
constexpr Judged kCounters[] = {
    {"SymbolErrorCounter", Rule::bit_errors, 0.95, "symbols that arrived broken"},
    {"PortRcvErrors", Rule::bit_errors, 0.9, "packets that arrived broken"},
    {"LinkDownedCounter", Rule::never, 0.95, "the link went down"},
    {"LinkErrorRecoveryCounter", Rule::never, 0.9, "the link had to train again"},
    {"LocalLinkIntegrityErrors", Rule::never, 0.85, "too many broken packets at once"},
    {"ExcessiveBufferOverrunErrors", Rule::never, 0.85, "more arrived than was granted"},
    {"PortXmitDiscards", Rule::discards, 0.6, "packets thrown away because they could not be sent in time"},
    {"PortXmitWait", Rule::congestion, 0, "ticks in which it had data and no leave to send"},
    {"PortRcvRemotePhysicalErrors", Rule::elsewhere, 0, "packets that were marked broken before they came here"},
    {"VL15Dropped", Rule::settings, 0, "management packets dropped: a survey may be incomplete"},
    {"PortXmitConstraintErrors", Rule::settings, 0, "packets that partitions or filters forbid"},
    {"PortRcvConstraintErrors", Rule::settings, 0, "packets that partitions or filters forbid"},
};
constexpr double kBitErrors = 1e-12;           // of a link without error correction
constexpr double kBitErrorsCorrected = 1e-15;  // of what is left after correction: lanes of 25 Gb/s and above have it
constexpr double kCorrectedLaneGbit = 24;
constexpr std::uint64_t kDiscardsMany = 100;  // where it is not known of how many
constexpr double kDiscardsShare = 1e-6;       // of packets sent
constexpr std::uint64_t kDownedOften = 10;    // in a single reading
constexpr double kUnknownGbit = 100;          // of a link whose rate is not known

// More than this is not chance: five deviations of a Poisson count above what the limit allows, and never fewer than five.
double beyond_chance(double expected) { return expected + 5 * std::sqrt(expected) + 4; }

const Judged* judged(std::string_view counter) {
  for (const Judged& j : kCounters) {
    if (j.counter == counter) return &j;
  }
  return nullptr;
}

class Counters {
 public:
  Counters(const Fabric* fabric, double seconds) : known_(fabric), seconds_(seconds) {}

  void grown(const CounterGrowth& g, std::uint64_t packets) {
    const Judged* rule = judged(g.counter);
    if (rule == nullptr) return;
    const std::string how = g.pegged       ? fmt::format("{} stands at its maximum, {}", g.counter, g.after)
                            : seconds_ > 0 ? fmt::format("{} grew by {} in {} s", g.counter, g.grew, say_seconds(seconds_))
                                           : fmt::format("{} grew by {}", g.counter, g.grew);
    double confidence = rule->confidence;
    switch (rule->rule) {
      case Rule::bit_errors: confidence = bit_errors(g, confidence); break;
      case Rule::never: break;
      case Rule::discards: {
        const bool many =
            packets > 0 ? static_cast<double>(g.grew) > kDiscardsShare * static_cast<double>(packets) : g.grew >= kDiscardsMany;
        if (!many && !g.pegged) confidence = 0;
        break;
      }
      case Rule::congestion:
      case Rule::elsewhere:
      case Rule::settings: confidence = 0; break;
    }
    if (g.pegged && g.grew == 0) confidence = std::min(confidence, 0.6);  // it may be long ago
    add(g.port, *rule, fmt::format("{} ({})", how, rule->means), g.grew, confidence);
  }

  // One reading: since when, nobody knows.
  void once(const PortEnd& port, const std::string& counter, std::uint64_t value) {
    const Judged* rule = judged(counter);
    if (rule == nullptr || value == 0) return;
    const std::uint64_t maximum = counter_maximum(counter);
    const bool fault = rule->rule != Rule::settings && rule->rule != Rule::congestion && rule->rule != Rule::elsewhere;
    const bool pegged = maximum > 0 && value == maximum;
    const bool often = counter == "LinkDownedCounter" && value >= kDownedOften;
    add(port, *rule, fmt::format("{} is {}{} ({})", counter, value, pegged ? ", its maximum" : "", rule->means), value,
        fault && (pegged || often) ? (pegged ? 0.6 : 0.5) : 0);
  }

  FabricSymptoms done(bool one_reading) {
    FabricSymptoms out;
    std::set<std::string> told;  // cables, by the smaller of their ends
    for (const auto& [end, p] : ports_) {
      FabricFault f{FabricFaultKind::error_rate, {end}, join(p.faults, "; "), p.confidence, {}};
      bool cable = p.cable;
      if (const std::uint32_t link = known_.link(p.port); link != Fabric::kNoLink) {
        f.ends.push_back(known_.far(link));
        // The other end of the same cable: one fault, both ends' counters.
        const auto other = ports_.find(f.ends[1]);
        if (other != ports_.end() && other->second.confidence > 0) {
          if (!told.insert(std::min(f.ends[0], f.ends[1])).second) continue;
          f.detail = fmt::format("{}: {}. {}: {}", f.ends[0], f.detail, f.ends[1], join(other->second.faults, "; "));
          f.confidence = std::max(f.confidence, other->second.confidence);
          cable |= other->second.cable;
        }
      }
      f.fix = cable ? fmt::format("clean and reseat the plugs at {}; if it goes on, replace the cable, then the module, then "
                                  "try another port",
                                  join(f.ends, " and "))
                    : fmt::format("no plug is at fault: look at what is behind {}, a device that hangs or that more is sent to "
                                  "than it takes (PortXmitWait, routes, jobs)",
                                  f.ends.front());
      out.faults.push_back(std::move(f));
    }
    for (const auto& [counter, m] : minor_) {
      out.notes.push_back(one_reading ? fmt::format("{} counted {}: not known when, from one reading; most is at {}: {}",
                                                    m.ports == 1 ? "1 port has" : fmt::format("{} ports have", m.ports), counter,
                                                    m.end, m.text)
                                      : fmt::format("{} port{}, within what is sound or no fault of theirs; most at {}: {}",
                                                    m.ports, m.ports == 1 ? "" : "s", m.end, m.text));
    }
    return out;
  }

 private:
  struct Port {
    PortEnd port;
    std::vector<std::string> faults;
    double confidence = 0;
    bool cable = false;  // something else than what could not be sent
  };
  // No fault: told once for each counter.
  struct Minor {
    std::uint32_t ports = 0;
    std::uint64_t most = 0;
    std::string end, text;  // of the port that has most
  };

  // 0: within what a sound link shows.
  double bit_errors(const CounterGrowth& g, double confidence) const {
    if (g.pegged) return confidence;
    if (seconds_ <= 0) return beyond_chance(0) < static_cast<double>(g.grew) ? 0.6 : 0;
    const std::uint32_t link = known_.link(g.port);
    const double gbit = link == Fabric::kNoLink ? kUnknownGbit : known_.at(link).gb_s * 8;
    const unsigned lanes = link == Fabric::kNoLink ? 0U : known_.at(link).lanes;
    const double bits = gbit * 1e9 * seconds_, grew = static_cast<double>(g.grew);
    if (grew > beyond_chance(bits * kBitErrors)) return confidence;
    const bool corrected = gbit / (lanes > 0 ? lanes : 4) >= kCorrectedLaneGbit;
    return corrected && grew > beyond_chance(bits * kBitErrorsCorrected) ? rounded_confidence(0.75 * confidence) : 0;
  }

  void add(const PortEnd& port, const Judged& rule, std::string text, std::uint64_t value, double confidence) {
    if (confidence <= 0) {
      Minor& m = minor_[rule.counter];
      if (m.ports++ == 0 || value > m.most) m = {m.ports, value, port.say(), std::move(text)};
      return;
    }
    Port& p = ports_[port.say()];
    p.port = port;
    p.confidence = std::max(p.confidence, confidence);
    p.cable |= rule.rule != Rule::discards;
    p.faults.push_back(std::move(text));
  }

  Known known_;
  double seconds_;
  std::map<std::string, Port> ports_;  // by what they are called
  std::map<std::string_view, Minor> minor_;
};

// ---- the subnet manager's log

std::string say(const SubnetLog::Evidence& e) { return fmt::format("line {}: {}", e.line, e.text); }

// The engine that should be routing; empty: not known.
std::string wanted(const SubnetLog& log, std::string_view asked) {
  if (!asked.empty()) return std::string(asked);
  if (!log.engines_asked.empty()) return log.engines_asked.front();
  const SubnetLog::Routing& last = log.routings.back();
  if (!last.failed.empty()) return last.failed.front();
  return {};
}

void routing(const SubnetLog& log, const Known& known, std::string_view asked, FabricSymptoms& out) {
  if (log.routings.empty()) return;
  const SubnetLog::Routing& last = log.routings.back();
  const std::string should = wanted(log, asked);
  const bool fell = !last.failed.empty() || last.engine.empty() || (!should.empty() && last.engine != should);
  if (!fell) {
    const auto before = std::find_if(log.routings.rbegin(), log.routings.rend(), [](const auto& r) { return !r.failed.empty(); });
    if (before != log.routings.rend())
      out.notes.push_back(fmt::format("{} routed from {} on because {} could not; since {} it is {} again", before->engine,
                                      before->at.time, before->failed.front(), last.at.time, last.engine));
    return;
  }
  // Since when: the first of the routings in a row that ended so.
  auto since = log.routings.end() - 1;
  while (since != log.routings.begin() && (since - 1)->engine == last.engine) --since;
  FabricFault f{FabricFaultKind::routing_fallback, {}, {}, 1, {}};
  for (const std::uint64_t guid : last.odd) f.ends.push_back(known.device(guid));
  const std::string lost = should.empty() ? "the engine that was asked for" : should;
  f.detail = last.engine.empty() ? fmt::format("no engine can route this fabric since {}", since->at.time)
                                 : fmt::format("routed by {} since {}, not by {}{}", last.engine, since->at.time, lost,
                                               last.up ? ", though it says SUBNET UP" : "");
  for (const SubnetLog::Evidence& e : last.because) f.detail += fmt::format("; {}", say(e));
  const bool tree = lost == "ftree" || lost == "updn";
  f.fix = tree ? "give OpenSM the GUIDs of the top switches (root_guid_file, which `muster fabric design` writes) and "
                 "`routing_engine ftree,updn`: with them it routes a tree in which cables are missing"
               : fmt::format("find out why {} cannot route: the lines above say what it stumbled over", lost);
  if (!f.ends.empty()) f.fix += fmt::format("; {} has fewer uplinks than its equals: put its cables back", join(f.ends, ", "));
  out.faults.push_back(std::move(f));
}

void duplicates(const SubnetLog& log, const Known& known, FabricSymptoms& out) {
  std::set<std::uint64_t> told;
  for (const SubnetLog::Duplicate& d : log.duplicates) {
    if (!told.insert(d.guid).second) continue;
    FabricFault f{FabricFaultKind::duplicate_guid, {}, {}, 0.95, {}};
    for (int i = 0; i < 2; ++i) {
      if (d.seen_from[i] != 0) f.ends.push_back(PortEnd{d.seen_from[i], known.device(d.seen_from[i]), d.seen_from_port[i]}.say());
    }
    if (f.ends.empty()) f.ends.push_back(known.device(d.guid));
    f.detail = fmt::format("0x{:016x} is the GUID of two devices; {}", d.guid, say(d.at));
    f.fix = fmt::format("give one of the two another GUID or take it away; they are plugged in at {}", join(f.ends, " and "));
    out.faults.push_back(std::move(f));
  }
}

void comings_and_goings(const SubnetLog& log, FabricSymptoms& out) {
  constexpr std::uint32_t kFlaps = 3;
  constexpr std::size_t kGone = 8;  // told one by one
  struct Story {
    std::string node;
    std::uint32_t removed = 0;
    bool gone = false;
    SubnetLog::Evidence last;
  };
  std::map<std::uint64_t, Story> stories;
  for (const SubnetLog::PortEvent& e : log.ports) {
    Story& s = stories[e.guid];
    s.node = e.node;
    s.removed += e.removed ? 1 : 0;
    s.gone = e.removed;
    s.last = e.at;
  }
  std::vector<std::string> gone;
  for (const auto& [guid, s] : stories) {
    if (s.removed >= kFlaps) {
      out.faults.push_back({FabricFaultKind::error_rate,
                            {s.node},
                            fmt::format("it left the fabric {} times, last at {}", s.removed, s.last.time),
                            0.8,
                            fmt::format("look at {}: its cables, its power, and whether somebody restarts it", s.node)});
    } else if (s.gone) {
      gone.push_back(fmt::format("{} left the fabric at {} and has not come back", s.node, s.last.time));
    }
  }
  // A rack that was switched off is no hundred notes.
  if (gone.size() <= kGone) {
    out.notes.insert(out.notes.end(), gone.begin(), gone.end());
  } else {
    out.notes.push_back(fmt::format("{} devices left the fabric and have not come back; the first of them: {}", gone.size(),
                                    gone.front()));
  }
}

void complaints(const SubnetLog& log, FabricSymptoms& out) {
  std::vector<std::pair<std::string, const SubnetLog::ErrorCount*>> codes;
  for (const auto& [code, e] : log.errors) {
    if (code.substr(0, 2) != "AB" && code.substr(0, 3) != "0D1" && code != "0D01") codes.emplace_back(code, &e);
  }
  std::stable_sort(codes.begin(), codes.end(), [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
  for (std::size_t i = 0; i < std::min<std::size_t>(codes.size(), 5); ++i)
    out.notes.push_back(fmt::format("the subnet manager says ERR {} {} times; {}", codes[i].first, codes[i].second->count,
                                    say(codes[i].second->first)));
}

}  // namespace

std::string say_seconds(double seconds) {
  return seconds >= 1000 ? fmt::format("{:.0f}", seconds) : fmt::format("{:.4g}", seconds);
}

double rounded_confidence(double confidence) { return std::round(1000 * confidence) / 1000; }

FabricSymptoms link_symptoms(std::span<const PortState> ports, const Fabric* design, std::span<const FabricFault> known) {
  const Known devices(design);
  FabricSymptoms out;
  std::map<std::pair<bool, bool>, Usual> usual;
  for (const PortState& p : ports) {
    if (!p.far || p.lanes == 0) continue;
    Usual& u = usual[kind_of(p)];
    ++u.links;
    ++u.lanes[p.lanes];
    if (p.lanes_could > 0 || p.lane_gbit_s_could > 0) ++u.could[{p.lanes_could, p.lane_gbit_s_could}];
  }
  std::set<std::string> told;  // cables, by the smaller of their ends
  std::set<std::string> seen;
  std::vector<const PortState*> waiting;  // for the subnet manager
  std::vector<Slow> slow;
  FabricFault unheard{FabricFaultKind::incomplete_discovery, {}, {}, 0.9, {}};
  for (const PortState& p : ports) {
    const std::uint32_t link = devices.link(p.here);
    const std::string here = p.here.say(), far = p.far ? p.far->say() : link == Fabric::kNoLink ? "" : devices.far(link);
    const std::string cable = std::min(here, far);
    if (p.far) {
      if (p.lanes == 0 || told.count(cable) > 0) continue;
      seen.insert(cable);
      const FabricLink* meant = link == Fabric::kNoLink ? nullptr : &devices.at(link);
      if (below_design(p, meant)) {
        told.insert(cable);
        slow.push_back({&p, meant, {here, far}});
        continue;
      }
      const auto [why, confidence] = degraded(p, usual[kind_of(p)], meant);
      if (why.empty() && p.logical == "Active") continue;
      told.insert(cable);
      if (why.empty()) {
        waiting.push_back(&p);
        continue;
      }
      out.faults.push_back({FabricFaultKind::degraded_link, {here, far}, why, confidence, reseat({here, far})});
    } else if (p.logical != "Down") {
      unheard.ends.push_back(here);
    } else if (link != Fabric::kNoLink && told.insert(cable).second) {
      out.faults.push_back(
          {FabricFaultKind::missing_cable,
           {here, far},
           fmt::format("{} is {}, physically {}; the design has a cable from it to {}", here, p.logical, p.physical, far),
           0.95,
           fmt::format("look at the cable between {} and {}: plugged in, whole, both ports enabled?", here, far)});
    }
  }
  say_slow(slow, seen.size(), known, out);
  if (!waiting.empty()) not_brought_up(waiting, seen.size(), out);
  if (!unheard.ends.empty()) {
    unheard.detail = unheard.ends.size() == 1
                         ? "1 port is up, and what is behind it did not answer"
                         : fmt::format("{} ports are up, and what is behind them did not answer", unheard.ends.size());
    unheard.fix = "read the links again; if it stays so, look at what is plugged in there";
    out.faults.push_back(std::move(unheard));
  }
  return out;
}

FabricSymptoms counter_symptoms(const CounterReading* before, const CounterReading& after, double seconds, const Fabric* fabric) {
  Counters counters(fabric, seconds);
  FabricSymptoms out;
  if (before == nullptr) {
    for (const PortCounters& p : after.ports) {
      for (const auto& [counter, value] : p.values) counters.once(p.port, counter, value);
    }
    out = counters.done(true);
  } else {
    const std::vector<CounterGrowth> all = counter_growth(*before, after, seconds);
    std::map<std::string, std::uint64_t> packets;  // sent, by port
    for (const CounterGrowth& g : all) {
      if (g.counter == "PortXmitPkts") packets[g.port.say()] = g.grew;
    }
    for (const CounterGrowth& g : all) {
      const auto sent = packets.find(g.port.say());
      counters.grown(g, sent == packets.end() ? 0 : sent->second);
    }
    out = counters.done(false);
    if (!before->complete)
      out.notes.push_back("the earlier reading of counters is not complete: ports that it lacks are not judged");
  }
  if (!after.complete) out.notes.push_back("the reading of counters is not complete: ports that it lacks are not judged");
  return out;
}

std::vector<std::vector<std::string>> cable_ends(const Fabric& fabric, std::span<const PortEnd> ports) {
  std::vector<std::vector<std::string>> out;
  const Known known(&fabric);
  for (const PortEnd& p : ports) {
    const std::uint32_t link = known.link(p);
    out.push_back({p.say()});
    if (link != Fabric::kNoLink) out.back().push_back(known.far(link));
  }
  return out;
}

FabricSymptoms log_symptoms(const SubnetLog& log, const Fabric* fabric, std::string_view asked) {
  const Known known(fabric);
  FabricSymptoms out;
  routing(log, known, asked, out);
  duplicates(log, known, out);
  comings_and_goings(log, out);
  complaints(log, out);
  return out;
}

namespace {
// No cable between two switches that both have cards: what is otherwise, as a dragonfly, loads its shortest ways unevenly by
// nature, and says nothing of the engine. A spine with a storage server or two (a card to four cables between switches at most)
// stays one.
bool is_tree(const Fabric& fabric) {
  struct Cables {
    std::uint32_t cards = 0, switches = 0;
    bool leaf() const { return cards > 0 && 4 * cards > switches; }
  };
  std::vector<Cables> cables(fabric.nodes.size());
  for (const FabricLink& l : fabric.links) ++(fabric.nodes[l.to].is_switch ? cables[l.from].switches : cables[l.from].cards);
  return std::none_of(fabric.links.begin(), fabric.links.end(), [&](const FabricLink& l) {
    return fabric.nodes[l.from].is_switch && fabric.nodes[l.to].is_switch && cables[l.from].leaf() && cables[l.to].leaf();
  });
}
}  // namespace

FabricSymptoms route_symptoms(const Fabric& fabric, const predict::RouteCheck& check, const predict::TrafficFigures* shifts) {
  FabricSymptoms out;
  const auto port = [&](std::uint32_t link) {
    const FabricLink& l = fabric.links[link];
    return fmt::format("{}[{}]", fabric.nodes[l.from].name, l.port);
  };
  if (check.unreachable + check.looping > 0) {
    FabricFault f{FabricFaultKind::routing_fallback, {}, {}, 0.95, {}};
    std::set<std::string> ends;
    for (const auto& b : check.broken) ends.insert(fabric.nodes[b.at].name);
    f.ends.assign(ends.begin(), ends.end());
    const auto& first = check.broken.front();
    f.detail = fmt::format("of {} ways {} end before they arrive and {} go round for ever; those to {} {} {}", check.pairs,
                           check.unreachable, check.looping, fabric.nodes[first.to].name, first.loop ? "go round" : "end",
                           (first.loop ? "by " : "at ") + fabric.nodes[first.at].name);
    f.fix = "have the subnet manager write the tables again (a heavy sweep), and take tables and survey at one time";
    out.faults.push_back(std::move(f));
  }
  for (const auto& y : check.layers) {
    const double times = y.mean > 0 ? static_cast<double>(y.most) / y.mean : 0;
    if (shifts == nullptr || shifts->mean >= 0.5 || times < 2 || !is_tree(fabric)) continue;
    out.faults.push_back(
        {FabricFaultKind::routing_fallback,
         {port(y.fullest)},
         fmt::format(
             "shifts get {:.3f} of the line rate by these tables: {} carries {} ways where its equals carry {:.0f} on average",
             shifts->mean, port(y.fullest), y.most, y.mean),
         0.7,
         "see in the subnet manager's log which engine made them; for a tree, ftree with root GUIDs spreads ways evenly"});
    break;
  }
  if (!check.credit_loop.empty()) {
    std::vector<std::string> names;
    for (const std::uint32_t l : check.credit_loop) names.push_back(port(l));
    out.notes.push_back(
        fmt::format("{} links can wait for each other in a circle, as {}: a deadlock unless virtual lanes keep them "
                    "apart (dfsssp, lash and nue do)",
                    check.links_in_credit_loops, join(names, " > ")));
  }
  if (check.switches_untold > 0) {
    out.notes.push_back(
        fmt::format("{} no forwarding table in what was given: {} of {} ways lead there and are not judged",
                    check.switches_untold == 1 ? "1 switch has" : fmt::format("{} switches have", check.switches_untold),
                    check.not_judged, check.pairs));
  }
  if (check.without_address > 0)
    out.notes.push_back(fmt::format(
        "{} no address in the tables",
        check.without_address == 1 ? "1 network card has" : fmt::format("{} network cards have", check.without_address)));
  return out;
}

}  // namespace muster::design
