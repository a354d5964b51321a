#include "detect/leaf_hangs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/node_list.h"
#include "base/text.h"

namespace muster::detect {
namespace {

// Longer than it takes to notice that a node is silent or its link down: then that is the reason.
constexpr Duration kOthersSpeak = minutes(4);
constexpr Duration kQuiet = hours(1);  // no further job: it was mended, or nobody is there any more
constexpr std::size_t kOwners = 2;     // one owner's programs may share a defect
constexpr double kShared = 0.05;       // at most so likely by chance, over all leaves
constexpr double kMost = 0.8;          // of the jobs that were struck must lie there
constexpr std::size_t kCasesMax = 4096;
constexpr std::size_t kTextMax = 960;  // bytes: two faults of the network fit beside the nodes

bool of_fabric(JobLogKind k) {
  return k == JobLogKind::timed_out || k == JobLogKind::heartbeat_lost || k == JobLogKind::transfer_failed ||
         k == JobLogKind::rank_dead;
}

bool known_fault(const State& s, const std::vector<NodeId>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) {
    return n.v < s.nodes.size() && (s.nodes[n.v].incident.some() || s.explained.count(n) != 0);
  });
}

std::set<std::uint32_t> leaves_of(const Site& site, const std::vector<NodeId>& nodes) {
  std::set<std::uint32_t> out;
  for (const NodeId n : nodes) {
    if (n.v < site.nodes.size()) out.insert(site.nodes[n.v].leaf);
  }
  return out;
}

// "; open there: finding 3, dead_switch leaf02": what a watch of the network has told of the leaf, which may well be the reason.
std::string open_there(const State& s, std::uint32_t leaf) {
  constexpr std::size_t kNamed = 2;
  std::string out;
  std::size_t count = 0;
  for (const auto& [id, f] : s.findings) {
    const bool there = f.kind == FindingKind::fabric_fault && f.cleared.ns == 0 && !f.node.some() && f.slot >= 0 &&
                       static_cast<std::uint32_t>(f.slot) == leaf;
    if (!there || ++count > kNamed) continue;
    out += fmt::format("{}finding {}, {}", out.empty() ? "; open there: " : "; ", id.v, f.subject);
  }
  return count > kNamed ? out + fmt::format("; and {} more", count - kNamed) : out;
}

// P(at least k of n jobs drawn without return are among `good` of `all`).
double drawn(std::size_t k, std::size_t n, std::size_t good, std::size_t all) {
  double sum = 0;
  for (std::size_t i = k; i <= std::min(n, good); ++i) {
    if (n - i > all - good) continue;
    double p = 1;  // C(good, i) C(all - good, n - i) / C(all, n), factor by factor
    for (std::size_t j = 0; j < n; ++j) {
      const double left = static_cast<double>(all - j);
      p *= static_cast<double>(j < i ? good - j : all - good - (j - i)) / left;
      if (j < i) p *= static_cast<double>(n - j) / static_cast<double>(i - j);
    }
    sum += p;
  }
  return std::min(1.0, sum);
}

}  // namespace

void LeafHangs::take_over(const Finding& f, Time mono) {
  if (const auto leaf = hanging_leaf(f)) open_[*leaf] = mono;
}

void LeafHangs::note(JobId id, const State& s, Time mono, Witness witness) {
  const Job* j = find_job(s, id);
  // One node alone needs no switch.
  if (j == nullptr || j->nodes.size() < 2) return;
  const auto it = cases_.find(id);
  const bool again = it != cases_.end() && mono - it->second.at <= s.policy.limits.cause_window;
  if (again || (it == cases_.end() && cases_.size() >= kCasesMax)) return;
  const std::string& owner = j->spec.user.empty() ? j->spec.account : j->spec.user;
  cases_[id] = {mono, owner, j->nodes, witness, known_fault(s, j->nodes)};
  due_ = std::min(due_, mono + kOthersSpeak);
}

void LeafHangs::on_record(const JobLogRecord& r, const State& s, Time mono) {
  if (of_fabric(r.kind)) note(r.job, s, mono, Witness::job);
}

void LeafHangs::on_event(const Body& b, const State& s, Time mono) {
  const auto* e = std::get_if<JobEnded>(&b);
  if (e != nullptr && e->end == JobEnd::node_failed) note(e->job, s, mono, Witness::engine);
}

