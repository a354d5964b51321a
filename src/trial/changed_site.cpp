#include "trial/changed_site.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace muster::trial {
namespace {

constexpr std::uint32_t kGone = UINT32_MAX;

// What is left of numbered groups, without gaps: the new number of each; kGone where none uses it.
std::vector<std::uint32_t> renumber(const std::vector<bool>& used) {
  std::vector<std::uint32_t> out(used.size(), kGone);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) out[i] = next++;
  }
  return out;
}

std::uint32_t groups_in(const std::vector<std::uint32_t>& numbers) {
  return static_cast<std::uint32_t>(numbers.size() - static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), kGone)));
}

// Of all nodes, one of their groups: its new numbers.
std::vector<std::uint32_t> renumber_groups(const Site& site, std::uint32_t NodeSpec::*group) {
  std::vector<bool> used;
  for (const NodeSpec& n : site.nodes) {
    if (n.*group >= used.size()) used.resize(n.*group + 1);
    used[n.*group] = true;
  }
  return renumber(used);
}

Result<std::vector<bool>> find_gone(const Site& site, const SiteChange& change) {
  std::vector<bool> gone(site.nodes.size(), false);
  std::map<std::string_view, std::size_t> by_name;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < site.nodes.size(); ++i) by_name.emplace(site.nodes[i].name, i);
  for (const std::string& name : change.remove_named) {
    const auto at = by_name.find(name);
    if (at == by_name.end()) {
      for (const NodeSpec& n : site.nodes) all.push_back(n.name);
      const auto near = nearest(name, all);
      return fail(Code::not_found, fmt::format("there is no node {} to take away", printable(name)),
                  near ? fmt::format("did you mean {}?", printable(*near)) : "`muster get nodes -o name` lists them");
    }
    gone[at->second] = true;
  }
  std::uint32_t left = change.remove;
  for (std::size_t i = gone.size(); i-- > 0 && left > 0;) {
    if (gone[i]) continue;
    gone[i] = true;
    --left;
  }
  if (left > 0 || std::find(gone.begin(), gone.end(), false) == gone.end()) {
    return fail(Code::bad_input, fmt::format("of {} nodes none would be left", site.nodes.size()), "take fewer away");
  }
  return gone;
}

void drop_cables(Site& site, const std::vector<NodeId>& now_at) {
  const CableTable& old = site.cables.table();
  CableTable kept;
  kept.switches = old.switches;
  for (std::size_t i = 0; i < old.nics.size(); ++i) {
    const std::uint32_t node = old.nics[i] / Cabling::kNicsMax;
    if (node >= now_at.size() || !now_at[node].some()) continue;
    kept.nics.push_back(now_at[node].v * Cabling::kNicsMax + old.nics[i] % Cabling::kNicsMax);
    kept.far_ends.push_back(old.far_ends[i]);
    kept.ports.push_back(old.ports[i]);
    kept.labels.push_back(old.labels[i]);
  }
  site.cables = {};
  if (!kept.nics.empty()) site.cables.set(std::move(kept));
}

void move_nodes(std::vector<NodeId>& nodes, const std::vector<NodeId>& now_at) {
  std::vector<NodeId> kept;
  for (const NodeId n : nodes) {
    if (n.v < now_at.size() && now_at[n.v].some()) kept.push_back(now_at[n.v]);
  }
  nodes = std::move(kept);
}

void take_away(ChangedSite& out, const std::vector<bool>& gone) {
  Site& site = out.site;
  std::vector<NodeSpec> kept;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) {
      out.now_at.emplace_back();
      continue;
    }
    out.now_at.push_back(NodeId{static_cast<std::uint32_t>(kept.size())});
    kept.push_back(site.nodes[i]);
  }
  site.nodes = std::move(kept);
  const auto racks = renumber_groups(site, &NodeSpec::rack);
  const auto leaves = renumber_groups(site, &NodeSpec::leaf);
  const auto pods = renumber_groups(site, &NodeSpec::pod);
  const auto domains = renumber_groups(site, &NodeSpec::domain);
  for (NodeSpec& n : site.nodes) {
    n.rack = racks[n.rack];
    n.leaf = leaves[n.leaf];
    n.pod = pods[n.pod];
    n.domain = domains[n.domain];
  }
  site.leaves = groups_in(leaves);
  site.pods = groups_in(pods);
  site.domains = groups_in(domains);
  std::vector<std::string> names;
  std::vector<std::uint32_t> rows;
  std::vector<bool> used(out.row_now_at.size(), false);
  for (std::size_t r = 0; r < site.racks.size(); ++r) {
    if (r >= racks.size() || racks[r] == kGone) continue;
    names.push_back(site.racks[r]);
    if (r >= site.rack_row.size()) continue;
    rows.push_back(site.rack_row[r]);
    used[site.rack_row[r]] = true;
  }
  out.row_now_at = renumber(used);
  for (std::uint32_t& row : rows) row = out.row_now_at[row];
  site.racks = std::move(names);
  site.rack_row = std::move(rows);
  for (Pool& p : site.pools) move_nodes(p.nodes, out.now_at);
  drop_cables(site, out.now_at);
}

