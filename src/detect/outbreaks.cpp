#include "detect/outbreaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/node_list.h"
#include "model/whole_site.h"

namespace muster::detect {
namespace {

using K = FindingKind;
constexpr Duration kDay = days(1);
constexpr Duration kSettles = seconds(20);   // no further one for so long: now it is worth a look
constexpr Duration kWaitsMax = seconds(90);  // but no longer than this after the third
constexpr std::size_t kLeast = 3;            // nodes
constexpr std::size_t kKept = 4096;
constexpr std::size_t kDrawnMax = 512;        // more struck nodes than this are no chance, and sums over them take long
constexpr Duration kLooks = minutes(1);       // how often open causes are looked after
constexpr Duration kCalm = minutes(10);       // nothing has come or gone for so long
constexpr double kLeft = 0.25;                // of its nodes at most are left: the cause is over, they have faults of their own
constexpr Duration kStands = hours(8);        // a cause that nobody mends for so long is no reason to leave its nodes alone
constexpr double kFaultsPerNodeDay = 0.0237;  // Meta's measured rate of small jobs, the highest published: of all kinds together
constexpr double kOften = 20;                 // times that, of what is frequent everywhere: flaps and users' bugs
constexpr double kChance = 1e-3;              // at most so likely that nothing is behind it
constexpr double kShared = 0.05;              // ... and so likely that those nodes share it by chance
constexpr double kMost = 0.8;                 // of the struck nodes must share it, or of its nodes be struck
constexpr double kSharedNew = 0.25;           // ... where it is a version that came lately: what changed last is suspected first
constexpr Duration kLately = hours(24);
constexpr std::size_t kManyOfSite = 8;       // nodes, before "nearly all" says anything
constexpr std::size_t kFewOfSite = 6;        // fewer that share nothing yet: the next ones may tell what it is
constexpr Duration kSiteWaits = minutes(5);  // so long is waited for those

// What says nothing about a node, or is about many nodes already.
bool counts(K k) {
  switch (k) {
    case K::common_cause:
    case K::storage_stall:
    case K::row_hot:
    case K::fabric_fault:
    case K::job_failed:
    case K::nccl_hang:
    case K::version_drift:
    case K::xid_other:
    case K::hearsay: return false;
    default: return true;
  }
}

// What such trouble comes from first of all, where two groups have the same nodes.
double likely(K k, std::size_t bond) {
  constexpr std::size_t kLeaf = 0, kRack = 1, kWired = 8;
  if (bond == kWired) return 2e-6;  // the very switch that the links are wired to, by its name
  const bool power = k == K::node_silent || k == K::host_rebooted || k == K::power_brake || k == K::thermal_throttle;
  return bond == (power ? kRack : kLeaf) ? 1e-6 : 0;
}

// P(X >= k) of a Poisson distribution.
double at_least(std::size_t k, double mean) {
  double term = det_exp(-mean), below = 0;
  for (std::size_t i = 0; i < k; ++i) {
    below += term;
    term *= mean / static_cast<double>(i + 1);
  }
  if (below < 0.9999) return 1 - below;
  double tail = 0;  // 1 - below has no digits left: sum the tail itself
  for (std::size_t i = k; i < k + 60; ++i) {
    tail += term;
    term *= mean / static_cast<double>(i + 1);
  }
  return tail;
}

// P(at least k of n nodes drawn without return are among `good` of `all`).
double drawn(std::size_t k, std::size_t n, std::size_t good, std::size_t all) {
  double sum = 0;
  for (std::size_t i = k; i <= std::min(n, good); ++i) {
    if (n - i > all - good) continue;
    double p = 1;  // C(good, i) C(all - good, n - i) / C(all, n), factor by factor
    std::size_t g = 0, b = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const bool from_good = g < i;
      p *= static_cast<double>(from_good ? good - g : all - good - b) / static_cast<double>(all - j);
      (from_good ? g : b) += 1;
      p *= from_good ? static_cast<double>(n - j) / static_cast<double>(i - g + 1) : 1;
      if (p == 0) break;
    }
    sum += p;
  }
  return std::min(1.0, sum);
}

}  // namespace

