#include "report/fabric_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "account/job_books.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::uint32_t kNoSwitch = UINT32_MAX;
constexpr std::uint32_t kSeveralSwitches = UINT32_MAX - 1;

std::uint32_t leaves_of(const Site& site) {
  std::uint32_t out = site.leaves;
  for (const NodeSpec& n : site.nodes) out = std::max(out, n.leaf + 1);
  return out;
}

// ---- what is known of each link

// Every NIC of the site, node * gpus_per_node + slot, and what is wrong with NVLinks beside them.
struct Survey {
  std::vector<LinkState> states;
  std::vector<FindingId> findings;
  std::vector<JobId> jobs;
  std::vector<LinkView> nvlinks;
  std::map<FindingId, IncidentId> incidents;                // of open ones
  std::map<std::pair<NodeId, std::int16_t>, Time> bounced;  // utc
};

LinkState state_of(const Finding& f) {
  switch (f.kind) {
    case FindingKind::link_down: return LinkState::down;
    case FindingKind::link_flap: return LinkState::flapped;
    case FindingKind::hearsay: return LinkState::told;
    default: return LinkState::errors;
  }
}

void mark(Survey& v, std::size_t link, LinkState state, FindingId finding) {
  if (state <= v.states[link]) return;
  v.states[link] = state;
  v.findings[link] = finding;
}

void read_findings(Survey& v, const State& s) {
  const std::uint32_t rails = s.site.gpus_per_node;
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns != 0 || f.node.v >= s.nodes.size()) continue;
    const std::size_t first = std::size_t{f.node.v} * rails;
    if (f.kind == FindingKind::node_silent) {
      for (std::uint32_t slot = 0; slot < rails; ++slot) mark(v, first + slot, LinkState::unknown, id);
    }
    if (f.slot < 0 || static_cast<std::uint32_t>(f.slot) >= rails) continue;
    if (of_link(f)) mark(v, first + static_cast<std::size_t>(f.slot), state_of(f), id);
    if (f.kind == FindingKind::nvlink_degraded) {
      LinkView bad;
      bad.node = f.node;
      bad.slot = f.slot;
      bad.nvlink = true;
      bad.state = LinkState::errors;
      bad.finding = id;
      v.nvlinks.push_back(bad);
    }
  }
}

Survey survey(const State& s) {
  Survey v;
  const std::uint32_t rails = s.site.gpus_per_node;
  const std::size_t links = s.nodes.size() * rails;
  v.states.assign(links, LinkState::up);
  v.findings.resize(links);
  v.jobs.resize(links);
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    const NodeCondition c = s.nodes[n].condition;
    const bool away = c == NodeCondition::down || c == NodeCondition::booting;
    for (std::uint32_t slot = 0; slot < rails; ++slot) {
      if (away) v.states[n * rails + slot] = LinkState::unknown;
      for (const Share& x : s.nodes[n].shares) {
        JobId& job = v.jobs[n * rails + slot];
        if ((x.slots >> slot & 1) != 0 && !job.some()) job = x.job;
      }
    }
  }
  read_findings(v, s);
  for (const auto& [id, i] : s.incidents) {
    if (i.stage == Stage::closed) continue;
    for (const FindingId f : i.findings) v.incidents[f] = id;
  }
  for (const auto& [key, o] : s.orders) {
    if (o.order.action.verb != Verb::bounce_link) continue;
    Time& last = v.bounced[{o.order.action.node, o.order.action.slot}];
    last = std::max(last, o.intended);
  }
  return v;
}

bool had(const Job& j, NodeId node, std::int16_t slot) {
  const auto at = std::find(j.nodes.begin(), j.nodes.end(), node);
  if (at == j.nodes.end()) return false;
  const auto i = static_cast<std::size_t>(at - j.nodes.begin());
  return i >= j.slots.size() || (j.slots[i] >> slot & 1) != 0;
}

