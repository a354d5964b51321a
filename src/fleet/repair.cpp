#include "fleet/repair.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/node_list.h"
#include "base/text.h"
#include "fleet/foreign.h"
#include "fleet/lockstep.h"
#include "fleet/remedied.h"

namespace muster::fleet {
namespace {

using Nodes = std::vector<std::uint32_t>;

class Planner {
 public:
  Planner(const RepairOf& of, const FactBook& book, const RemedyBook& remedies) : of_(of), book_(book), remedies_(remedies) {}

  Repair plan() {
    out_.nodes = of_.nodes;
    out_.cohorts = of_.cohorts;
    out_.notes = of_.notes;
    order();
    std::map<std::uint32_t, std::vector<const Wish*>> by_rank;
    for (const Wish& w : of_.wishes) by_rank[rank_[w.node]].push_back(&w);
    for (const auto& [rank, wishes] : by_rank) {
      const std::uint32_t node = wishes.front()->node;
      if (!plain_name(of_.nodes[node]) || taken_name(of_.nodes[node])) {
        out_.notes.push_back(
            fmt::format("{}: {}, left out", printable(of_.nodes[node]),
                        plain_name(of_.nodes[node]) ? "Ansible has another use for that name" : "no host is called so"));
        continue;
      }
      plan_node(node, wishes);
    }
    waves();
    for (ChangeSet& s : out_.sets) std::sort(s.nodes.begin(), s.nodes.end());
    for (Wave& w : out_.waves) std::sort(w.nodes.begin(), w.nodes.end());
    by_hand();
    return std::move(out_);
  }

 private:
  // Nodes by name, so that nothing hangs on the order in which their facts came.
  void order() {
    Nodes all;
    for (std::uint32_t n = 0; n < of_.nodes.size(); ++n) all.push_back(n);
    std::sort(all.begin(), all.end(),
              [this](std::uint32_t a, std::uint32_t b) { return natural_less(of_.nodes[a], of_.nodes[b]); });
    rank_.resize(all.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) rank_[all[i]] = i;
  }

  void hand(const Wish& w, std::string what, bool left_out = false) {
    const std::string fact = fact_name(w.entity, w.key), wanted = w.absent ? "absent" : w.value;
    ByHand& b = by_hand_[fact + '\x1f' + wanted + '\x1f' + what];
    b.fact = fact;
    b.wanted = wanted;
    b.what = std::move(what);
    b.left_out = left_out;
    b.key = w.key;
    b.entities = {w.entity};
    if (w.entity.empty()) b.entities.clear();
    b.nodes.push_back(w.node);
  }

  // The same of several parts of the same nodes is one thing: of eight GPUs, say.
  void by_hand() {
    std::map<std::tuple<std::string, std::string, std::string, bool, Nodes>, std::size_t> said;
    for (auto& [name, b] : by_hand_) {
      std::sort(b.nodes.begin(), b.nodes.end());
      if (!b.entities.empty()) {
        const auto [at, fresh] = said.emplace(std::tuple(b.key, b.wanted, b.what, b.left_out, b.nodes), out_.by_hand.size());
        if (!fresh) {
          out_.by_hand[at->second].entities.push_back(b.entities.front());
          continue;
        }
      }
      out_.by_hand.push_back(std::move(b));
    }
  }

  // A wish and what became of it: a change, or the reason why there is none; neither: it moves with another's.
  struct Asked {
    const Wish* wish = nullptr;
    std::optional<Change> change;
    std::string reason;
    bool left_out = false;
    bool of_driver = false;
  };

  // The fact whose change brings this one.
  std::string root_of(const std::string& key, const std::set<std::string, std::less<>>& wished) const {
    std::string at = key;
    for (int steps = 0; steps < 8; ++steps) {
      const Remedy* next = remedies_.find(at);
      if (next == nullptr || next->by != RemedyBy::follows) break;
      at = next->target;
      if (wished.contains(at)) break;
    }
    return at;
  }

  Asked ask(const Wish& w, const std::set<std::string, std::less<>>& wished) const {
    Asked out{&w, std::nullopt, "", false, false};
    const std::string root = root_of(w.key, wished);
    out.of_driver = is_of_driver(root);
    if (const auto refused = of_.refused.find({w.node, fact_name(w.entity, w.key)}); refused != of_.refused.end()) {
      out.reason = refused->second;
      out.left_out = true;
      return out;
    }
    const Remedy* r = remedies_.find(w.key);
    if (r == nullptr) {
      out.reason = without_remedy(w.key);
    } else if (r->by == RemedyBy::hand) {
      out.reason = r->target;
    } else if (r->by == RemedyBy::follows) {
      if (!wished.contains(root))
        out.reason = fmt::format("moves with {}, which is as it should be or not known: {}", root,
                                 r->takes == RemedyTakes::reboot ? "reboot the node and look again" : "look why");
    } else if (auto c = change_of(w, *r, of_.known)) {
      out.change = std::move(*c);
    } else {
      out.reason = c.error().what;
    }
    return out;
  }

