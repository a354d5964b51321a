#include "fleet/upgrade_exposure.h"

#include <algorithm>
#include <map>
#include <set>

namespace muster::fleet {
namespace {

enum class At : std::uint8_t {
  planned,  // without it now, and its turn comes
  has_it,
  without,  // and stays so: another version, or nobody knows
  neither   // it has nothing of the kind
};

// Nodes of a job that must be of one side, counted.
struct Unit {
  std::uint32_t planned = 0, has_it = 0, without = 0;
  bool could_differ() const { return planned + has_it + without > 1; }
  bool both_now() const { return has_it > 0 && planned + without > 0; }
};

// What turns are needed for a job to be on both sides, at least: one node of it with the version, one left without, or both.
enum class Needs : std::uint8_t { nothing, one_with, one_without, either, both, never };

struct Nodes {
  std::map<std::string, At> at;
  std::map<std::string, std::uint32_t> domain;
};

Nodes nodes_of(const UpgradePlan& plan, const Site& site) {
  Nodes out;
  for (const NodeSpec& n : site.nodes) {
    out.at[n.name] = At::without;
    out.domain[n.name] = n.domain;
  }
  for (const std::string& n : plan.nodes) out.at[n] = At::planned;
  for (const std::string& n : plan.done) out.at[n] = At::has_it;
  for (const std::string& n : plan.lacking) out.at[n] = At::neither;
  return out;
}

std::vector<Unit> units_of(const JobNow& job, const Nodes& nodes, ApartWithin within) {
  std::map<std::uint32_t, Unit> units;
  const std::set<std::string> names(job.nodes.begin(), job.nodes.end());
  for (const std::string& name : names) {
    const auto at = nodes.at.find(name);
    if (at == nodes.at.end()) continue;  // of another cluster
    Unit& u = units[within == ApartWithin::domain ? nodes.domain.at(name) : 0];
    u.planned += at->second == At::planned ? 1 : 0;
    u.has_it += at->second == At::has_it ? 1 : 0;
    u.without += at->second == At::without ? 1 : 0;
  }
  std::vector<Unit> out;
  for (const auto& [key, unit] : units) out.push_back(unit);
  return out;
}

Needs needs_of(const std::vector<Unit>& units) {
  bool with = false, without = false, both = false;
  for (const Unit& u : units) {
    if (u.has_it > 0 && u.without > 0) return Needs::nothing;
    with = with || (u.without > 0 && u.planned > 0);
    without = without || (u.has_it > 0 && u.planned > 0);
    both = both || u.planned > 1;
  }
  if (with && without) return Needs::either;
  return with ? Needs::one_with : without ? Needs::one_without : both ? Needs::both : Needs::never;
}

// How many jobs can be on both sides at once, of so many of each need, with so many planned nodes with it and without. A node
// serves one job, so it is best spent on those that need one alone.
std::uint32_t most_on_both(const std::map<Needs, std::uint32_t>& of, std::uint64_t with, std::uint64_t without) {
  const auto count = [&](Needs n) {
    const auto it = of.find(n);
    return it == of.end() ? std::uint64_t{0} : std::uint64_t{it->second};
  };
  std::uint64_t jobs = count(Needs::nothing);
  const auto spend = [&](std::uint64_t wanted, std::uint64_t& left) {
    const std::uint64_t n = std::min(wanted, left);
    left -= n;
    jobs += n;
  };
  spend(count(Needs::one_with), with);
  spend(count(Needs::one_without), without);
  for (std::uint64_t either = count(Needs::either); either > 0 && with + without > 0; --either) {
    --(with > without ? with : without);  // what is over is to serve pairs
    ++jobs;
  }
  jobs += std::min({count(Needs::both), with, without});
  return static_cast<std::uint32_t>(jobs);
}

// Nodes that one side has at least, whenever it is looked at, with `away` out of service.
std::uint32_t larger_side(const UpgradePlan& plan, const Nodes& nodes, const Site& site, std::uint32_t away) {
  std::uint32_t planned = 0, has_it = 0, without = 0;
  std::map<std::uint32_t, std::uint32_t> in_domain;
  for (const NodeSpec& n : site.nodes) {
    const At at = nodes.at.at(n.name);
    planned += at == At::planned ? 1 : 0;
    has_it += at == At::has_it ? 1 : 0;
    without += at == At::without ? 1 : 0;
    in_domain[n.domain] += at == At::neither ? 0 : 1;
  }
  if (plan.apart_within == ApartWithin::domain) {
    // Every domain half-way is worse than it can come, but nobody can say how many will be.
    std::uint32_t sum = 0;
    for (const auto& [domain, count] : in_domain) sum += (count + 1) / 2;
    return sum > away ? sum - away : 0;
  }
  away = std::min(away, planned);
  std::uint32_t least = UINT32_MAX;
  for (std::uint32_t turned = 0; turned + away <= planned; ++turned)
    least = std::min(least, std::max(has_it + turned, without + planned - away - turned));
  return least;
}

}  // namespace

Exposure exposure_of(const UpgradePlan& plan, const Site& site, std::span<const JobNow> jobs, bool tells_waiting,
                     std::uint32_t away_nodes) {
  Exposure out;
  if (tells_waiting) out.waiting = 0;
  const Nodes nodes = nodes_of(plan, site);
  const bool apart = !plan.apart.empty();
  out.side_nodes = apart && !plan.nodes.empty() ? larger_side(plan, nodes, site, away_nodes) : 0;
  std::map<Needs, std::uint32_t> needs;
  std::set<std::string> taken;
  bool shared = false;
  for (const JobNow& job : jobs) {
    if (job.nodes.empty()) {
      if (!tells_waiting) continue;
      ++*out.waiting;
      out.too_large += apart && job.wants > out.side_nodes ? 1 : 0;
      continue;
    }
    ++out.running;
    const std::vector<Unit> units = units_of(job, nodes, plan.apart_within);
    if (std::none_of(units.begin(), units.end(), [](const Unit& u) { return u.could_differ(); })) continue;
    ++out.several;
    out.both_now += std::any_of(units.begin(), units.end(), [](const Unit& u) { return u.both_now(); }) ? 1 : 0;
    ++needs[needs_of(units)];
    for (const std::string& n : job.nodes) shared = !taken.insert(n).second || shared;
  }
  const auto planned = static_cast<std::uint32_t>(plan.nodes.size());
  std::uint32_t with = 0;
  const auto step = [&](std::uint32_t more) {
    with = std::min(planned, with + more);
    // A node that several jobs use counts for each of them: then any number of turns may do.
    const auto pool = [&](std::uint32_t n) { return shared && n > 0 ? std::uint64_t{UINT32_MAX} : std::uint64_t{n}; };
    out.steps.push_back({with, most_on_both(needs, pool(with), pool(planned - with))});
  };
  if (planned > 0) step(plan.canaries_wanted);
  for (const UpgradeWave& w : plan.waves) step(w.nodes);
  return out;
}

}  // namespace muster::fleet