// Who has the GPU by now may have come after the link broke; a job that died of it is known while it has not run again.
JobId hurt_by(const State& s, const LinkView& link, const Finding& f) {
  const Time sign = account::first_sign(f);
  const Job* now = find_job(s, link.job);
  if (now != nullptr && now->phase == JobPhase::running && now->started <= sign) return now->id;
  const Job* last = nullptr;
  for (const auto& [id, j] : s.jobs) {
    const bool over = j.phase != JobPhase::running && j.phase != JobPhase::starting && j.ended.ns != 0;
    const bool failed = over && (j.last_end == JobEnd::node_failed || j.last_end == JobEnd::app_failed);
    const bool then = failed && j.started <= sign && account::may_have_ended(sign, f.opened, j.ended);
    if (then && had(j, link.node, link.slot) && (last == nullptr || j.ended < last->ended)) last = &j;
  }
  return last == nullptr ? f.job : last->id;
}

// The rest of what is known of a link whose place, state and finding are there.
void complete(LinkView& link, const Survey& v, const State& s) {
  link.job = v.jobs[std::size_t{link.node.v} * s.site.gpus_per_node + static_cast<std::size_t>(link.slot)];
  if (const auto it = v.bounced.find({link.node, link.slot}); !link.nvlink && it != v.bounced.end()) link.bounced = it->second;
  if (link.state == LinkState::up) return;
  const Finding* f = find_finding(s, link.finding);
  link.since = f != nullptr ? f->began() : s.nodes[link.node.v].changed;
  if (f == nullptr) {
    link.incident = s.nodes[link.node.v].incident;
    return;
  }
  link.hurt = hurt_by(s, link, *f);
  auto it = v.incidents.find(f->id);
  if (it == v.incidents.end() && f->part_of.some()) it = v.incidents.find(f->part_of);
  if (it != v.incidents.end()) link.incident = it->second;
}

LinkView link_at(std::size_t link, const Survey& v, const State& s) {
  LinkView out;
  out.node = NodeId{static_cast<std::uint32_t>(link / s.site.gpus_per_node)};
  out.slot = static_cast<std::int16_t>(link % s.site.gpus_per_node);
  out.state = v.states[link];
  out.finding = v.findings[link];
  complete(out, v, s);
  return out;
}

// ---- leaves

// The switch that all cables of a leaf go to, by leaf and by rail.
struct Wiring {
  std::vector<std::uint32_t> of_leaf;
  std::vector<std::uint32_t> of_rail;  // leaf * rails + slot
};

void tie(std::uint32_t& known, std::uint32_t to) {
  if (known == kNoSwitch) known = to;
  if (known != to) known = kSeveralSwitches;
}

Wiring wiring(const State& s, std::uint32_t leaves) {
  const std::uint32_t rails = s.site.gpus_per_node;
  Wiring out{std::vector<std::uint32_t>(leaves, kNoSwitch), std::vector<std::uint32_t>(std::size_t{leaves} * rails, kNoSwitch)};
  const CableTable& t = s.site.cables.table();
  for (std::size_t i = 0; i < t.nics.size(); ++i) {
    const std::uint32_t node = t.nics[i] / Cabling::kNicsMax;
    const std::uint32_t slot = t.nics[i] % Cabling::kNicsMax;
    if (node >= s.site.nodes.size() || slot >= rails) continue;
    const std::uint32_t leaf = s.site.nodes[node].leaf;
    tie(out.of_leaf[leaf], t.far_ends[i]);
    tie(out.of_rail[std::size_t{leaf} * rails + slot], t.far_ends[i]);
  }
  return out;
}

bool is_switch(std::uint32_t x) { return x < kSeveralSwitches; }

