#include "fleet/experiment.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace muster::fleet {
namespace {

constexpr std::uint32_t kPerArmLeast = 3, kPerArmMost = 32;
// One-sided at 5 %, found in nine of ten: (1.645 + 1.282)^2, twice since two groups are held against each other.
constexpr double kWeight = 2 * 8.57;

// A name before its first dot and its value: modules of one driver have the version in common and are changed with it.
bool one_change(const FactTable& table, FactValue a, FactValue b, const FactBook& book) {
  const FactColumn &x = table.columns()[a.column], &y = table.columns()[b.column];
  if (x.key == y.key) return true;  // the same of another part
  if (a.code < kFirstValue || b.code < kFirstValue) return false;
  const FactMeaning *m = book.find(x.key), *n = book.find(y.key);
  const bool versions = m != nullptr && n != nullptr && m->kind == FactKind::version && n->kind == FactKind::version;
  return versions && x.values[a.code - kFirstValue] == y.values[b.code - kFirstValue];
}

// What nobody sets: it comes with another fact. Empty: it comes with none.
std::string_view follows(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kFollowers[] = {
      {"kernel.build", "kernel.release"},    {"kernel.config_hash", "kernel.release"}, {"kernel.page_size", "kernel.release"},
      {"kernel.tainted", "kernel.release"},  {"driver.vermagic", "kernel.release"},    {"bios.date", "bios.version"},
      {"bios.release", "bios.version"},      {"driver.gsp", "driver.loaded"},          {"cuda.driver_max", "driver.loaded"},
      {"libcuda.mapped", "libcuda.version"}, {"nccl.mapped", "nccl.system"},           {"libmlx5.abi", "libmlx5.version"},
      {"hpcx.cuda_major", "hpcx.version"}};
  for (const auto& [follower, leader] : kFollowers) {
    if (key == follower) return leader;
  }
  return {};
}

// What a person can write, install or flash. Racks and names nobody sets, and a part is swapped.
bool settable(const FactTable& table, const FactBook& book, FactValue v) {
  const std::string& key = table.columns()[v.column].key;
  if (const FactMeaning* m = book.find(key); m != nullptr)
    return m->layer != FactLayer::hardware && m->layer != FactLayer::identity && m->layer != FactLayer::state;
  constexpr std::string_view kPlaces[] = {"rack",     "row",        "room",     "hall",  "zone",   "pod",
                                          "site",     "datacenter", "location", "slot",  "leaf",   "switch",
                                          "position", "chassis",    "cabinet",  "block", "domain", "pdu"};
  for (const std::string_view word : split(key, '.')) {
    if (std::find(std::begin(kPlaces), std::end(kPlaces), word) != std::end(kPlaces)) return false;
  }
  return !key.starts_with("node.") && !key.starts_with("gpu.") && !key.starts_with("nic.");
}

// What most of the node's kind have; empty: absent, or nobody knows.
std::string usual_of(const FactColumn& column, const std::vector<Cohort>& cohorts, std::uint32_t node) {
  for (const Cohort& c : cohorts) {
    if (!std::binary_search(c.nodes.begin(), c.nodes.end(), node)) continue;
    std::map<FactCode, std::size_t> count;
    for (const std::uint32_t n : c.nodes) {
      if (const FactCode code = column.code(n); code == kFactAbsent || code >= kFirstValue) ++count[code];
    }
    const auto most =
        std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == count.end() || most->first < kFirstValue ? std::string() : column.values[most->first - kFirstValue];
  }
  return {};
}

}  // namespace

Experiment experiment_for(const FactTable& table, const FactBook& book, const std::vector<Cohort>& cohorts, const Cause& cause,
                          double noise) {
  std::vector<std::vector<FactValue>> levers;
  Experiment out;
  const auto has = [&](std::string_view key) {
    return std::any_of(cause.facts.begin(), cause.facts.end(), [&](FactValue f) { return table.columns()[f.column].key == key; });
  };
  for (const FactValue f : cause.facts) {
    if (const std::string_view leader = follows(table.columns()[f.column].key); !leader.empty()) {
      if (!has(leader)) out.fixed.push_back(f);  // else it changes with that
      continue;
    }
    if (!settable(table, book, f)) {
      out.fixed.push_back(f);
      continue;
    }
    const auto with = std::find_if(levers.begin(), levers.end(), [&](const auto& l) { return one_change(table, l[0], f, book); });
    if (with == levers.end()) {
      levers.push_back({f});
    } else {
      with->push_back(f);
    }
  }
  const double ratio = cause.effect > 0 ? noise / cause.effect : 1;
  const double wanted = std::ceil(kWeight * ratio * ratio);
  out.per_arm = static_cast<std::uint32_t>(std::clamp(wanted, double{kPerArmLeast}, double{kPerArmMost}));
  out.enough = wanted <= kPerArmMost;
  if (levers.empty()) return out;
  if (!out.fixed.empty()) {
    out.otherwise = out.fixed;
  } else if (levers.size() > 1) {
    out.otherwise = levers.back();  // the dearest: causes have the cheapest first
    levers.pop_back();
  }
  const std::size_t groups = levers.size() + 1;  // one stays as it is
  if (cause.nodes.size() < groups * out.per_arm) {
    out.enough = false;
    out.per_arm = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(cause.nodes.size() / groups));
  }
  std::size_t next = 0;
  for (auto& lever : levers) {
    Arm arm;
    for (std::uint32_t i = 0; i < out.per_arm && next < cause.nodes.size(); ++i) arm.nodes.push_back(cause.nodes[next++]);
    if (arm.nodes.empty()) break;
    for (const FactValue f : lever) arm.to.push_back(usual_of(table.columns()[f.column], cohorts, arm.nodes[0]));
    arm.change = std::move(lever);
    out.arms.push_back(std::move(arm));
  }
  out.untouched = static_cast<std::uint32_t>(std::min<std::size_t>(out.per_arm, cause.nodes.size() - next));
  return out;
}

}  // namespace muster::fleet
