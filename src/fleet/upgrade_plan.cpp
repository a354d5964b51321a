#include "fleet/upgrade_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/node_list.h"
#include "base/text.h"
#include "fleet/upgrade_first.h"
#include "fleet/upgrade_version.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

constexpr std::string_view kDriverBranches = "C096";  // which branches of the driver there are
constexpr std::string_view kSlurmOrder = "C077";      // slurmdbd, slurmctld, slurmd
constexpr std::string_view kSlurmctld = "slurm.slurmctld";
constexpr std::string_view kNcclCuda = "nccl.cuda";
constexpr Duration kFactsMost = days(7);  // as old as they may be, as for a node that joins

// "node[01-04]", as part of a sentence.
std::string names_of(const std::vector<std::string>& nodes) {
  const std::string all = compress_node_list(nodes);
  constexpr std::size_t kShown = 200;
  return all.size() <= kShown ? all : fmt::format("{}...", clipped(all, kShown));
}

std::string nodes_text(std::size_t n) { return fmt::format("{} node{}", n, n == 1 ? "" : "s"); }

bool mentions(std::string_view text, std::string_view fact) {
  const auto inside = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_' || c == '.'; };
  for (std::size_t at = text.find(fact); at != std::string_view::npos; at = text.find(fact, at + 1)) {
    const std::size_t end = at + fact.size();
    if ((at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]))) return true;
  }
  return false;
}

// What is not known has left its place in the sentence: nobody is to read "{cuda.toolkit}".
std::string without_places(std::string says) {
  for (std::size_t at = says.find('{'); at != std::string::npos; at = says.find('{', at)) {
    const std::size_t end = says.find('}', at);
    if (end == std::string::npos) break;
    says.replace(at, end - at + 1, "(not known)");
  }
  return says;
}

class Planner {
 public:
  Planner(const UpgradeAsk& ask, const FactTable& table, const FactBook& book, const Site& site,
          std::span<const UpgradeStep> order, std::span<const FleetRule> rules)
      : ask_(ask), table_(table), book_(book), site_(site), order_(order), rules_(rules) {}

  Result<UpgradePlan> plan() {
    if (auto ok = choose_nodes(); !ok) return tl::unexpected(ok.error());
    if (auto ok = choose_parts(); !ok) return tl::unexpected(ok.error());
    look_at_age();
    sort_nodes();
    put_parts();
    if (plan_.nodes.empty()) return std::move(plan_);
    look_at_directions();
    look_at_domains();
    judge();
    look_at_nccl();
    note_other_models();
    if (auto ok = choose_first(site_, of_kinds(), ask_.canaries, plan_); !ok) return tl::unexpected(ok.error());
    return std::move(plan_);
  }

 private:
  struct Place {
    std::size_t row = 0;   // of the facts
    std::size_t node = 0;  // of the site
  };
  enum class Has : std::uint8_t { unknown, absent, target, another };
  struct Move {
    const UpgradeStep* step = nullptr;
    std::string version;
    bool added = false;
  };

  Result<void> choose_nodes();
  Result<void> check_version(const UpgradeStep& s, const std::string& version) const;
  Result<void> choose_parts();
  void look_at_age();
  bool known_controllers();
  const UpgradeStep* step(std::string_view what) const;
  const std::string* version_of(std::size_t row, const UpgradeStep& s) const;
  Has has(const Place& p, const Move& m) const;
  std::string having(const Place& p) const;
  void sort_nodes();
  void leave_out(const std::map<std::string, std::vector<Place>>& others);
  void put_parts();
  void put_part(std::size_t k);
  void look_at_directions();
  void look_at_domains();
  void judge();
  void judge_one(const Verdict& v);
  void look_at_nccl();
  void note_other_models();
  FactTable with_targets() const;
  std::vector<FirstNode> of_kinds() const;
  std::vector<std::string> names(const std::vector<Place>& places) const;
  PlanWord word(const Verdict& v, std::string says) const;