Outbreaks::Outbreaks(const Site& site) {
  const auto add = [&](std::size_t i, std::uint32_t v) {
    value_[i].push_back(v);
    if (v == kNoRow) return;
    if (size_[i].size() <= v) size_[i].resize(v + 1);
    ++size_[i][v];
  };
  for (std::uint32_t n = 0; n < site.nodes.size(); ++n) {
    const NodeSpec& x = site.nodes[n];
    add(0, x.leaf);
    add(1, x.rack);
    add(2, x.domain);
    add(3, row_of(site, NodeId{n}));
    add(4, x.pod);
  }
  const CableTable& cables = site.cables.table();
  wired_.resize(cables.switches.size());
  std::vector<std::uint32_t> last(wired_.size(), UINT32_MAX);  // node counted for the switch; they come in order
  for (std::size_t i = 0; i < cables.nics.size(); ++i) {
    const std::uint32_t to = cables.far_ends[i], node = cables.nics[i] / Cabling::kNicsMax;
    if (last[to] == node) continue;
    last[to] = node;
    ++wired_[to];
    ++wires_;
  }
}

void Outbreaks::take_over(const Finding& f) {
  if (f.part_of.some()) {
    causes_[f.part_of].members.insert(f.id);
    causes_[f.part_of].id = f.part_of;
    member_of_[f.id] = f.part_of;
  }
  // What the nodes shared is not read back from its words: it goes on until its members are gone, and takes no new ones.
  const bool of_nodes = f.kind == K::common_cause && (explains(f) || f.subject == kSiteSubject);
  if (of_nodes || (f.kind == K::storage_stall && !f.subject.empty())) {
    causes_[f.id].id = f.id;
    causes_[f.id].subject = f.subject;
    look_at_ = {};
  }
}

double Outbreaks::value_of(Bond b, NodeId n, const Ties& ties, const Drift& versions) const {
  const auto i = static_cast<std::size_t>(b);
  switch (b) {
    case Bond::driver: return versions.driver(n);
    case Bond::firmware: return versions.firmware(n);
    case Bond::job: return ties.job;
    case Bond::wired: return ties.wire;
    case Bond::site: return 0;
    default: return value_[i][n.v] == kNoRow ? -1.0 : static_cast<double>(value_[i][n.v]);
  }
}

bool Outbreaks::in(const Group& g, NodeId n, const Ties& ties, const Drift& versions) const {
  return value_of(g.bond, n, ties, versions) == g.value;
}

std::size_t Outbreaks::size_of(const Group& g, const State& s, const Drift& versions) const {
  switch (g.bond) {
    case Bond::site: return s.nodes.size();
    case Bond::driver:
    case Bond::firmware: return versions.nodes_with(g.bond == Bond::driver, g.value);
    case Bond::job: {
      const Job* j = find_job(s, JobId{static_cast<std::uint32_t>(g.value), 0});
      return j == nullptr || j->nodes.empty() ? 0 : j->nodes.size();
    }
    case Bond::wired: return wired_[static_cast<std::size_t>(g.value) - 1];
    default: return size_[static_cast<std::size_t>(g.bond)][static_cast<std::size_t>(g.value)];
  }
}

