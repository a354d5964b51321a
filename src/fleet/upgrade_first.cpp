#include "fleet/upgrade_first.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/node_list.h"
#include "base/text.h"
#include "model/upgrade_waves.h"

namespace muster::fleet {
namespace {

constexpr std::uint32_t kCanariesLeast = 3;
constexpr double kCanaries_pct = 1;
constexpr std::uint32_t kCandidates = 3;  // named for each that is wanted, where all nodes are of a kind: who is free first goes

// One after the other: a kind that has none first, then the domain and the rack that have given the fewest.
std::set<std::size_t> spread(const Site& site, const std::vector<FirstNode>& nodes, std::uint32_t named) {
  std::vector<std::uint32_t> of_domain(site.nodes.size()), of_rack(site.nodes.size());
  std::vector<bool> kind_has(nodes.size()), gone(site.nodes.size());
  const auto at = [](std::vector<std::uint32_t>& of, std::uint32_t id) -> std::uint32_t& {
    if (id >= of.size()) of.resize(id + 1);
    return of[id];
  };
  std::set<std::size_t> taken;
  while (taken.size() < named) {
    const FirstNode* best = nullptr;
    std::tuple<bool, std::uint32_t, std::uint32_t> least;
    for (const FirstNode& n : nodes) {
      if (gone[n.node]) continue;
      const NodeSpec& x = site.nodes[n.node];
      const auto here = std::make_tuple(static_cast<bool>(kind_has[n.kind]), at(of_domain, x.domain), at(of_rack, x.rack));
      if (best != nullptr && !(here < least)) continue;
      best = &n;
      least = here;
    }
    if (best == nullptr) break;
    taken.insert(best->node);
    gone[best->node] = true;
    kind_has[best->kind] = true;
    ++at(of_domain, site.nodes[best->node].domain);
    ++at(of_rack, site.nodes[best->node].rack);
  }
  return taken;
}

void note_crowding(std::size_t wanted, std::size_t domains, std::size_t racks, UpgradePlan& plan) {
  if (racks < wanted && domains < wanted)
    plan.notes.push_back(fmt::format("{} canaries, but {} NVLink domain{} in {} rack{}: some share one", wanted, domains,
                                     domains == 1 ? "" : "s", racks, racks == 1 ? "" : "s"));
  else if (racks < wanted)
    plan.notes.push_back(fmt::format("{} canaries, but {} rack{}: some share one", wanted, racks, racks == 1 ? "" : "s"));
}

}  // namespace

Result<void> choose_first(const Site& site, const std::vector<FirstNode>& nodes, std::uint32_t wanted, UpgradePlan& plan) {
  const auto all = static_cast<std::uint32_t>(nodes.size());
  if (wanted > 1 && wanted * 2 > all)
    return fail(Code::bad_input, fmt::format("--canaries {}: more than half of {} node{}", wanted, all, all == 1 ? "" : "s"),
                fmt::format("at most {}: those who go first are to spare the others", std::max(1U, all / 2)));
  std::set<std::size_t> kinds;
  std::set<std::uint32_t> domains, racks;
  for (const FirstNode& n : nodes) {
    kinds.insert(n.kind);
    domains.insert(site.nodes[n.node].domain);
    racks.insert(site.nodes[n.node].rack);
  }
  const auto share = static_cast<std::uint32_t>(all * kCanaries_pct / 100);
  const auto each = static_cast<std::uint32_t>(kinds.size());
  plan.canaries_wanted = wanted > 0 ? wanted : std::min(all, std::max({kCanariesLeast, share, each}));
  const std::uint32_t named = each > 1 ? plan.canaries_wanted : std::min(all, plan.canaries_wanted * kCandidates);
  const std::set<std::size_t> taken = spread(site, nodes, named);
  for (const std::size_t n : taken) plan.canaries.push_back(site.nodes[n].name);
  if (each > 1)
    plan.notes.push_back(each <= plan.canaries_wanted
                             ? fmt::format("the nodes are of {} kinds: each has a canary", each)
                             : fmt::format("the nodes are of {} kinds, more than canaries: some have none", each));
  if (plan.canaries_wanted == all)
    plan.notes.push_back(all == 1 ? "one node: it is its own canary"
                                  : fmt::format("all {} nodes are canaries: none is spared", all));
  note_crowding(plan.canaries_wanted, domains.size(), racks.size(), plan);
  std::uint32_t done = plan.canaries_wanted;
  for (const std::uint32_t until : upgrade_waves(all, plan.canaries_wanted)) {
    plan.waves.push_back({100.0 * until / all, until - done});
    done = until;
  }
  return {};
}

std::vector<CutDomain> cut_domains(const Site& site, const std::vector<std::size_t>& planned,
                                   const std::vector<std::size_t>& done) {
  struct Seen {
    std::vector<std::string> names;
    std::size_t planned = 0, done = 0;
  };
  std::map<std::uint32_t, Seen> of;
  for (const NodeSpec& n : site.nodes) of[n.domain].names.push_back(n.name);
  for (const std::size_t n : planned) ++of[site.nodes[n].domain].planned;
  for (const std::size_t n : done) ++of[site.nodes[n].domain].done;
  std::vector<CutDomain> out;
  for (auto& [domain, x] : of) {
    if (x.planned == 0 || x.planned + x.done >= x.names.size()) continue;
    const std::size_t all = x.names.size();
    out.push_back({fmt::format("NVLink domain {} ({})", domain, compress_node_list(std::move(x.names))), all, x.planned});
  }
  return out;
}

}  // namespace muster::fleet