  const UpgradeAsk& ask_;
  const FactTable& table_;
  const FactBook& book_;
  const Site& site_;
  std::span<const UpgradeStep> order_;
  std::span<const FleetRule> rules_;
  std::vector<Place> looked_at_;  // in the site's order
  std::vector<Place> places_;     // of them, those that are planned
  std::vector<Place> done_;       // and those that have all of it
  std::vector<Place> without_;    // and those that have nothing that is asked for
  std::vector<Move> moves_;       // what is wanted and what comes with it, in order
  std::vector<Move> chosen_;      // of each part of the plan
  std::set<std::size_t> rows_;    // of places_
  UpgradePlan plan_;
};

const UpgradeStep* Planner::step(std::string_view what) const {
  const auto it = std::find_if(order_.begin(), order_.end(), [&](const UpgradeStep& s) { return s.what == what; });
  return it == order_.end() ? nullptr : &*it;
}

std::vector<std::string> Planner::names(const std::vector<Place>& places) const {
  std::vector<std::string> out;
  out.reserve(places.size());
  for (const Place& p : places) out.push_back(site_.nodes[p.node].name);
  return out;
}

Result<void> Planner::choose_nodes() {
  std::map<std::string, std::size_t> at;
  for (std::size_t n = 0; n < site_.nodes.size(); ++n) at[site_.nodes[n].name] = n;
  const std::set<std::string> only(ask_.nodes.begin(), ask_.nodes.end());
  for (const std::string& name : only) {
    if (table_.find_node(name) < 0)
      return fail(Code::not_found, fmt::format("there are no facts of node {}", printable(name)),
                  "`muster fleet inventory --ssh LIST --out facts.jsonl` reads them");
  }
  std::vector<std::string> strangers;
  for (std::size_t row = 0; row < table_.nodes().size(); ++row) {
    const std::string& name = table_.nodes()[row].name;
    if (!only.empty() && only.count(name) == 0) continue;
    const auto it = at.find(name);
    if (it == at.end()) {
      strangers.push_back(name);
      continue;
    }
    looked_at_.push_back({row, it->second});
  }
  if (looked_at_.empty())
    return fail(Code::bad_input, "none of the nodes with facts is in the cluster",
                strangers.empty() ? "the facts name no node" : fmt::format("the facts name {}", printable(strangers.front())));
  if (!strangers.empty())
    plan_.notes.push_back(
        fmt::format("{} with facts not in the cluster, left out: {}", nodes_text(strangers.size()), names_of(strangers)));
  std::sort(looked_at_.begin(), looked_at_.end(), [](const Place& a, const Place& b) { return a.node < b.node; });
  plan_.looked_at = static_cast<std::uint32_t>(looked_at_.size());
  if (!only.empty() || looked_at_.size() == site_.nodes.size()) return {};
  std::set<std::uint32_t> told;
  for (const Place& p : looked_at_) told.insert(p.node);
  std::vector<std::string> without;
  for (std::uint32_t n = 0; n < site_.nodes.size(); ++n) {
    if (!told.contains(n)) without.push_back(site_.nodes[n].name);
  }
  plan_.notes.push_back(
      fmt::format("{} of the cluster without facts, left out: {}", nodes_text(without.size()), names_of(without)));
  return {};
}

// What nodes had long ago is not what they would be upgraded from.
void Planner::look_at_age() {
  if (ask_.now.ns <= 0) return;
  std::vector<std::string> old, timeless, ahead;
  Time oldest = kNever;
  for (const Place& p : looked_at_) {
    const Time at = table_.nodes()[p.row].at;
    const std::string& name = site_.nodes[p.node].name;
    if (at.ns <= 0) {
      timeless.push_back(name);
    } else if (at > ask_.now + hours(1)) {
      ahead.push_back(name);
    } else if (ask_.now - at > kFactsMost) {
      old.push_back(name);
      oldest = std::min(oldest, at);
    }
  }
  const auto tell = [&](std::vector<std::string> nodes, const std::string& what) {
    if (nodes.empty()) return;
    PlanWord w;
    w.says = fmt::format("what {} have now: {}", nodes_text(nodes.size()), what);
    w.nodes = std::move(nodes);
    w.next = "read their facts anew: muster fleet inventory";
    plan_.unknown.push_back(std::move(w));
  };
  const double most_days = kFactsMost.seconds() / 86400;
  tell(std::move(old), fmt::format("their facts are more than {:.0f} days old, the oldest of {}", most_days, render_utc(oldest)));
  tell(std::move(timeless), "their facts do not say when they were read");
  tell(std::move(ahead), "their facts are of a time that is not yet");
}