  // Where two wishes ask for different things of the same, neither is followed.
  static void two_things(std::vector<Asked>& asked) {
    std::map<std::pair<RemedyBy, std::string>, std::vector<Asked*>> same;
    for (Asked& a : asked) {
      if (a.change) same[{a.change->by, a.change->name}].push_back(&a);
    }
    for (auto& [what, who] : same) {
      const auto differs = [&w = who](const Asked* a) {
        return a->change->value != w.front()->change->value || a->change->absent != w.front()->change->absent;
      };
      if (std::none_of(who.begin(), who.end(), differs)) continue;
      for (Asked* a : who) a->reason = fmt::format("{} is asked to be two things", what.second);
    }
  }

  // A driver without its fabric manager is worse than neither.
  void as_one(std::vector<Asked>& asked, std::uint32_t node) const {
    std::string why;
    if (const auto apart = of_.refused.find({node, ""}); apart != of_.refused.end()) why = apart->second;
    for (const Asked& a : asked) {
      if (why.empty() && a.of_driver && !a.reason.empty())
        why = fmt::format("{} is not done here ({})", fact_name(a.wish->entity, a.wish->key), a.reason);
    }
    if (why.empty()) return;
    for (Asked& a : asked) {
      if (!a.of_driver || !a.reason.empty()) continue;
      a.reason = "driver, fabric manager, IMEX and their libraries move as one: " + why;
      a.left_out = true;
    }
  }

  std::string without_remedy(const std::string& key) const {
    const FactMeaning* m = book_.find(key);
    if (m != nullptr && m->layer == FactLayer::hardware) return "hardware: look at it";
    if (m != nullptr && m->layer == FactLayer::state) return "a state and no setting: look at the part";
    if (m != nullptr && m->kind == FactKind::hash) return "the file differs: compare it with a node of its kind";
    return "no tool is known to change it";
  }

  void plan_node(std::uint32_t node, const std::vector<const Wish*>& wishes) {
    std::set<std::string, std::less<>> wished;
    for (const Wish* w : wishes) wished.insert(w->key);
    std::vector<Asked> asked;
    for (const Wish* w : wishes) asked.push_back(ask(*w, wished));
    two_things(asked);
    as_one(asked, node);
    std::vector<Change> changes;
    for (Asked& a : asked) {
      if (!a.reason.empty()) {
        hand(*a.wish, std::move(a.reason), a.left_out);
        continue;
      }
      out_.made.push_back(static_cast<std::size_t>(a.wish - of_.wishes.data()));
      if (a.change) add(changes, std::move(*a.change));
    }
    if (changes.empty()) return;
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return std::tie(a.by, a.name) < std::tie(b.by, b.name); });
    wait_for_boot(changes);
    place(node, wishes.front()->cohort, std::move(changes));
  }

  // Two facts may ask for the same change: a driver on disk, and loaded.
  static void add(std::vector<Change>& changes, Change c) {
    for (Change& have : changes) {
      if (have.by != c.by || have.name != c.name) continue;
      have.facts.push_back(c.facts.front());
      have.takes = std::max(have.takes, c.takes);
      return;
    }
    changes.push_back(std::move(c));
  }

  // Between a driver on disk and its reboot nothing that uses it can start: the reboot does.
  static void wait_for_boot(std::vector<Change>& changes) {
    const auto driver = [](const Change& c) {
      return c.by == RemedyBy::package && (c.facts.front() == "driver.loaded" || c.facts.front() == "driver.on_disk");
    };
    if (std::none_of(changes.begin(), changes.end(), driver)) return;
    for (Change& c : changes) {
      c.at_boot = c.by == RemedyBy::package || c.by == RemedyBy::service;
      if (c.at_boot || !c.restarts.empty()) c.takes = RemedyTakes::reboot;
      c.restarts.clear();
    }
  }

  void place(std::uint32_t node, std::uint32_t cohort, std::vector<Change> changes) {
    const bool rpm = of_.known && rules_by_rpm(of_.known(node, "os.id"));
    std::string key = fmt::format("{}/{}", cohort, rpm);
    for (const Change& c : changes)
      key += fmt::format("\x1f{}\x1e{}\x1e{}\x1e{}\x1e{}", static_cast<int>(c.by), c.name, c.value, c.absent, c.why);
    const auto [at, fresh] = set_at_.emplace(std::move(key), out_.sets.size());
    if (fresh) {
      ChangeSet s;
      s.cohort = cohort;
      s.rpm = rpm;
      for (const Change& c : changes) {
        s.takes = std::max(s.takes, c.takes);
        s.drain = s.drain || disturbs(c);
      }
      s.changes = std::move(changes);
      out_.sets.push_back(std::move(s));
    }
    out_.sets[at->second].nodes.push_back(node);
  }