// Of the groups that hold most of the struck nodes, the one that fits them best.
std::optional<Outbreaks::Choice> Outbreaks::choose(const Kin& kin, const State& s, const Drift& versions, Time mono) const {
  const std::deque<Struck>& all = lately_.at(kin);
  const Duration window = s.policy.limits.cause_window;
  std::map<NodeId, const Struck*> struck;
  std::set<std::pair<NodeId, double>> wires;  // a node has links to several switches: of those only one may be at fault
  std::size_t before = 0;
  for (const Struck& x : all) {
    if (mono - x.at > window + kWaitsMax) {
      ++before;
      continue;
    }
    struck.emplace(x.node, &x);
    if (x.ties.wire > 0) wires.emplace(x.node, x.ties.wire);
  }
  if (struck.size() < kLeast) return std::nullopt;
  const auto nodes = static_cast<double>(s.nodes.size());
  const bool often = kin.first == K::app_error || kin.first == K::link_flap;
  const double rate = std::max((often ? kOften : 1) * kFaultsPerNodeDay, static_cast<double>(before) / nodes);
  std::optional<Choice> best;
  for (std::size_t b = 0; b < kBonds; ++b) {
    const auto bond = static_cast<Bond>(b);
    std::map<double, std::size_t> held;
    for (const auto& [n, x] : struck) {
      const double v = bond == Bond::wired ? 0 : value_of(bond, n, x->ties, versions);
      const bool known = bond == Bond::site || (bond >= Bond::driver ? v > 0 : v >= 0);
      if (known) ++held[v];
    }
    if (bond == Bond::wired) {
      for (const auto& [n, to] : wires) ++held[to];
    }
    const std::size_t hit = bond == Bond::wired ? wires.size() : struck.size();
    const std::size_t pool = bond == Bond::wired ? wires_ : s.nodes.size();
    for (const auto& [v, k] : held) {
      Choice c{{bond, v}, k, size_of({bond, v}, s, versions), hit, 1, 0};
      if (k < kLeast || c.nodes < k) continue;
      const bool whole = c.nodes >= pool;
      if (whole != (bond == Bond::site)) continue;  // what all nodes share explains nothing
      const bool most = static_cast<double>(k) >= kMost * static_cast<double>(hit) ||
                        static_cast<double>(k) >= kMost * static_cast<double>(c.nodes);
      if (!most) continue;
      const double groups = std::max(1.0, static_cast<double>(pool) / static_cast<double>(c.nodes));
      const bool many = hit > kDrawnMax;
      const bool more = static_cast<double>(k) * static_cast<double>(pool) > 1.5 * static_cast<double>(hit * c.nodes);
      const double shared = whole ? 0 : many ? (more ? 0 : 1) : groups * drawn(k, hit, c.nodes, pool);
      const double alone =
          groups * at_least(k, rate * static_cast<double>(c.nodes) * (window + kWaitsMax).seconds() / kDay.seconds());
      const bool version = bond == Bond::driver || bond == Bond::firmware;
      const auto pushed = version ? versions.pushed(bond == Bond::driver, v) : std::nullopt;
      const double by_chance = pushed && mono - *pushed < kLately ? kSharedNew : kShared;
      if (shared > by_chance || alone > kChance) continue;
      c.chance = std::min(1.0, alone + shared);
      c.fit = static_cast<double>(k) / static_cast<double>(c.nodes + hit - k) + likely(kin.first, b);
      if (!best || c.fit > best->fit) best = c;
    }
  }
  return best;
}

std::string Outbreaks::name_of_group(const Group& g, const State& s, const Drift& versions, Time utc, Time mono) const {
  const auto i = static_cast<std::size_t>(g.value);
  switch (g.bond) {
    case Bond::leaf: return fmt::format("leaf switch {}", i);
    case Bond::rack: return fmt::format("rack {}, its power or cooling", i < s.site.racks.size() ? s.site.racks[i] : "?");
    case Bond::domain: return fmt::format("NVLink domain {}", i);
    case Bond::row: return fmt::format("row {}", i);
    case Bond::pod: return fmt::format("pod {}, its spine switches", i);
    case Bond::driver:
    case Bond::firmware: {
      const bool driver = g.bond == Bond::driver;
      const auto pushed = versions.pushed(driver, g.value);
      return fmt::format("{} {}{}", driver ? "driver" : "NIC firmware", render_version(g.value),
                         pushed ? fmt::format(", first seen {}", render_utc(utc - (mono - *pushed))) : "");
    }
    case Bond::job: return fmt::format("job {}", i);
    case Bond::wired: {
      const auto& names = s.site.cables.table().switches;
      return fmt::format("switch {}", i - 1 < names.size() ? names[i - 1] : "?");
    }
    case Bond::site: break;
  }
  return std::string(kSiteSubject);
}