// Of a part of the node where it has several, the oldest: that one has to be brought to what is wanted.
const std::string* Planner::version_of(std::size_t row, const UpgradeStep& s) const {
  const std::string* oldest = nullptr;
  for (const std::size_t c : table_.columns_of(s.facts.front())) {
    const std::string* v = table_.columns()[c].value(row);
    if (v != nullptr && (oldest == nullptr || compare_versions(*v, *oldest) < 0)) oldest = v;
  }
  return oldest;
}

Planner::Has Planner::has(const Place& p, const Move& m) const {
  if (const std::string* v = version_of(p.row, *m.step); v != nullptr)
    return same_version(*m.step, *v, m.version) ? Has::target : Has::another;
  for (const std::size_t c : table_.columns_of(m.step->facts.front())) {
    if (table_.columns()[c].code(p.row) == kFactAbsent) return Has::absent;
  }
  return Has::unknown;
}

Result<void> Planner::check_version(const UpgradeStep& s, const std::string& version) const {
  const bool of_driver = s.what == "driver" || std::find(s.with.begin(), s.with.end(), "driver") != s.with.end();
  if (!is_word(version))
    return fail(Code::bad_input, fmt::format("'{}' is no version", printable(version)),
                "letters, digits and . _ + : ~ - are allowed");
  if (of_driver && !is_driver_version(version))
    return fail(Code::bad_input, fmt::format("'{}' is no version of {}", printable(version), s.what),
                "a whole version of the driver, e.g. 580.159.04: a branch alone is none");
  if (!is_digit(version.front()))
    return fail(Code::bad_input, fmt::format("'{}' is no version of {}", printable(version), s.what),
                fmt::format("it begins with a digit, as the facts have it ({})", s.facts.front()));
  return {};
}

Result<void> Planner::choose_parts() {
  std::map<std::string, Move> moves;
  std::vector<std::string> to_look_at;
  for (const auto& [what, version] : ask_.to) {
    const UpgradeStep* s = step(what);
    if (s == nullptr) {
      std::vector<std::string> known;
      for (const UpgradeStep& x : order_) known.push_back(x.what);
      const auto close = nearest(what, known);
      return fail(Code::bad_input, fmt::format("'{}' is nothing to upgrade", printable(what)),
                  close ? fmt::format("did you mean {}?", *close) : "it must be one of: " + join(known, ", "));
    }
    if (auto ok = check_version(*s, version); !ok) return ok;
    if (!moves.emplace(what, Move{s, version, false}).second)
      return fail(Code::bad_input, fmt::format("{} is wanted twice", what));
    to_look_at.push_back(what);
  }
  while (!to_look_at.empty()) {  // what moves with it, and what moves with that
    const Move from = moves.at(to_look_at.back());
    to_look_at.pop_back();
    for (const std::string& with : from.step->with) {
      const UpgradeStep* s = step(with);
      if (s == nullptr) continue;
      const auto [it, fresh] = moves.emplace(with, Move{s, from.version, true});
      if (fresh) to_look_at.push_back(with);
      if (it->second.version != from.version)
        return fail(
            Code::bad_input,
            fmt::format("{} {} and {} {}: they move to one version", from.step->what, from.version, with, it->second.version),
            "ask for one version of both");
    }
  }
  const auto of_controllers = [](const UpgradeStep& s) { return s.what == "slurmdbd" || s.what == "slurmctld"; };
  const bool daemons = std::any_of(moves.begin(), moves.end(), [&](const auto& m) { return of_controllers(*m.second.step); });
  const bool others = std::any_of(moves.begin(), moves.end(), [&](const auto& m) { return !of_controllers(*m.second.step); });
  const bool leave = daemons && (others || !known_controllers());
  for (const UpgradeStep& s : order_) {
    const auto it = moves.find(s.what);
    if (it == moves.end()) continue;
    if (!leave || !of_controllers(s)) {
      moves_.push_back(it->second);
      continue;
    }
    plan_.refused.push_back({fmt::format("{} runs on controllers: it is not planned onto {}", s.what,
                                         others ? "the nodes that run jobs" : "nodes that are not known to be one"),
                             s.rule,
                             s.source,
                             {},
                             {},
                             "upgrade them first, by hand: slurmdbd, then slurmctld; then the nodes: --to slurm=VERSION "
                             "(nodes whose node.role is controller are planned by --to slurmctld= alone)"});
  }
  return {};
}