// Of the leaves that most of the struck jobs touch, the one that is hardest to explain by chance; none where two are alike.
std::optional<LeafHangs::Choice> LeafHangs::choose(const State& s, const std::map<JobId, const Case*>& struck) const {
  struct Count {
    std::size_t jobs = 0, struck = 0;
    std::set<std::string_view> owners;
  };
  std::map<std::uint32_t, Count> leaves;
  std::size_t all = struck.size();
  for (const auto& [id, c] : struck) {
    for (const std::uint32_t leaf : leaves_of(s.site, c->nodes)) {
      Count& x = leaves[leaf];
      ++x.jobs;
      ++x.struck;
      x.owners.insert(c->owner);
    }
  }
  for (const JobId id : s.placed) {
    const Job* j = struck.count(id) != 0 ? nullptr : find_job(s, id);
    if (j == nullptr || j->nodes.size() < 2) continue;
    ++all;
    for (const std::uint32_t leaf : leaves_of(s.site, j->nodes)) ++leaves[leaf].jobs;
  }
  std::optional<Choice> best;
  bool alike = false;
  for (const auto& [leaf, x] : leaves) {
    if (x.owners.size() < kOwners || static_cast<double>(x.struck) < kMost * static_cast<double>(struck.size())) continue;
    const double chance = static_cast<double>(leaves.size()) * drawn(x.struck, struck.size(), x.jobs, all);
    if (best && chance > best->chance) continue;
    alike = best && chance == best->chance;
    best = Choice{leaf, chance, x.struck, x.jobs, struck.size() - x.struck, all};
  }
  return best && !alike && best->chance <= kShared ? best : std::nullopt;
}

void LeafHangs::judge(const State& s, Time utc, Time mono, Signs& out) {
  std::erase_if(cases_, [&](const auto& x) { return mono - x.second.at > s.policy.limits.cause_window + kOthersSpeak; });
  due_ = kNever;
  std::map<JobId, const Case*> struck;
  for (auto& [id, c] : cases_) {
    c.excused = c.excused || known_fault(s, c.nodes);
    if (mono - c.at < kOthersSpeak) {
      due_ = std::min(due_, c.at + kOthersSpeak);
    } else if (!c.excused) {
      struck[id] = &c;
    }
  }
  const auto choice = choose(s, struck);
  if (!choice) return;
  std::set<std::string_view> owners;
  std::set<NodeId> nodes;
  Sign sign;
  sign.evidence.witness = Witness::job;
  Time first = mono;
  for (const auto& [id, c] : struck) {
    if (leaves_of(s.site, c->nodes).count(choice->leaf) == 0) continue;
    for (const NodeId n : c->nodes) {
      if (n.v < s.nodes.size() && s.site.nodes[n.v].leaf == choice->leaf) nodes.insert(n);
    }
    owners.insert(c->owner);
    if (c->witness == Witness::engine) sign.evidence.witness = Witness::engine;
    first = std::min(first, c->at);
  }
  std::vector<std::string> names;
  for (const NodeId n : nodes) names.push_back(s.site.nodes[n.v].name);
  std::string text =
      fmt::format("{} of {} jobs there hung or lost nodes, of {} owners, and {} of {} elsewhere{}; no fault of a node is known: "
                  "{}",
                  choice->struck, choice->there, owners.size(), choice->elsewhere, choice->jobs - choice->there,
                  open_there(s, choice->leaf), compress_node_list(std::move(names)));
  if (text.size() > kTextMax) text = std::string(clipped(text, kTextMax)) + "...";
  sign.kind = FindingKind::common_cause;
  sign.severity = Severity::warning;
  sign.code = std::clamp(static_cast<int>(std::lround(100 * (1 - choice->chance))), 1, 99);
  sign.evidence.at = utc;
  sign.evidence.text = std::move(text);
  sign.since = utc - (mono - first);
  sign.subject = std::string(kHangsSubject) + std::to_string(choice->leaf);
  out.seen.push_back(std::move(sign));
  open_[choice->leaf] = mono;
}

void LeafHangs::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  if (due_ <= mono) judge(s, utc, mono, out);
  for (auto it = open_.begin(); it != open_.end();) {
    if (mono - it->second < kQuiet) {
      ++it;
      continue;
    }
    Relief over;
    over.kind = FindingKind::common_cause;
    over.why = "no further job has hung there for an hour";
    over.subject = std::string(kHangsSubject) + std::to_string(it->first);
    out.gone.push_back(std::move(over));
    it = open_.erase(it);
  }
}

}  // namespace muster::detect