void Outbreaks::on_opened(Finding& f, const State& s, const Drift& versions, Time mono) {
  if (!f.node.some() || !counts(f.kind)) return;
  Ties ties{static_cast<double>(s.nodes[f.node.v].first_job().number), 0};
  // Where nobody tells which job runs there, a program that fails on all of its nodes looks like whatever those nodes share.
  if (f.kind == K::app_error && ties.job == 0) return;
  if (const auto cable = of_link(f) ? s.site.cables.at(f.node, f.slot) : std::nullopt) ties.wire = 1.0 + cable->to;
  for (auto& [id, c] : causes_) {
    // A version does harm for as long as it is there, and a node that was struck before is struck by the same thing again.
    const bool struck = c.struck.count(f.node) != 0;
    const bool stays = c.group.bond == Bond::driver || c.group.bond == Bond::firmware || struck;
    const Duration within = stays ? kStands : s.policy.limits.cause_window;
    // Whoever mends it boots its nodes.
    const bool mended = struck && f.kind == K::node_silent && c.subject != kSiteSubject;
    if ((c.kinds.count(f.kind) == 0 && !mended) || mono - c.last > within || !in(c.group, f.node, ties, versions)) continue;
    f.part_of = id;
    c.members.insert(f.id);
    member_of_[f.id] = id;
    c.struck.insert(f.node);
    c.last = c.changed = mono;
  }
  const Kin kin{f.kind, f.kind == K::mount_stalled ? f.subject : std::string()};
  std::deque<Struck>& all = lately_[kin];
  while (!all.empty() && (mono - all.front().at > kDay || all.size() >= kKept)) all.pop_front();
  all.push_back({mono, f.node, f.id, f.began(), ties, f.evidence.front().witness});
  // In a cause that names nothing it is judged again: with one more it may be known what they share.
  const auto mine = f.part_of.some() ? causes_.find(f.part_of) : causes_.end();
  const bool named = mine != causes_.end() && mine->second.subject != kSiteSubject;
  if (named || all.size() < kLeast) return;
  const auto [due, first] = due_.try_emplace(kin, Due{mono + kSettles, mono + kWaitsMax});
  if (!first) due->second.at = std::min(mono + kSettles, due->second.latest);  // each further one puts it off
}

void Outbreaks::on_cleared(FindingId id, Time mono) {
  if (const auto own = causes_.find(id); own != causes_.end()) causes_.erase(own);
  const auto it = member_of_.find(id);
  if (it == member_of_.end()) return;
  const auto cause = causes_.find(it->second);
  member_of_.erase(it);
  if (cause == causes_.end()) return;
  cause->second.members.erase(id);
  cause->second.changed = mono;
  if (cause->second.members.empty()) look_at_ = std::min(look_at_, mono);
}

// A node of a cause has booted: the cause explains that too, and what was wrong with the node shows again if it still is.
bool Outbreaks::on_booted(const Finding& f, std::vector<Body>& more, const State& s, Time mono) {
  for (auto& [id, c] : causes_) {
    const Finding* cause = find_finding(s, id);
    if (c.struck.count(f.node) == 0 || cause == nullptr || !explains(*cause)) continue;
    const std::set<FindingId> members = c.members;
    for (const FindingId m : members) {
      const Finding* x = find_finding(s, m);
      if (x == nullptr || x->node != f.node || x->cleared.ns != 0 || x->kind == K::node_silent || of_link(*x)) continue;
      more.push_back(FindingCleared{m, "the node has booted since"});
      on_cleared(m, mono);
    }
    more.push_back(FindingCleared{f.id, fmt::format("explained by {}", c.subject)});
    return true;
  }
  return false;
}

void Outbreaks::end(Cause& c, std::string why, std::vector<Body>& out, const State& s, Time utc) {
  for (const FindingId m : c.members) {
    member_of_.erase(m);
    const Finding* f = find_finding(s, m);
    if (f == nullptr || f->cleared.ns != 0) continue;
    // It is seen to be there still: fresh evidence, which whoever takes care of the node by itself may go by.
    const Evidence seen{f->evidence.back().witness, utc, {}, "still so now that its common cause is over"};
    out.push_back(FindingGrew{m, f->severity, seen, {}});
  }
  out.push_back(FindingCleared{c.id, std::move(why)});
}