// Only nodes of which the facts show that they are controllers. What --set says of all nodes is about the cluster, not about
// them.
bool Planner::known_controllers() {
  const auto said = [&](const Place& p) {
    return table_.value(p.row, "", "slurm.slurmctld") != nullptr || table_.value(p.row, "", "slurm.slurmdbd") != nullptr;
  };
  const bool of_all = std::all_of(looked_at_.begin(), looked_at_.end(), said);
  std::vector<Place> controllers;
  for (const Place& p : looked_at_) {
    const std::string* role = table_.value(p.row, "", "node.role");
    const bool runs_jobs =
        table_.value(p.row, "", "slurm.slurmd") != nullptr || table_.value(p.row, "", "driver.loaded") != nullptr;
    if (role != nullptr ? *role == "controller" : said(p) && !of_all && !runs_jobs) controllers.push_back(p);
  }
  if (controllers.empty()) return false;
  if (controllers.size() < looked_at_.size())
    plan_.notes.push_back(
        fmt::format("only the controllers are planned; {} left out", nodes_text(looked_at_.size() - controllers.size())));
  looked_at_ = std::move(controllers);
  plan_.looked_at = static_cast<std::uint32_t>(looked_at_.size());
  return true;
}

// What a node has of all that moves, as a word: nodes with the same word go the same way, forth and back.
std::string Planner::having(const Place& p) const {
  std::string all;
  for (const Move& m : moves_) {
    switch (has(p, m)) {
      case Has::unknown: all += "?"; break;
      case Has::absent: all += "-"; break;
      case Has::target: all += "="; break;
      case Has::another: all += *version_of(p.row, *m.step); break;
    }
    all += '\x1f';
  }
  return all;
}

// Into those that have all of it, those that have nothing of what is asked for, and those that start from the same; of these the
// largest group is planned.
void Planner::sort_nodes() {
  if (moves_.empty()) return;
  std::map<std::string, std::vector<Place>> groups, lacking;
  for (const Place& p : looked_at_) {
    bool moves = false;
    const Move* lacks = nullptr;
    for (const Move& m : moves_) {
      const Has h = has(p, m);
      moves = moves || h == Has::another || h == Has::unknown;
      if (h == Has::absent && !m.added && lacks == nullptr) lacks = &m;
    }
    if (lacks != nullptr)
      lacking[lacks->step->what].push_back(p);
    else if (!moves)
      done_.push_back(p);
    else
      groups[having(p)].push_back(p);
  }
  for (const auto& [what, nodes] : lacking) {
    without_.insert(without_.end(), nodes.begin(), nodes.end());
    plan_.notes.push_back(fmt::format("{} without any {}, left out: {}", nodes_text(nodes.size()), what, names_of(names(nodes))));
  }
  if (!done_.empty())
    plan_.notes.push_back(fmt::format("{} {} it already: {}", nodes_text(done_.size()), done_.size() == 1 ? "has" : "have",
                                      names_of(names(done_))));
  plan_.done = names(done_);
  plan_.lacking = names(without_);
  const auto most = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    const bool knows_a = a.first.find('?') == std::string::npos, knows_b = b.first.find('?') == std::string::npos;
    return std::pair(knows_a, a.second.size()) < std::pair(knows_b, b.second.size());
  });
  if (most == groups.end()) return;
  places_ = most->second;
  const auto main = split(most->first, '\x1f');
  // Of whom somebody does not know all, but nothing else: they are with them, and unknown.
  const auto agrees = [&](const std::string& other) {
    const auto theirs = split(other, '\x1f');
    for (std::size_t k = 0; k < main.size(); ++k) {
      if (theirs[k] != "?" && theirs[k] != main[k]) return false;
    }
    return true;
  };
  std::map<std::string, std::vector<Place>> others;
  for (const auto& [what, nodes] : groups) {
    if (what == most->first) continue;
    if (agrees(what))
      places_.insert(places_.end(), nodes.begin(), nodes.end());
    else
      others[what] = nodes;
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.node < b.node; });
  for (const Place& p : places_) rows_.insert(p.row);
  plan_.nodes = names(places_);
  leave_out(others);
}

