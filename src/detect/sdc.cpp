#include "detect/sdc.h"

#include <fmt/core.h>

#include <optional>

#include "detect/ranks.h"

namespace muster::detect {
namespace {
constexpr Duration kRemembered = days(30);  // the field meets it every week or two on a large fleet
constexpr Duration kOthersSpeak = seconds(30);
constexpr std::size_t kRunsMax = 4096;
constexpr std::size_t kWhoMax = 64;  // of one run: more are no lead

// The GPU that a line means. A job may name its own nodes only; where nobody knows which those are, it is taken to have whole
// nodes.
std::optional<RankPlace> place_of(const JobLogRecord& r, const State& s, const Job* j) {
  if (j == nullptr) return r.node.some() && r.gpu >= 0 ? std::optional(RankPlace{r.node, r.gpu}) : std::nullopt;
  for (std::size_t i = 0; r.node.some() && r.gpu >= 0 && i < j->nodes.size(); ++i) {
    if (j->nodes[i] != r.node) continue;
    const std::uint16_t slots = i < j->slots.size() && j->slots[i] != 0 ? j->slots[i] : all_slots(s.site);
    int left = r.gpu;
    for (std::int16_t slot = 0; slot < 16; ++slot) {
      if ((slots >> slot & 1) != 0 && left-- == 0) return RankPlace{r.node, slot};
    }
  }
  return place_of_rank(s, *j, r.rank);
}

}  // namespace

void Sdc::on_record(const JobLogRecord& r, const State& s, Time mono) {
  if (r.kind != JobLogKind::not_a_number && r.kind != JobLogKind::not_repeatable) return;
  const Job* j = find_job(s, r.job);
  const auto p = place_of(r, s, j);
  const RunKey key{r.job, j == nullptr ? 0 : j->attempt};
  if (!p || (runs_.size() >= kRunsMax && runs_.count(key) == 0)) return;
  const bool wrong = r.kind == JobLogKind::not_repeatable;
  Run& run = runs_[key];
  run.at = mono;
  auto& who = wrong ? run.wrong : run.nan;
  if (who.empty())
    unjudged_.push_back({mono + kOthersSpeak, key, wrong, r.label.empty() ? "job " + render(r.job) : r.label, r.text});
  if (who.size() < kWhoMax) who.emplace(Gpu{p->node, p->slot}, r.rank);
}

// No number is nearly always the data or the program. The same rank of the same job may meet the same bad data wherever it runs:
// only another job, or another rank, on the same GPU makes it the GPU's; the same rank elsewhere speaks for the GPU.
bool Sdc::follows(const Due& due, const Gpu& gpu, int rank) const {
  bool again = false;
  for (const auto& [key, run] : runs_) {
    if (key == due.run || run.nan.size() != 1) continue;
    const auto& [other, other_rank] = *run.nan.begin();
    const bool same_work = key.first == due.run.first && other_rank == rank;
    if (other != gpu && same_work) return false;
    again = again || (other == gpu && !same_work);
  }
  return again;
}

void Sdc::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  while (!unjudged_.empty() && unjudged_.front().due <= mono) {
    const Due due = std::move(unjudged_.front());
    unjudged_.pop_front();
    std::erase_if(runs_, [&](const auto& x) { return mono - x.second.at > kRemembered; });
    const auto it = runs_.find(due.run);
    if (it == runs_.end()) continue;
    const auto& who = due.wrong ? it->second.wrong : it->second.nan;
    Sign sign{FindingKind::sdc_suspected, Severity::warning, {}, -1, due.run.first, 0, {Witness::job, utc, {}, {}}};
    if (who.size() == 1) {
      const auto& [gpu, rank] = *who.begin();
      if (s.nodes[gpu.first.v].incident.some() || (!due.wrong && !follows(due, gpu, rank))) continue;
      sign.node = gpu.first;
      sign.slot = gpu.second;
      sign.evidence.text =
          due.wrong ? fmt::format("{}: {}", due.who, due.text)
                    : fmt::format("results of different work were no numbers on this GPU alone; the last: {}", due.text);
      sign.job = {};
    } else if (due.wrong) {  // replicas differ, and it is not one against all: which of them is wrong is not known
      sign.evidence.text = fmt::format("{} ranks differ from their replicas; one says: {}", who.size(), due.text);
    } else {
      continue;
    }
    out.seen.push_back(std::move(sign));
  }
}

}  // namespace muster::detect