  // Every change is tried on one node of each kind, and every NVLink domain of several nodes has one that goes first.
  Nodes canaries(const Nodes& all, const std::vector<const ChangeSet*>& set_of) const {
    Nodes out;
    std::set<std::string> tried;
    std::set<std::uint32_t> domains;
    std::map<std::uint32_t, std::uint32_t> size;
    for (const std::uint32_t d : of_.domain) ++size[d];
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool first = false;
      for (const Change& c : set_of[i]->changes)
        first |= tried.insert(fmt::format("{}/{}/{}={}", set_of[i]->cohort, static_cast<int>(c.by), c.name, c.value)).second;
      const std::uint32_t domain = all[i] < of_.domain.size() ? of_.domain[all[i]] : 0;
      if (!of_.domain.empty() && size[domain] > 1) first |= domains.insert(domain).second;
      if (first) out.push_back(all[i]);
    }
    return out;
  }

  void waves() {
    std::map<std::uint32_t, std::pair<std::uint32_t, const ChangeSet*>> sets;
    for (const ChangeSet& s : out_.sets) {
      for (const std::uint32_t n : s.nodes) sets[rank_[n]] = {n, &s};
    }
    Nodes all;
    std::vector<const ChangeSet*> set_of;
    for (const auto& [rank, node] : sets) {
      all.push_back(node.first);
      set_of.push_back(node.second);
    }
    if (all.empty()) return;
    Nodes rest;
    out_.waves.push_back({"canary", canaries(all, set_of)});
    const std::set<std::uint32_t> tried(out_.waves[0].nodes.begin(), out_.waves[0].nodes.end());
    std::copy_if(all.begin(), all.end(), std::back_inserter(rest), [&](std::uint32_t n) { return !tried.contains(n); });
    std::size_t at = 0;
    for (const std::size_t pct : {1, 5, 25, 100}) {
      const std::size_t most = pct == 100 ? all.size() : (all.size() * pct + 99) / 100, n = std::min(most, rest.size() - at);
      if (n == 0) continue;
      const auto begin = rest.begin() + static_cast<std::ptrdiff_t>(at);
      out_.waves.push_back(
          {pct == 100 ? "the rest" : fmt::format("{} %", pct), Nodes(begin, begin + static_cast<std::ptrdiff_t>(n))});
      at += n;
    }
  }

  const RepairOf& of_;
  const FactBook& book_;
  const RemedyBook& remedies_;
  Repair out_;
  Nodes rank_;  // of each node by its name
  std::map<std::string, std::size_t> set_at_;
  std::map<std::string, ByHand> by_hand_;
};

std::string shown(const FactColumn& column, FactCode code) {
  if (code == kFactUnknown) return "unknown";
  if (code == kFactAbsent) return "absent";
  if (code == kFactUnreadable) return "unreadable";
  return column.values[code - kFirstValue];
}

// `kind_of`: the nodes of a cohort.
template <class KindOf>
void refuse_apart(RepairOf& of, const FactTable& table, const KindOf& kind_of) {
  std::map<std::uint32_t, std::vector<const Wish*>> of_node;
  for (const Wish& w : of.wishes) of_node[w.node].push_back(&w);
  for (const auto& [node, wishes] : of_node) {
    std::string why = why_apart(table, kind_of(wishes.front()->cohort), node, wishes);
    if (!why.empty()) of.refused.emplace(std::pair(node, ""), std::move(why));
  }
}

// 997 of 1,000 are not all: cut, and not rounded.
std::string share_text(double share) {
  const double pct = 100 * share;
  if (pct >= 100) return "100 % of its kind have it";
  if (pct >= 99) return fmt::format("{:.1f} % of its kind have it", std::min(std::floor(10 * pct) / 10, 99.9));
  return fmt::format("{:.0f} % of its kind have it", std::floor(pct));
}

}  // namespace

bool disturbs(const Change& c) {
  return c.takes != RemedyTakes::live || (c.by == RemedyBy::service && c.name.starts_with("nvidia-")) ||
         c.by == RemedyBy::mount_option || is_of_driver(c.facts.front());
}

Repair plan_repair(const RepairOf& of, const FactBook& book, const RemedyBook& remedies) {
  return Planner(of, book, remedies).plan();
}