// One version to go back to for all: who has another would be taken back to what it never had.
void Planner::leave_out(const std::map<std::string, std::vector<Place>>& others) {
  constexpr std::size_t kTold = 8;
  std::size_t told = 0, rest = 0;
  for (const auto& [what, nodes] : others) {
    if (++told > kTold) {
      rest += nodes.size();
      continue;
    }
    std::vector<std::string> has_these;
    for (const Move& m : moves_) {
      const Has h = has(nodes.front(), m);
      const std::string* v = version_of(nodes.front().row, *m.step);
      has_these.push_back(fmt::format("{} {}", m.step->what, v != nullptr ? *v : h == Has::absent ? "absent" : "not known"));
    }
    plan_.notes.push_back(fmt::format("{} with another version ({}), left out: plan them by themselves: --nodes '{}'",
                                      nodes_text(nodes.size()), join(has_these, ", "), names_of(names(nodes))));
  }
  if (rest > 0) plan_.notes.push_back(fmt::format("{} more with yet other versions, left out", nodes_text(rest)));
}

void Planner::put_part(std::size_t k) {
  const Move& m = moves_[k];
  PlannedPart part;
  part.what = m.step->what;
  part.version = m.version;
  part.added = m.added;
  part.why = m.step->about;
  part.rule = m.step->rule;
  part.source = m.step->source;
  bool moves = places_.empty() && !m.added;
  std::vector<std::string> unknown, odd;
  for (const Place& p : places_) {
    const Has h = has(p, m);
    moves = moves || h == Has::another || (h == Has::unknown && !m.added);
    if (h == Has::unknown) unknown.push_back(site_.nodes[p.node].name);
    if (h != Has::another) continue;
    part.before = *version_of(p.row, *m.step);
    if (!is_word(part.before)) odd.push_back(site_.nodes[p.node].name);
  }
  for (const Place& p : looked_at_) {
    const Has h = has(p, m);
    part.have_it += h == Has::target ? 1 : 0;
    part.have_another += h == Has::another && *version_of(p.row, *m.step) != part.before ? 1 : 0;
  }
  if (!unknown.empty())
    plan_.unknown.push_back(
        {m.added ? fmt::format("whether the nodes have {}, which moves with what is asked for, is not known", m.step->what)
                 : fmt::format("which {} the nodes have is not known: it could not be taken back", m.step->what),
         m.step->rule,
         m.step->source,
         unknown,
         {m.step->facts.front()},
         {}});
  if (!odd.empty())
    plan_.refused.push_back({fmt::format("the facts say of {} that it is '{}': that is no version, and could not be taken back",
                                         m.step->facts.front(), part.before),
                             {},
                             {},
                             odd,
                             {},
                             "read the facts of these nodes anew, and look at who wrote them"});
  if (!moves) return;
  plan_.parts.push_back(std::move(part));
  chosen_.push_back(m);
}