// "node0128" -> "node0129", "r9" -> "r10"; without a number at its end, one is begun.
std::string next_name(const std::string& name, const std::set<std::string>& taken) {
  std::size_t digits = 0;
  while (digits < name.size() && digits < 9 && name[name.size() - 1 - digits] >= '0' && name[name.size() - 1 - digits] <= '9')
    ++digits;
  const std::string stem = digits > 0 ? name.substr(0, name.size() - digits) : name + "-added";
  std::uint64_t number = digits > 0 ? parse_uint(std::string_view(name).substr(name.size() - digits)).value_or(0) : 0;
  for (;;) {
    std::string next = fmt::format("{}{:0{}}", stem, ++number, std::max<std::size_t>(digits, 1));
    if (!taken.contains(next)) return next;
  }
}

std::uint32_t fullest(const std::vector<std::uint32_t>& sizes) {
  return std::max(1U, sizes.empty() ? 1U : *std::max_element(sizes.begin(), sizes.end()));
}

// How large groups usually are: as large as the largest.
struct Usual {
  std::uint32_t rack = 1, leaf = 1, domain = 1;  // in nodes
  std::uint32_t pod = 1;                         // in leaves
  std::uint32_t row = 1;                         // in racks
  std::uint32_t last_pod = 0, last_row = 0;      // so many the last ones have

  explicit Usual(const Site& site) {
    std::vector<std::uint32_t> racks, leaves, domains, pods, rows;
    const auto tally = [](std::vector<std::uint32_t>& sizes, std::uint32_t at) {
      if (at >= sizes.size()) sizes.resize(at + 1);
      ++sizes[at];
    };
    std::set<std::pair<std::uint32_t, std::uint32_t>> in_pod;
    for (const NodeSpec& n : site.nodes) {
      tally(racks, n.rack);
      tally(leaves, n.leaf);
      tally(domains, n.domain);
      if (in_pod.emplace(n.pod, n.leaf).second) tally(pods, n.pod);
    }
    for (const std::uint32_t r : site.rack_row) tally(rows, r);
    rack = fullest(racks);
    leaf = fullest(leaves);
    domain = fullest(domains);
    pod = fullest(pods);
    row = fullest(rows);
    last_pod = pods[site.nodes.back().pod];
    last_row = rows.empty() ? 0 : rows.back();
  }
};

void add_rack(Site& site, Usual& usual) {
  const std::set<std::string> taken(site.racks.begin(), site.racks.end());
  site.racks.push_back(next_name(site.racks.empty() ? "rack" : site.racks.back(), taken));
  if (site.rack_row.empty()) return;
  const std::uint32_t last = *std::max_element(site.rack_row.begin(), site.rack_row.end());
  const bool full = usual.last_row >= usual.row;
  site.rack_row.push_back(full ? last + 1 : last);
  usual.last_row = full ? 1 : usual.last_row + 1;
}

void add_nodes(ChangedSite& out, std::uint32_t count) {
  Site& site = out.site;
  Usual usual(site);
  std::set<std::string> taken;
  for (const NodeSpec& n : site.nodes) taken.insert(n.name);
  const NodeId like{static_cast<std::uint32_t>(site.nodes.size() - 1)};
  std::vector<Pool*> pools;
  for (Pool& p : site.pools) {
    if (std::find(p.nodes.begin(), p.nodes.end(), like) != p.nodes.end()) pools.push_back(&p);
  }
  std::uint32_t pod = site.nodes[like.v].pod;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % usual.rack == 0) add_rack(site, usual);
    if (i % usual.leaf == 0) {
      ++site.leaves;
      const bool full = usual.last_pod >= usual.pod;
      if (full) pod = site.pods++;
      usual.last_pod = full ? 1 : usual.last_pod + 1;
    }
    if (i % usual.domain == 0) ++site.domains;
    NodeSpec n = site.nodes[like.v];
    n.name = next_name(site.nodes.back().name, taken);
    n.rack = static_cast<std::uint32_t>(site.racks.size() - 1);
    n.leaf = site.leaves - 1;
    n.pod = pod;
    n.domain = site.domains - 1;
    taken.insert(n.name);
    for (Pool* p : pools) p->nodes.push_back(NodeId{static_cast<std::uint32_t>(site.nodes.size())});
    site.nodes.push_back(std::move(n));
  }
  out.added = count;
}