RepairOf differences_of(const FactTable& table, const Golden& golden, const Site* site) {
  RepairOf out;
  SameHardware same(table, golden);
  for (const FactNode& n : table.nodes()) out.nodes.push_back(n.name);
  for (const Cohort& c : golden.cohorts) out.cohorts.push_back(c.name);
  for (const Difference& d : golden.differences) {
    const FactColumn& column = table.columns()[d.column];
    Wish w{d.node, d.cohort, column.entity, column.key, shown(column, d.has), d.wanted, d.wanted_absent, ""};
    w.declared = d.basis == Basis::declared;
    w.why = w.declared ? d.source : share_text(d.share);
    if (std::string why = same.why_not(w); !why.empty())
      out.refused.emplace(std::pair(w.node, fact_name(w.entity, w.key)), std::move(why));
    out.wishes.push_back(std::move(w));
  }
  refuse_apart(out, table, [&golden](std::uint32_t cohort) {
    return cohort < golden.cohorts.size() ? std::span<const std::uint32_t>(golden.cohorts[cohort].nodes)
                                          : std::span<const std::uint32_t>();
  });
  for (const Undecided& u : golden.undecided) {
    const FactColumn& column = table.columns()[u.column];
    std::string text = fmt::format("undecided, left out: {} of {}:", fact_name(column.entity, column.key),
                                   u.cohort < golden.cohorts.size() ? golden.cohorts[u.cohort].name : "");
    for (std::size_t i = 0; i < u.split.size() && i < 4; ++i)
      text += fmt::format("{} {} on {}", i == 0 ? "" : ",", shown(column, u.split[i].first), u.split[i].second);
    out.notes.push_back(std::move(text));
  }
  out.notes.insert(out.notes.end(), golden.notes.begin(), golden.notes.end());
  out.known = [&table](std::uint32_t node, std::string_view key) {
    const std::string* v = table.value(node, "", key);
    return v == nullptr ? std::string() : *v;
  };
  if (site != nullptr) {
    std::map<std::string_view, std::uint32_t> domain;
    for (const NodeSpec& n : site->nodes) domain[n.name] = n.domain;
    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
      const auto at = domain.find(out.nodes[i]);
      out.domain.push_back(at == domain.end() ? site->domains + static_cast<std::uint32_t>(i) : at->second);
    }
  }
  return out;
}

RepairOf declared_for(const Site& site, const Declarations& declared) {
  RepairOf out;
  std::map<std::string, std::uint32_t> cohort;
  std::vector<std::uint32_t> cohort_of;
  for (const NodeSpec& n : site.nodes) {
    out.nodes.push_back(n.name);
    out.domain.push_back(n.domain);
    const std::string name = fmt::format("{} x {}", site.gpus_per_node, n.gpu_model.empty() ? site.gpu_model : n.gpu_model);
    const auto [at, fresh] = cohort.emplace(name, static_cast<std::uint32_t>(out.cohorts.size()));
    if (fresh) out.cohorts.push_back(name);
    cohort_of.push_back(at->second);
  }
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> at;  // a later declaration of the same goes before an earlier one
  for (const Declaration& d : declared) {
    const std::string fact = fact_name(d.entity, d.key);
    if (!d.where.empty() || d.entity.ends_with('*')) {
      out.notes.push_back(
          fmt::format("{}: {} holds of nodes by what they are, which nobody knows before they are installed: "
                      "left out",
                      d.source, fact));
      continue;
    }
    for (std::uint32_t n = 0; n < site.nodes.size(); ++n) {
      if (!d.nodes.empty() && std::find(d.nodes.begin(), d.nodes.end(), site.nodes[n].name) == d.nodes.end()) continue;
      Wish w{n, cohort_of[n], d.entity, d.key, "", d.value, d.absent, d.source, true};
      const auto [place, fresh] = at.emplace(std::pair(n, fact), out.wishes.size());
      if (fresh) {
        out.wishes.push_back(std::move(w));
      } else {
        out.wishes[place->second] = std::move(w);
      }
    }
  }
  FactTable nobody;  // has looked
  for (const std::string& name : out.nodes) nobody.node(name);
  refuse_apart(out, nobody, [](std::uint32_t) { return std::span<const std::uint32_t>(); });
  // Of a system that nobody declared: that of the installer whose answers are written.
  std::map<std::pair<std::uint32_t, std::string>, std::string> said;
  for (const Wish& w : out.wishes) {
    if (w.key == "os.id" || w.key == "limits.of" || w.key == "fabricmanager.package") said[{w.node, w.key}] = w.value;
  }
  out.known = [said = std::move(said)](std::uint32_t node, std::string_view key) {
    const auto found = said.find({node, std::string(key)});
    return found != said.end() ? found->second : key == "os.id" ? std::string("ubuntu") : std::string();
  };
  return out;
}

}  // namespace muster::fleet