// A switch's name stands for a leaf where it is that leaf's alone and cannot be taken for a leaf's number.
std::vector<std::string> leaf_names(const State& s, const Wiring& w) {
  const auto& switches = s.site.cables.table().switches;
  std::map<std::string_view, std::uint32_t> uses;
  for (const std::uint32_t to : w.of_leaf) {
    if (is_switch(to)) ++uses[switches[to]];
  }
  std::vector<std::string> out;
  for (std::size_t leaf = 0; leaf < w.of_leaf.size(); ++leaf) {
    const std::string_view name = is_switch(w.of_leaf[leaf]) ? std::string_view(switches[w.of_leaf[leaf]]) : std::string_view();
    const bool fits = !name.empty() && uses[name] == 1 && !name.starts_with("leaf ") && !parse_uint(name);
    out.push_back(fits ? std::string(name) : fmt::format("leaf {}", leaf));
  }
  return out;
}

Result<std::uint32_t> find_leaf(const State& s, const Wiring& w, const std::vector<std::string>& all, std::string_view text) {
  if (const auto at = std::find(all.begin(), all.end(), text); at != all.end())
    return static_cast<std::uint32_t>(at - all.begin());
  const auto number = parse_uint(text.starts_with("leaf ") ? text.substr(5) : text);
  if (number && *number < all.size()) return static_cast<std::uint32_t>(*number);
  // A switch of one rail, of one leaf.
  const auto& switches = s.site.cables.table().switches;
  std::set<std::uint32_t> of;
  for (std::size_t i = 0; i < w.of_rail.size(); ++i) {
    if (is_switch(w.of_rail[i]) && switches[w.of_rail[i]] == text)
      of.insert(static_cast<std::uint32_t>(i / s.site.gpus_per_node));
  }
  if (of.size() == 1) return *of.begin();
  const auto close = nearest(text, all);
  return fail(Code::not_found, fmt::format("there is no leaf '{}'", printable(text)),
              close           ? fmt::format("did you mean '{}'?", printable(*close))
              : of.size() > 1 ? "several leaves go to that switch: name one by its number"
                              : fmt::format("leaves have numbers from 0 to {}; `muster get leaves` lists them", all.size() - 1));
}

// ---- what jobs may send

struct Spread {
  std::uint32_t gpus = 0;
  std::uint16_t rails = 0;  // bit mask
};
using Spreads = std::map<JobId, std::map<std::uint32_t, Spread>>;  // by job, by leaf

Spreads spreads_of(const State& s) {
  Spreads out;
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    for (const Share& x : s.nodes[n].shares) {
      if (x.slots == 0) continue;
      Spread& here = out[x.job][s.site.nodes[n].leaf];
      here.gpus += static_cast<std::uint32_t>(std::popcount(x.slots));
      here.rails |= x.slots;
    }
  }
  return out;
}

void add_loads(std::vector<LeafView>& leaves, const Spreads& spreads, const Site& site) {
  for (LeafView& leaf : leaves)
    leaf.load.capacity_gbps = leaf.nodes * site.gpus_per_node * site.link_gbps / std::max(1.0, site.oversubscription);
  for (const auto& [job, spread] : spreads) {
    if (spread.size() < 2) continue;
    for (const auto& [id, here] : spread) {
      UplinkLoad& load = leaves[id].load;
      ++load.jobs;
      load.ring_gbps += std::popcount(here.rails) * site.link_gbps;
      load.worst_case_gbps += here.gpus * site.link_gbps;
    }
  }
  for (LeafView& leaf : leaves) {  // jobs that share a GPU share its NIC
    const double most = leaf.nodes * site.gpus_per_node * site.link_gbps;
    leaf.load.worst_case_gbps = std::min(leaf.load.worst_case_gbps, most);
    leaf.load.ring_gbps = std::min(leaf.load.ring_gbps, most);
  }
}

