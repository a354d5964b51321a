// Picture: what it makes of nodes and partitions.
#include <fmt/core.h>

#include <algorithm>

#include "adapters/slurm/picture.h"
#include "base/text.h"

namespace muster::slurm {
namespace {

// A slurmd that comes back first ends what it had left behind. A job put there meanwhile is refused as a duplicate, and Slurm
// drains the node for it.
constexpr Duration kBackFor = seconds(10);

NodeCondition condition_of(const NodeRow& r) {
  const std::string& base = r.state.front();
  for (const char* flag : {"REBOOT_ISSUED", "POWERING_UP"}) {
    if (r.has(flag)) return NodeCondition::booting;
  }
  if (base == "IDLE" && r.has("NOT_RESPONDING")) return NodeCondition::booting;  // Slurm starts nothing there
  if (base == "DOWN" || base == "ERROR" || r.has("INVALID_REG") || r.has("INVAL") || r.has("FAIL")) return NodeCondition::down;
  for (const char* flag :
       {"MAINTENANCE", "MAINT", "RESERVED", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "FUTURE", "UNKNOWN"}) {
    if (r.has(flag)) return NodeCondition::kept;
  }
  return NodeCondition::up;
}

}  // namespace

// Who keeps work off it, where that has changed.
void Picture::see_hold(NodeId n, const NodeRow& r, std::vector<Body>& out) {
  if (nodes_in_hand_.count(n) != 0 || nodes_since_.count(n) != 0) return;
  Hold& hold = holds_[n.v];
  if (reasons_.slurms(r)) {
    // One that Muster or a person has is theirs, whatever Slurm adds. One that does not answer is down, and may come back.
    if (hold != Hold::none || !(drained(r) || left_down(r))) return;
    hold = Hold::engine;
    out.push_back(NodeHeld{n, true, r.reason_by, r.reason, true, left_processes(r)});
  } else if (taken_out(r)) {
    if (hold == Hold::person || (reasons_.has(n, r.reason) && hold != Hold::none)) return;
    const bool unknown = by_muster(r) && hold == Hold::none;
    hold = Hold::person;
    // One of Muster's that this Muster knows nothing of: nobody but a person can say whether it may come back.
    out.push_back(NodeHeld{n, true, unknown ? "an earlier Muster" : r.reason_by, r.reason});
  } else if (!down(r) && hold != Hold::none) {
    hold = Hold::none;
    out.push_back(NodeHeld{n, false, "somebody, in Slurm", {}});
  }
}

// Who does not run into the first one of its nodes runs into none.
void Picture::see_coming(const std::vector<ReservationRow>& reservations, Time utc) {
  coming_.clear();
  std::vector<std::string> pools = {""};
  for (const Pool& p : site_.pools) pools.push_back(p.name);
  for (const ReservationRow& r : reservations) {
    if (r.from <= utc) continue;
    const std::vector<NodeId> nodes = nodes_of(r.nodes);
    for (const std::string& pool : pools) {
      if (!shares_nodes(pool, nodes)) continue;
      const auto [at, fresh] = coming_.try_emplace(pool, Coming{r.name, r.from});
      if (!fresh && r.from < at->second.from) at->second = {r.name, r.from};
    }
  }
}

std::vector<Body> Picture::see_nodes(const std::vector<NodeRow>& rows, const std::vector<ReservationRow>& reservations,
                                     Time utc) {
  std::vector<Body> out;
  std::map<std::string, std::string> reserved;
  see_coming(reservations, utc);
  for (const ReservationRow& r : reservations) {
    if (r.from > utc || (r.until.ns > 0 && r.until < utc)) continue;
    if (auto names = expand_names(r.nodes)) {
      for (const std::string& n : *names) reserved[n] = r.name;
    }
  }
  std::vector<bool> seen(site_.nodes.size());
  heard_.clear();
  for (const NodeRow& r : rows) {
    const auto it = by_name_.find(r.name);
    if (it == by_name_.end() || r.state.empty()) continue;
    const NodeId n = it->second;
    seen[n.v] = true;
    nodes_missed_[n.v] = 0;
    NodeCondition c = condition_of(r);
    // Only Slurm's mark is left of what it was down for: it can be tested.
    const bool ours = reasons_.slurms(r) || reasons_.has(n, r.reason);
    if (left_down(r) && ours && c == NodeCondition::down && !r.has("INVALID_REG") && !r.has("INVAL")) c = NodeCondition::up;
    std::string detail = "Slurm: " + join(r.state, "+");
    if (const auto res = reserved.find(r.name); res != reserved.end() && c == NodeCondition::up) {
      c = NodeCondition::kept;
      detail = fmt::format("Slurm: reservation {}", res->second);
    }
    if (!r.has("NOT_RESPONDING")) heard_.push_back(n);
    if (c == NodeCondition::up && (conditions_[n.v] == NodeCondition::down || conditions_[n.v] == NodeCondition::booting)) {
      if (utc - back_.try_emplace(n, utc).first->second < kBackFor) c = NodeCondition::booting;
    } else {
      back_.erase(n);
    }
    if (c != conditions_[n.v]) {
      conditions_[n.v] = c;
      out.push_back(NodeChanged{n, c, c == NodeCondition::down && !r.reason.empty() ? detail + ": " + r.reason : detail});
    }
    see_hold(n, r, out);
  }
  for (std::uint32_t n = 0; n < seen.size(); ++n) {
    if (seen[n] || ++nodes_missed_[n] != kLooks || conditions_[n] == NodeCondition::down) continue;
    conditions_[n] = NodeCondition::down;
    out.push_back(NodeChanged{NodeId{n}, NodeCondition::down, "Slurm no longer has it in its configuration"});
  }
  return out;
}

std::string Picture::why_unfit(const PartitionRow& partition, const std::vector<PartitionRow>& all) const {
  const std::vector<NodeId> now = nodes_of(partition.nodes);
  if (now.empty()) return fmt::format("partition {} has no node that Muster knows", partition.name);
  for (const PartitionRow& low : all) {
    if (!preempt_by_partition_ || !low.stoppable || low.tier >= partition.tier) continue;
    const std::vector<NodeId> theirs = nodes_of(low.nodes);
    if (std::find_first_of(now.begin(), now.end(), theirs.begin(), theirs.end()) != now.end())
      return fmt::format("jobs of partition {} stop those of {}, which only Slurm does", partition.name, low.name);
  }
  const Pool* pool = pool_of(partition.name);
  if (pool != nullptr ? now == pool->nodes : now.size() == site_.nodes.size()) return {};
  return fmt::format("partition {} has other nodes than when Muster was started: it places there when it is started again",
                     partition.name);
}

std::vector<std::string> Picture::see_partitions(const std::vector<PartitionRow>& rows) {
  std::map<std::string, std::string> unfit;
  closed_.clear();
  limits_.clear();
  for (const auto& [name, mode] : modes_) {
    const bool there = std::any_of(rows.begin(), rows.end(), [&, n = name](const PartitionRow& r) { return r.name == n; });
    if (!there) unfit[name] = fmt::format("Slurm has no partition {}", name);
  }
  for (const PartitionRow& r : rows) {
    if (mode_of(r.name) != Mode::place) continue;
    if (!r.up) closed_.insert(r.name);
    limits_[r.name] = {r.nodes_max, r.time_max_s};
    if (std::string why = why_unfit(r, rows); !why.empty()) unfit[r.name] = std::move(why);
  }
  std::vector<std::string> news;
  for (const auto& [name, why] : unfit) {
    if (const auto it = unfit_.find(name); it == unfit_.end() || it->second != why) news.push_back(why);
  }
  for (const auto& [name, why] : unfit_) {
    if (unfit.count(name) == 0) news.push_back(fmt::format("partition {} is as it should be again", name));
  }
  unfit_ = std::move(unfit);
  return news;
}

}  // namespace muster::slurm