void Planner::put_parts() {
  for (std::size_t k = 0; k < moves_.size(); ++k) put_part(k);
  if (places_.empty()) return;
  bool by_domain = true;
  for (const Move& m : chosen_) {
    if (m.step->apart.empty()) continue;
    plan_.apart.push_back({m.step->apart, m.step->rule, m.step->source, {}, {}, {}});
    by_domain = by_domain && m.step->apart_in_domain;
  }
  // One rule about whole jobs keeps whole jobs apart, whatever else is asked of domains.
  plan_.apart_within = by_domain && !plan_.apart.empty() ? ApartWithin::domain : ApartWithin::job;
}

// Whoever goes back says so.
void Planner::look_at_directions() {
  for (const PlannedPart& p : plan_.parts) {
    if (p.before.empty() || compare_versions(p.version, p.before) >= 0) continue;
    const std::string says = fmt::format("a downgrade: {} goes from {} back to {}", p.what, p.before, p.version);
    if (ask_.allow_downgrade)
      plan_.notes.push_back(fmt::format("{}, on {}", says, nodes_text(plan_.nodes.size())));
    else
      plan_.refused.push_back({says, {}, {}, plan_.nodes, {}, "where that is what is wanted: --allow-downgrade"});
  }
}

// A domain of which a part is left out stays in two halves when the upgrade has ended.
void Planner::look_at_domains() {
  constexpr std::size_t kTold = 8;
  const auto imex = std::find_if(chosen_.begin(), chosen_.end(), [](const Move& m) { return m.step->what == "imex"; });
  std::vector<std::size_t> planned, done;
  for (const Place& p : places_) planned.push_back(p.node);
  for (const Place& p : done_) done.push_back(p.node);
  for (const Place& p : without_) done.push_back(p.node);
  const std::vector<CutDomain> cut = cut_domains(site_, planned, done);
  for (std::size_t k = 0; k < cut.size(); ++k) {
    const std::string says =
        fmt::format("{}: {} of {} nodes are planned, it would stay split", cut[k].name, cut[k].planned, cut[k].nodes);
    if (imex != chosen_.end())
      plan_.refused.push_back({fmt::format("{}: {}", says, imex->step->apart),
                               imex->step->rule,
                               imex->step->source,
                               {},
                               {},
                               "name whole NVLink domains in --nodes, with the facts of all of their nodes"});
    else if (k < kTold)
      plan_.notes.push_back(says);
  }
  if (imex == chosen_.end() && cut.size() > kTold)
    plan_.notes.push_back(fmt::format("and {} more such domains", cut.size() - kTold));
}

// The facts as they would be: a node has the wanted version of what it has at all; what changes with it nobody knows.
FactTable Planner::with_targets() const {
  FactTable t = table_;
  for (const Move& m : chosen_) {
    const auto each = [&](const std::string& fact, auto what) {
      for (const std::size_t c : table_.columns_of(fact)) {
        const FactColumn& column = table_.columns()[c];
        for (const Place& p : places_) {
          if (column.value(p.row) != nullptr) what(p.row, column.entity);
        }
      }
    };
    for (const std::string& fact : m.step->facts)
      each(fact, [&](std::size_t row, const std::string& entity) { t.put(row, entity, fact, m.version); });
    for (const std::string& fact : m.step->stale)
      each(fact, [&](std::size_t row, const std::string& entity) { t.put_unreadable(row, entity, fact); });
    const std::string cuda = m.step->what == "nccl" ? cuda_of(m.version) : "";
    for (const Place& p : places_) {
      if (!cuda.empty()) t.put(p.row, "", kNcclCuda, cuda);
    }
  }
  return t;
}

PlanWord Planner::word(const Verdict& v, std::string says) const {
  PlanWord w;
  w.says = without_places(std::move(says));
  w.rule = rules_[v.rule].id;
  w.source = rules_[v.rule].source;
  for (const std::uint32_t n : v.nodes) {
    if (rows_.count(n) != 0) w.nodes.push_back(table_.nodes()[n].name);
  }
  w.missing = v.missing;
  return w;
}

