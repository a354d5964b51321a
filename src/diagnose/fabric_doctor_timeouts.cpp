// Ranks that wait for each other in different collectives: what timed out is not one operation on all of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnose/fabric_doctor.h"
#include "diagnose/nccl_troubles.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kNamed = 8;

// By rank, the first that timed out there.
using First = std::map<int, const NcclTrouble*>;

Finding uneven(const NcclLog& log, const std::string& group, const First& first) {
  std::int64_t most = -1;
  for (const auto& [rank, t] : first) most = std::max(most, t->seq);
  std::vector<std::string> behind, ahead;
  std::vector<std::pair<std::int64_t, const NcclTrouble*>> lines;
  for (const auto& [rank, t] : first) {
    (t->seq < most ? behind : ahead).push_back(t->seq < most ? fmt::format("{} at {}", rank, t->seq) : fmt::format("{}", rank));
    lines.emplace_back(t->seq, t);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  Finding f;
  f.cause = "collective_timeout";
  f.title = fmt::format("ranks timed out at different collectives{}: rank {} lag behind rank {} at {}",
                        group.empty() ? "" : " of group " + group, some(behind, kNamed), some(ahead, kNamed), most);
  if (behind.size() == 1) f.title.replace(f.title.find(" lag behind "), 12, " lags behind ");
  for (const auto& [seq, t] : lines) {
    if (f.evidence.size() < 4) f.evidence.push_back(fmt::format("{}: rank {}: {}", at(log, t->at), t->rank, t->text));
  }
  f.remedy = fmt::format(
      "look at rank {} first: its last stack (py-spy dump), its node's kernel log and GPUs; then at code in which ranks do not "
      "call the same collectives{}. The flight recorder's dumps of all ranks tell the call (muster diagnose)",
      some(behind, kNamed), group.empty() ? ". These lines name no group: numbers of two groups do not compare" : "");
  f.verify = "the ranks stand at the same number in the next run, or none times out";
  f.confidence = Confidence::medium;
  return f;
}

}  // namespace

std::vector<Finding> check_timeouts(const NcclLog& log) {
  std::map<std::string, First> groups;
  std::map<std::string, bool> told;  // what was last enqueued, which says more
  for (const NcclTrouble& t : log.troubles) {
    if (t.last_enqueued >= 0) told[t.group] = true;
    if (t.kind != NcclTroubleKind::timeout || t.rank < 0 || t.seq < 0) continue;
    const NcclTrouble*& first = groups[t.group][t.rank];
    if (first == nullptr || t.seq < first->seq) first = &t;
  }
  std::vector<Finding> out;
  for (const auto& [group, first] : groups) {
    if (told.count(group) != 0 || (group.empty() && !told.empty())) continue;
    const std::int64_t one = first.begin()->second->seq;
    const bool same = std::all_of(first.begin(), first.end(), [&](const auto& x) { return x.second->seq == one; });
    if (!same && out.size() < kNamed) out.push_back(uneven(log, group, first));
  }
  return out;
}

}  // namespace muster::diagnose