// The books of a cluster some of whose nodes are gone.
struct Mover {
  control::Books& books;
  const ChangedSite& to;
  State& s = books.state;

  bool gone(NodeId n) const { return n.v < to.now_at.size() && !to.now_at[n.v].some(); }
  NodeId place(NodeId n) const { return n.v < to.now_at.size() ? to.now_at[n.v] : NodeId{}; }
  template <class Nodes>
  bool any_gone(const Nodes& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return gone(n); });
  }
  // As an event of this very moment, so that sums, queue and accounts change as they do when it really happens. Its number is
  // that of the last event: nothing is written.
  void happens(Body body) {
    Event e;
    e.seq = s.seq;
    e.source.stream = "muster";
    e.utc = s.now.utc;
    e.body = std::move(body);
    control::fold_event(books, e);
  }

  std::set<JobId> to_stop() const {
    std::set<JobId> out;
    for (const auto& [id, j] : s.jobs) {
      if ((j.phase == JobPhase::running || j.phase == JobPhase::starting) && any_gone(j.nodes)) out.insert(id);
    }
    return out;
  }
  void stop_work() {
    const std::set<JobId> stopped = to_stop();
    const std::set<std::string> open = s.open_orders;
    for (const std::string& key : open) {
      const Action& a = s.orders.at(key).order.action;
      if (gone(a.node) || any_gone(a.nodes) || stopped.contains(a.job))
        happens(OrderEnded{key, Status::failed, "a node of it is gone"});
    }
    for (const JobId id : stopped) {
      const Job& j = s.jobs.at(id);
      if (j.phase == JobPhase::queued) continue;  // its start was under way, and has ended above
      happens(JobEnded{id, j.attempt, JobEnd::requeued, j.progress, "a node of it is gone", {}});
      happens(JobRequeued{id});
    }
  }

  // What is about a node that is gone.
  void forget() {
    std::erase_if(s.incidents, [&](const auto& i) { return gone(i.second.node); });
    std::erase_if(s.findings, [&](const auto& f) { return gone(f.second.node); });
    std::erase_if(s.closed_incidents, [&](IncidentId id) { return !s.incidents.contains(id); });
    std::erase_if(s.cleared_findings, [&](FindingId id) { return !s.findings.contains(id); });
    for (auto& [id, i] : s.incidents) std::erase_if(i.findings, [&](FindingId f) { return !s.findings.contains(f); });
    for (auto& [id, f] : s.findings) {
      if (!s.findings.contains(f.part_of)) f.part_of = {};
    }
    std::erase_if(s.orders, [&](const auto& o) { return gone(o.second.order.action.node); });
    std::erase_if(s.ended_orders, [&](const std::string& key) { return !s.orders.contains(key); });
    std::erase_if(s.harms, [&](const Harm& h) { return gone(h.node); });
    std::erase_if(s.openings, [&](const Opened& o) { return gone(o.node); });
    std::erase_if(s.refusals, [&](const RefusalRecord& r) { return gone(r.action.node); });
    std::erase_if(s.approvals, [&](const auto& a) {
      return gone(a.second.action.node) || (a.second.incident.some() && !s.incidents.contains(a.second.incident));
    });
    std::erase_if(s.wishes, [&](const CommandGiven& w) { return gone(w.node); });
    std::erase_if(s.upgrade.turns, [&](const auto& t) { return gone(t.first); });
  }

  // Nodes and what is counted beside each of them.
  template <class T>
  void move_pairs(std::vector<NodeId>& nodes, std::vector<T>& beside) const {
    std::vector<T> kept;
    for (std::size_t i = 0; i < nodes.size() && i < beside.size(); ++i) {
      if (place(nodes[i]).some()) kept.push_back(beside[i]);
    }
    beside = std::move(kept);
    move_nodes(nodes, to.now_at);
  }
  void move(Action& a) const {
    a.node = place(a.node);
    move_pairs(a.nodes, a.slots);
  }
  void move_rows() {
    const auto row_at = [&](std::uint32_t row) { return row < to.row_now_at.size() ? to.row_now_at[row] : kNoRow; };
    std::map<std::uint32_t, RowHeat> rows;
    for (auto& [row, heat] : s.hot_rows) {
      if (row_at(row) == kNoRow) continue;
      heat.last.row = row_at(row);
      rows.emplace(row_at(row), heat);
    }
    s.hot_rows = std::move(rows);
    const auto of_row = [](const Finding& f) { return f.kind == FindingKind::row_hot && f.slot >= 0; };
    std::erase_if(s.findings, [&](const auto& f) {
      return of_row(f.second) && row_at(static_cast<std::uint32_t>(f.second.slot)) == kNoRow;
    });
    for (auto& [id, f] : s.findings) {
      if (of_row(f)) f.slot = static_cast<std::int16_t>(row_at(static_cast<std::uint32_t>(f.slot)));
    }
  }
  // Faults of the network at a leaf: at one that has no node any more they are nobody's.
  void move_leaves() {
    std::map<std::uint32_t, std::uint32_t> leaf_at;
    for (std::uint32_t n = 0; n < s.site.nodes.size(); ++n) {
      if (place(NodeId{n}).some()) leaf_at.emplace(s.site.nodes[n].leaf, to.site.nodes[place(NodeId{n}).v].leaf);
    }
    for (auto& [id, f] : s.findings) {
      if (f.kind != FindingKind::fabric_fault || f.node.some() || f.slot < 0) continue;
      const auto at = leaf_at.find(static_cast<std::uint32_t>(f.slot));
      f.slot = at == leaf_at.end() ? std::int16_t{-1} : static_cast<std::int16_t>(at->second);
    }
  }
  void move_all() {
    for (auto& [id, j] : s.jobs) {
      move_pairs(j.nodes, j.slots);
      std::erase_if(j.placement.apart, [&](const auto& x) { return !place(x.first).some(); });
      for (auto& [node, slots] : j.placement.apart) node = place(node);
    }
    for (auto& [id, f] : s.findings) f.node = place(f.node);
    for (auto& [id, i] : s.incidents) i.node = place(i.node);
    for (auto& [key, o] : s.orders) move(o.order.action);
    for (auto& [id, a] : s.approvals) move(a.action);
    for (RefusalRecord& r : s.refusals) move(r.action);
    for (Harm& h : s.harms) h.node = place(h.node);
    for (Opened& o : s.openings) o.node = place(o.node);
    for (CommandGiven& w : s.wishes) w.node = place(w.node);
    std::map<NodeId, Turn> turns;
    for (auto& [n, t] : s.upgrade.turns) turns.emplace(place(n), std::move(t));
    s.upgrade.turns = std::move(turns);
    std::vector<NodeState> nodes;
    std::vector<NodeClock> clocks;
    for (std::uint32_t n = 0; n < to.now_at.size(); ++n) {
      if (!to.now_at[n].some()) continue;
      nodes.push_back(std::move(s.nodes[n]));
      clocks.push_back(std::move(books.accounts.nodes[n]));
    }
    s.nodes = std::move(nodes);
    books.accounts.nodes = std::move(clocks);
  }
};

}  // namespace