void Planner::judge_one(const Verdict& v) {
  const FleetRule& r = rules_[v.rule];
  std::set<std::string> stale;
  for (const Move& m : chosen_) stale.insert(m.step->stale.begin(), m.step->stale.end());
  const auto of_the_upgrade = [&](const std::string& missing) { return stale.count(missing) != 0; };
  const auto by_hand = [&](const std::string& missing) {
    const FactMeaning* m = book_.find(missing.substr(missing.find(':') + 1));
    return m != nullptr && m->read == "given";
  };
  const bool grave = r.severity == RuleSeverity::error || r.kind == RuleKind::date;
  if (v.status == RuleStatus::broken && r.id == kDriverBranches) {
    PlanWord w = word(v, v.says);
    w.next = "look whether there is such a driver; `muster upgrade start driver VERSION` takes it without asking rules";
    plan_.unknown.push_back(std::move(w));
  } else if (v.status == RuleStatus::broken && grave) {
    plan_.refused.push_back(word(v, v.says));
    plan_.refused.back().next = r.todo;
  } else if (v.status == RuleStatus::broken && r.severity == RuleSeverity::warn) {
    plan_.notes.push_back(fmt::format("{} ({}; {})", without_places(v.says), r.id, r.source));
  }
  if (v.status != RuleStatus::unknown || !grave || v.missing.empty()) return;
  const std::string missing = join(v.missing, ", ");
  const bool slurm = r.id == kSlurmOrder && std::find(v.missing.begin(), v.missing.end(), kSlurmctld) != v.missing.end();
  if (std::all_of(v.missing.begin(), v.missing.end(), of_the_upgrade)) {
    plan_.notes.push_back(fmt::format("{} is judged afterwards: {} changes with it", r.id, missing));
  } else if (!slurm && std::all_of(v.missing.begin(), v.missing.end(), by_hand)) {
    // No program can be asked to read it: who waited for it would never begin.
    plan_.notes.push_back(fmt::format("{} is not judged: nobody said {}, which no probe reads", r.id, missing));
  } else {
    plan_.unknown.push_back(word(v, fmt::format("not known: {}{}", missing, v.found.empty() ? "" : " (" + v.found + ")")));
  }
}

void Planner::judge() {
  std::set<std::string> touched;
  for (const Move& m : chosen_) touched.insert(m.step->facts.begin(), m.step->facts.end());
  const auto about = [&](const FleetRule& r) {
    return std::any_of(touched.begin(), touched.end(), [&](const std::string& fact) {
      return mentions(r.a, fact) || mentions(r.b, fact) || mentions(r.range_a, fact) || mentions(r.range_b, fact);
    });
  };
  CheckOptions options;
  options.today = ask_.today;
  const FactTable then = with_targets();
  const Verdicts verdicts = check_rules(then, book_, rules_, options);
  for (const Verdict& v : verdicts.all) {
    // Nodes that a job spans are kept from having several versions: that is what `apart` is for.
    if (rules_[v.rule].kind == RuleKind::job || !about(rules_[v.rule])) continue;
    if (std::any_of(v.nodes.begin(), v.nodes.end(), [&](std::uint32_t n) { return rows_.count(n) != 0; })) judge_one(v);
  }
}