// Members end without a word of the detectors too (a repaired node's are closed with its incident).
void Outbreaks::look_after(std::vector<Body>& out, const State& s, Time utc, Time mono) {
  for (auto it = causes_.begin(); it != causes_.end();) {
    Cause& c = it->second;
    std::set<NodeId> left;
    for (auto m = c.members.begin(); m != c.members.end();) {
      const Finding* f = find_finding(s, *m);
      const bool open = m->v >= s.next_finding || (f != nullptr && f->cleared.ns == 0);
      if (!open) {
        member_of_.erase(*m);
        m = c.members.erase(m);
        c.changed = mono;
        continue;
      }
      if (f != nullptr) left.insert(f->node);
      if (f != nullptr && c.changed.ns == 0) c.struck.insert(f->node);
      ++m;
    }
    if (c.changed.ns == 0) c.changed = mono;  // taken over from before a restart
    const std::size_t all = std::max(c.struck.size(), left.size());
    const bool few = left.size() < kLeast && static_cast<double>(left.size()) <= kLeft * static_cast<double>(all);
    std::string why;
    if (c.members.empty()) {
      why = "none of its findings is open any more";
    } else if (few && mono - c.changed >= kCalm) {
      why = fmt::format("{} of {} nodes are well again: what is left is theirs alone", all - left.size(), all);
    } else if (mono - c.changed >= kStands) {
      why =
          fmt::format("nothing has changed for {}: its {} nodes are looked at one by one", render_duration(kStands), left.size());
    }
    if (why.empty()) {
      ++it;
      continue;
    }
    end(c, std::move(why), out, s, utc);
    it = causes_.erase(it);
  }
  look_at_ = causes_.empty() ? kNever : mono + kLooks;
}

// Those of the window that lie in the group and are still open point to the cause from now on.
void Outbreaks::link(Cause& c, const Kin& kin, std::vector<Body>& out, const State& s, const Drift& versions, Time mono) {
  std::map<FindingId, Finding*> fresh;
  for (Body& b : out) {
    if (auto* o = std::get_if<FindingOpened>(&b)) fresh[o->finding.id] = &o->finding;
  }
  std::vector<Body> grown;
  for (const Struck& x : lately_[kin]) {
    if (mono - x.at > s.policy.limits.cause_window + kWaitsMax || !in(c.group, x.node, x.ties, versions)) continue;
    if (const auto it = fresh.find(x.id); it != fresh.end()) {
      it->second->part_of = c.id;
    } else {
      const Finding* known = find_finding(s, x.id);
      if (known == nullptr || known->cleared.ns != 0) continue;
      grown.push_back(FindingGrew{x.id, known->severity, {}, c.id});
    }
    if (const auto was = member_of_.find(x.id); was != member_of_.end() && was->second != c.id) {
      if (const auto old = causes_.find(was->second); old != causes_.end()) old->second.members.erase(x.id);
    }
    member_of_[x.id] = c.id;
    c.members.insert(x.id);
    c.struck.insert(x.node);
    c.changed = mono;
  }
  look_at_ = std::min(look_at_, mono + kLooks);
  out.insert(out.end(), std::make_move_iterator(grown.begin()), std::make_move_iterator(grown.end()));
}

namespace {

std::string struck_text(const std::string& what, std::size_t struck, std::size_t nodes, std::size_t all,
                        std::vector<std::string> names) {
  std::string text = fmt::format("{} on {} of {} nodes: {}", what, struck, nodes, compress_node_list(std::move(names)));
  if (all > struck) text += fmt::format("; on {} others", all - struck);
  constexpr std::size_t kTextMax = 480;
  if (text.size() > kTextMax) text = text.substr(0, kTextMax) + "...";
  return text;
}

}  // namespace