Result<ChangedSite> change_site(const Site& site, const SiteChange& change) {
  ChangedSite out;
  out.site = site;
  const auto gone = find_gone(site, change);
  if (!gone) return tl::unexpected(gone.error());
  const std::uint32_t rows = site.rack_row.empty() ? 0 : *std::max_element(site.rack_row.begin(), site.rack_row.end()) + 1;
  for (std::uint32_t r = 0; r < rows; ++r) out.row_now_at.push_back(r);
  if (std::find(gone->begin(), gone->end(), true) != gone->end()) {
    take_away(out, *gone);
  } else {
    for (std::uint32_t n = 0; n < gone->size(); ++n) out.now_at.push_back(NodeId{n});
  }
  if (change.add > 0) add_nodes(out, change.add);
  return out;
}

control::Books change_books(control::Books books, const ChangedSite& to) {
  State& s = books.state;
  if (std::any_of(to.now_at.begin(), to.now_at.end(), [](NodeId n) { return !n.some(); })) {
    Mover m{books, to};
    m.stop_work();
    m.move_rows();
    m.move_leaves();
    m.forget();
    m.move_all();
  }
  for (std::uint32_t i = 0; i < to.added; ++i) {
    NodeState n;
    n.changed = s.now.utc;
    s.nodes.push_back(std::move(n));
    books.accounts.nodes.push_back(NodeClock{s.mono().ms(), Waste::idle, {}});
  }
  s.site = to.site;
  refresh(s);
  return books;
}

std::uint32_t jobs_to_stop(const State& state, const ChangedSite& changed) {
  std::uint32_t jobs = 0;
  for (const auto& [id, j] : state.jobs) {
    const auto goes = [&](NodeId n) { return n.v < changed.now_at.size() && !changed.now_at[n.v].some(); };
    const bool placed = j.phase == JobPhase::running || j.phase == JobPhase::starting;
    jobs += placed && std::any_of(j.nodes.begin(), j.nodes.end(), goes) ? 1 : 0;
  }
  return jobs;
}

}  // namespace muster::trial