// The CUDA that NCCL was built for asks for a driver as that CUDA does (C001, C002), but it comes with jobs too, and NVIDIA says
// so of toolkits alone: a driver that knows an older one is told of, and somebody has to know.
void Planner::look_at_nccl() {
  const auto nccl = std::find_if(chosen_.begin(), chosen_.end(), [](const Move& m) { return m.step->what == "nccl"; });
  if (nccl == chosen_.end()) return;
  const std::string cuda = cuda_of(nccl->version);
  if (cuda.empty()) return;
  const FactTable then = with_targets();
  const std::uint64_t wanted = parse_uint(split(cuda, '.').front()).value_or(0);
  std::map<std::string, std::vector<std::string>> of_driver;
  for (const Place& p : places_) {
    const std::string* driver = then.value(p.row, "", "driver.loaded");
    const std::string* most = then.value(p.row, "", "cuda.driver_max");
    // A new driver's own word is not there yet: by branch, as C001 and C002 have it.
    const std::uint64_t branch = driver == nullptr ? 0 : parse_uint(split(*driver, '.').front()).value_or(0);
    const std::uint64_t knows = most != nullptr ? parse_uint(split(*most, '.').front()).value_or(0)
                                : branch >= 580 ? 13
                                : branch >= 525 ? 12
                                                : 0;
    if (knows < wanted) of_driver[driver == nullptr ? "not known" : *driver].push_back(site_.nodes[p.node].name);
  }
  for (auto& [driver, nodes] : of_driver) {
    PlanWord w;
    w.says = fmt::format("whether NCCL {} works on driver {}: it is built for CUDA {}, which that driver is not known to run",
                         nccl->version, driver, cuda);
    w.nodes = std::move(nodes);
    w.next = "upgrade the driver first, or take the NCCL that was built for its CUDA";
    plan_.unknown.push_back(std::move(w));
  }
}

// A cluster file of other machines than the facts are of: one of both is old.
void Planner::note_other_models() {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> differ;
  const auto columns = table_.columns_of("gpu.model");
  for (const Place& p : places_) {
    const NodeSpec& x = site_.nodes[p.node];
    const std::string& model = x.gpu_model.empty() ? site_.gpu_model : x.gpu_model;
    const std::string wanted = lower(std::string_view(model).substr(0, model.find_first_of("-_ ")));
    for (const std::size_t c : columns) {
      const std::string* v = table_.columns()[c].value(p.row);
      if (v == nullptr || wanted.empty()) continue;
      const std::string has = lower(*v);
      const std::size_t at = has.find(wanted);
      const bool whole = at != std::string::npos && (at == 0 || !std::isalnum(static_cast<unsigned char>(has[at - 1])));
      if (whole) continue;
      differ[{*v, model}].push_back(x.name);
      break;
    }
  }
  for (const auto& [both, nodes] : differ)
    plan_.notes.push_back(fmt::format("the facts say {} of {}, the cluster file {}: {}", both.first, nodes_text(nodes.size()),
                                      both.second, names_of(nodes)));
}

std::vector<FirstNode> Planner::of_kinds() const {
  std::map<std::size_t, std::size_t> kind_of;
  std::size_t kinds = 0;
  for (const Cohort& c : cohorts_of(table_, book_)) {
    bool any = false;
    for (const Place& p : places_) {
      if (!std::binary_search(c.nodes.begin(), c.nodes.end(), static_cast<std::uint32_t>(p.row))) continue;
      kind_of[p.node] = kinds;
      any = true;
    }
    kinds += any ? 1 : 0;
  }
  std::vector<FirstNode> out;
  for (const Place& p : places_) out.push_back({p.node, kind_of.count(p.node) != 0 ? kind_of.at(p.node) : 0});
  return out;
}

}  // namespace

Result<UpgradePlan> plan_upgrade(const UpgradeAsk& ask, const FactTable& table, const FactBook& book, const Site& site,
                                 std::span<const UpgradeStep> order, std::span<const FleetRule> rules) {
  return Planner(ask, table, book, site, order, rules).plan();
}

void put_plan(const UpgradePlan& plan, UpgradeSpec& spec) {
  spec.parts.clear();
  for (const PlannedPart& p : plan.parts) spec.parts.push_back({p.what, p.version, p.before});
  if (!plan.parts.empty()) {
    spec.what = plan.parts.front().what;
    spec.version = plan.parts.front().version;
    spec.before = plan.parts.front().before;
  }
  spec.nodes = compress_node_list(plan.nodes);
  spec.canary_nodes = compress_node_list(plan.canaries);
  spec.canaries = plan.canaries_wanted;
  spec.apart.clear();
  spec.apart_within = plan.apart_within;
  for (const PlanWord& w : plan.apart) spec.apart += fmt::format("{}{} ({})", spec.apart.empty() ? "" : "; ", w.says, w.rule);
  spec.wait_for_jobs = true;
  spec.measured = true;
}

}  // namespace muster::fleet