std::vector<LeafView> all_leaves(const State& s, const Survey& v, const std::vector<std::string>& all_names) {
  const std::uint32_t rails = s.site.gpus_per_node;
  std::vector<LeafView> out(all_names.size());
  for (std::uint32_t id = 0; id < out.size(); ++id) {
    out[id].id = id;
    out[id].name = all_names[id];
    out[id].rails.resize(rails);
  }
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    LeafView& leaf = out[s.site.nodes[n].leaf];
    leaf.pod = s.site.nodes[n].pod;
    ++leaf.nodes;
    for (std::uint32_t slot = 0; slot < rails; ++slot) {
      const auto state = static_cast<std::size_t>(v.states[n * rails + slot]);
      ++leaf.links[state];
      ++leaf.rails[slot][state];
    }
  }
  return out;
}

// ---- one job

std::string job_words(const JobOnFabric& j, const std::vector<LeafView>& leaves) {
  if (j.links == 0) return "It has no GPU now, and so uses no link.";
  std::string out =
      fmt::format("It uses {} links on {} {}", render_count(j.links), render_count(j.leaves), j.leaves == 1 ? "leaf" : "leaves");
  out += j.pods > 1 ? fmt::format(" of {} pods", j.pods) : "";
  out += j.bad_links == 0 ? ", none of them bad." : fmt::format(", {} of them bad.", render_count(j.bad_links));
  if (!j.crosses_leaves) return out + " What it sends stays below a leaf: no uplink matters to it.";
  const LeafView& tight = leaves[j.bottleneck];
  const double share = tight.load.worst_case_share();
  return out + fmt::format(
                   " Predicted, not measured: if all jobs that leave their leaves sent at full rate at once, the uplinks "
                   "of {} would be asked for {} of what they carry{}.",
                   printable(tight.name), render_percent(share),
                   share > 1 ? fmt::format(", and each would get {} of its rate", render_percent(1 / share)) : "");
}

// Where the jobs that were asked for sit; their links are counted already.
JobOnFabric on_fabric(const std::vector<JobId>& jobs, const Spreads& spreads, const std::vector<LeafView>& leaves) {
  JobOnFabric out;
  std::set<std::uint32_t> used, pods;
  double tightest = -1;
  for (const JobId id : jobs) {
    const auto it = spreads.find(id);
    if (it == spreads.end()) continue;
    std::set<std::uint32_t> own_pods;
    const bool crosses = it->second.size() > 1;
    for (const auto& [leaf, here] : it->second) {
      used.insert(leaf);
      own_pods.insert(leaves[leaf].pod);
      const double share = leaves[leaf].load.worst_case_share();
      if (!crosses || share <= tightest) continue;
      tightest = share;
      out.bottleneck = leaf;
    }
    out.crosses_leaves = out.crosses_leaves || crosses;
    out.crosses_pods = out.crosses_pods || own_pods.size() > 1;
    pods.merge(own_pods);
  }
  out.leaves = static_cast<std::uint32_t>(used.size());
  out.pods = static_cast<std::uint32_t>(pods.size());
  return out;
}

// ---- the links that are told of

// Of every link, whether one of these jobs has its GPU.
std::vector<bool> used_by(const State& s, const std::vector<JobId>& jobs) {
  const std::uint32_t rails = s.site.gpus_per_node;
  const std::set<JobId> wanted(jobs.begin(), jobs.end());
  std::vector<bool> out(s.nodes.size() * rails);
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    for (const Share& x : s.nodes[n].shares) {
      if (!wanted.contains(x.job)) continue;
      for (std::uint32_t slot = 0; slot < rails; ++slot) {
        if ((x.slots >> slot & 1) != 0) out[n * rails + slot] = true;
      }
    }
  }
  return out;
}

std::vector<LinkView> bad_links(const State& s, const Survey& v) {
  std::vector<LinkView> out = v.nvlinks;
  for (LinkView& link : out) complete(link, v, s);
  for (std::size_t i = 0; i < v.states.size(); ++i) {
    if (is_bad(v.states[i])) out.push_back(link_at(i, v, s));
  }
  std::stable_sort(out.begin(), out.end(), [](const LinkView& a, const LinkView& b) {
    if (a.state != b.state) return a.state > b.state;
    if (a.since != b.since) return a.since > b.since;
    return std::pair(a.node, a.slot) < std::pair(b.node, b.slot);
  });
  return out;
}