void Outbreaks::judge(const Kin& kin, std::vector<Body>& out, const State& s, const Drift& versions, Time utc, Time mono,
                      std::uint64_t& next_id) {
  const auto choice = choose(kin, s, versions, mono);
  if (!choice) {
    first_.erase(kin);
    return;
  }
  const bool of_site = choice->group.bond == Bond::site;
  if (of_site && choice->struck < kFewOfSite && mono - first_.try_emplace(kin, mono).first->second < kSiteWaits) {
    due_.try_emplace(kin, Due{mono + kLooks, mono + kLooks});
    return;
  }
  first_.erase(kin);
  // A program that fails on all of its nodes is one program.
  if (choice->group.bond == Bond::job && kin.first == K::app_error) return;
  const bool store = kin.first == K::mount_stalled && of_site;
  const bool whole = of_site && choice->struck >= kManyOfSite &&
                     static_cast<double>(choice->struck) >= kMost * static_cast<double>(choice->nodes);
  Cause c;
  c.group = choice->group;
  c.subject = store ? kin.second : whole ? std::string(kWholeSiteSubject) : name_of_group(choice->group, s, versions, utc, mono);
  c.kinds = {kin.first};
  c.last = mono;
  std::vector<std::string> names;
  std::set<NodeId> seen;
  Time since = utc;
  Witness witness = Witness::scrape;
  for (const Struck& x : lately_[kin]) {
    if (mono - x.at > s.policy.limits.cause_window + kWaitsMax || !in(c.group, x.node, x.ties, versions)) continue;
    if (seen.insert(x.node).second) names.push_back(s.site.nodes[x.node.v].name);
    since = std::min(since, x.began);
    witness = x.witness;
  }
  const int sure = static_cast<int>(std::lround(100 * (1 - choice->chance)));
  const std::string what =
      kin.second.empty() ? std::string(name_of(kin.first)) : fmt::format("{} of {}", name_of(kin.first), kin.second);
  const Evidence e{witness, utc, {}, struck_text(what, choice->struck, choice->nodes, choice->all, std::move(names))};
  // The same thing may show in several ways: that is still one cause.
  for (auto& [id, open] : causes_) {
    if (open.subject != c.subject) continue;
    const bool new_kind = open.kinds.insert(kin.first).second;
    open.group = c.group;
    open.last = mono;
    if (new_kind || !of_site) out.push_back(FindingGrew{id, Severity::warning, e, {}});
    return link(open, kin, out, s, versions, mono);
  }
  Finding f;
  f.id = c.id = FindingId{next_id++};
  f.kind = store ? K::storage_stall : K::common_cause;
  f.severity = kin.first == K::app_error ? Severity::warning : Severity::critical;
  f.code = store ? 0 : std::clamp(sure, 1, 99);
  f.opened = utc;
  f.since = since;
  f.subject = c.subject;
  f.evidence = {e};
  const FindingId id = c.id;
  Cause& kept = causes_[id] = std::move(c);
  out.push_back(FindingOpened{std::move(f)});
  link(kept, kin, out, s, versions, mono);
  // Narrower causes whose members have all gone over to this one are over, and one without a name when few are left in it.
  for (auto it = causes_.begin(); it != causes_.end();) {
    const bool nameless = it->second.subject == kSiteSubject;
    if (it->first == id || it->second.members.size() >= (nameless ? kLeast : 1)) {
      ++it;
      continue;
    }
    end(it->second, nameless ? "what they share is known now: " + kept.subject : "part of a wider cause", out, s, utc);
    it = causes_.erase(it);
  }
}

void Outbreaks::on_turn(std::vector<Body>& out, const State& s, const Drift& versions, Time utc, Time mono,
                        std::uint64_t& next_id) {
  std::vector<Body> more;
  for (Body& b : out) {
    auto* o = std::get_if<FindingOpened>(&b);
    const bool explained = o != nullptr && o->finding.kind == K::host_rebooted && on_booted(o->finding, more, s, mono);
    if (o != nullptr && !explained) on_opened(o->finding, s, versions, mono);
    if (const auto* c = std::get_if<FindingCleared>(&b)) on_cleared(c->id, mono);
  }
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  for (auto it = due_.begin(); it != due_.end();) {
    if (it->second.at > mono) {
      ++it;
      continue;
    }
    const Kin kin = it->first;
    it = due_.erase(it);
    judge(kin, out, s, versions, utc, mono, next_id);
  }
  if (look_at_ <= mono) look_after(out, s, utc, mono);
}

Time Outbreaks::next() const {
  Time t = look_at_;
  for (const auto& [kin, due] : due_) t = std::min(t, due.at);
  return t;
}

}  // namespace muster::detect