void cut(std::vector<LinkView>& links, std::size_t most, std::size_t& left_out) {
  if (links.size() <= most) return;
  left_out = links.size() - most;
  links.resize(most);
}

// Those of the leaf, of the jobs, or of the jobs on the leaf, node by node; a GPU's NVLinks follow its NIC where they are bad.
void choose_links(FabricView& out, const State& s, const Survey& v, std::optional<std::uint32_t> leaf,
                  const std::vector<bool>& used) {
  std::map<std::size_t, const LinkView*> nvlinks;
  for (const LinkView& link : v.nvlinks)
    nvlinks[std::size_t{link.node.v} * s.site.gpus_per_node + static_cast<std::size_t>(link.slot)] = &link;
  for (std::size_t i = 0; i < v.states.size(); ++i) {
    if (leaf && s.site.nodes[i / s.site.gpus_per_node].leaf != *leaf) continue;
    if (!used.empty() && !used[i]) continue;
    out.items.push_back(link_at(i, v, s));
    if (const auto it = nvlinks.find(i); it != nvlinks.end()) {
      out.items.push_back(*it->second);
      complete(out.items.back(), v, s);
    }
  }
  cut(out.items, kLinksMax, out.left_out);
}

std::vector<std::string> switches_of(const State& s, const Wiring& w, std::uint32_t leaf) {
  std::vector<std::string> out(s.site.gpus_per_node);
  for (std::size_t slot = 0; slot < out.size(); ++slot) {
    const std::uint32_t to = w.of_rail[std::size_t{leaf} * out.size() + slot];
    if (is_switch(to)) out[slot] = s.site.cables.table().switches[to];
  }
  return out;
}

}  // namespace

Result<FabricView> fabric_view(const State& s, const FabricQuestion& q) {
  const Wiring w = wiring(s, leaves_of(s.site));
  std::vector<std::string> all = leaf_names(s, w);
  std::optional<std::uint32_t> leaf;
  if (!q.leaf.empty()) {
    const auto found = find_leaf(s, w, all, q.leaf);
    if (!found) return tl::unexpected(found.error());
    leaf = *found;
  }
  const Survey v = survey(s);
  FabricView out;
  out.rails = s.site.gpus_per_node;
  out.leaves = all_leaves(s, v, all);
  out.leaf_names = std::move(all);
  for (const LeafView& l : out.leaves) {
    out.pods = std::max(out.pods, l.pod + 1);
    for (std::size_t state = 0; state < kLinkStates; ++state) out.links[state] += l.links[state];
  }
  const Spreads spreads = spreads_of(s);
  add_loads(out.leaves, spreads, s.site);
  if (!leaf && q.jobs.empty()) {
    out.items = bad_links(s, v);
    cut(out.items, kBadLinksMax, out.left_out);
    return out;
  }
  std::vector<bool> used;
  if (!q.jobs.empty()) {
    used = used_by(s, q.jobs);
    out.job = on_fabric(q.jobs, spreads, out.leaves);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      ++out.leaves[s.site.nodes[i / out.rails].leaf].asked_links;
      ++out.job->links;
      out.job->bad_links += is_bad(v.states[i]) ? 1 : 0;
    }
    out.job->words = job_words(*out.job, out.leaves);
    out.job->bottleneck_name = out.leaves.empty() ? std::string() : out.leaves[out.job->bottleneck].name;
    out.job->bottleneck_share = out.leaves.empty() ? 0 : out.leaves[out.job->bottleneck].load.worst_case_share();
  }
  choose_links(out, s, v, leaf, used);
  std::erase_if(out.leaves, [&](const LeafView& l) { return leaf ? l.id != *leaf : l.asked_links == 0; });
  if (leaf) out.leaves.front().switches = switches_of(s, w, *leaf);
  return out;
}

}  // namespace muster::report
