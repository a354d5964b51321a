#include "report/queues.h"

#include <fmt/core.h>

#include <map>

#include "base/text.h"
#include "decide/waiting.h"

namespace muster::report {
namespace {

using decide::kRootQueue;
using decide::QueueIndex;
using decide::Quotas;

constexpr auto kGpus = static_cast<std::size_t>(Resource::gpus);

double gpus(std::int64_t milli) { return static_cast<double>(milli) / 1000; }

std::optional<double> gpus(std::optional<std::int64_t> milli) {
  return milli ? std::optional<double>(gpus(*milli)) : std::nullopt;
}

const QueueSpec* spec_named(const Policy& p, const std::string& name) {
  for (const QueueSpec& q : p.queues) {
    if (q.name == name) return &q;
  }
  return nullptr;
}

std::vector<ModelUse> models_of(const Quotas& quotas, QueueIndex q, const QueueSpec& spec) {
  std::vector<ModelUse> out;
  for (const ModelQuota& m : spec.models) {
    for (std::size_t k = 0; k < 2; ++k) {
      if (quotas.model(k) != m.model) continue;
      const auto r = static_cast<Resource>(static_cast<std::size_t>(Resource::first_model) + k);
      out.push_back({m.model, static_cast<double>(m.guaranteed_gpus), gpus(quotas.bound(q, r)),
                     gpus(quotas.in_use(q)[static_cast<std::size_t>(r)])});
    }
  }
  return out;
}

QueueUseRow row_of(const State& s, const Quotas& quotas, QueueIndex q) {
  QueueUseRow row;
  row.name = q == kRootQueue ? std::string(kNoQueue) : quotas.name(q);
  if (const QueueSpec* spec = q == kRootQueue ? nullptr : spec_named(s.policy, row.name)) {
    row.parent = spec->parent;
    row.weight = spec->weight;
    row.guaranteed = spec->guaranteed_gpus;
    row.borrow = spec->borrow;
    row.lend = spec->lend;
    if (spec->limit_kw > 0) row.limit_kw = spec->limit_kw;
    row.models = models_of(quotas, q, *spec);
  }
  row.limit = gpus(quotas.bound(q, Resource::gpus));
  row.held = gpus(quotas.in_use(q)[kGpus]);
  row.past = quotas.past_gpus(q) / 1000;
  row.due = quotas.due(q);
  row.used = quotas.used(q);
  return row;
}

std::string number(double x) { return render_number(static_cast<double>(static_cast<std::int64_t>(x * 1000 + 0.5)) / 1000); }

std::string percent(double part) { return fmt::format("{:.1f} %", part * 100); }

}  // namespace

std::vector<QueueUseRow> queue_rows(const State& s) {
  const Quotas quotas = decide::quotas_of(s);
  std::vector<QueueUseRow> rows;
  for (QueueIndex q = 0; q < quotas.size(); ++q) rows.push_back(row_of(s, quotas, q));
  // The root has all that is held: of its own it has what the queues directly below it do not.
  for (QueueIndex q = 1; q < quotas.size(); ++q) {
    if (quotas.parent(q) != kRootQueue) continue;
    rows[kRootQueue].held -= rows[q].held;
    rows[kRootQueue].past -= rows[q].past;
    rows[kRootQueue].used -= rows[q].used;
  }
  for (const auto& [id, j] : s.jobs) {
    if (ended(j.phase)) continue;
    const bool waits = j.phase == JobPhase::queued || j.phase == JobPhase::broken;
    for (QueueIndex q = quotas.find(queue_of(j.spec));; q = quotas.parent(q)) {
      rows[q].running += waits ? 0 : 1;
      rows[q].waiting += waits ? 1 : 0;
      rows[q].waiting_gpus += waits ? gpus(milli_gpus(s.site, j.spec)) : 0;
      if (q == kRootQueue || quotas.parent(q) == kRootQueue) break;
    }
  }
  // Where nothing is guaranteed to anybody, nobody borrows.
  const bool promised = std::any_of(rows.begin(), rows.end(), [](const QueueUseRow& row) { return row.guaranteed > 0; });
  for (QueueUseRow& row : rows) row.borrowed = promised ? std::max(0.0, row.held - row.guaranteed) : 0;
  QueueUseRow none = std::move(rows[kRootQueue]);
  rows.erase(rows.begin());
  none.due = 0;
  none.past = std::max(0.0, none.past);
  none.used = std::max(0.0, none.used);
  if (none.held > 0 || none.running > 0 || none.waiting > 0) rows.push_back(std::move(none));
  return rows;
}

bool counts_for(const State& s, const std::string& of, const std::string& name) {
  const QueueSpec* q = spec_named(s.policy, of);
  if (q == nullptr && !s.policy.queues.empty()) return name == kNoQueue;
  if (q == nullptr) return of == name || (of.empty() && name == kNoQueue);
  for (; q != nullptr; q = spec_named(s.policy, q->parent)) {
    if (q->name == name) return true;
  }
  return false;
}

std::vector<std::string> queue_words(const State& s, const QueueUseRow& q) {
  std::vector<std::string> out;
  std::string may = q.guaranteed > 0 ? fmt::format("{} GPUs are guaranteed to it", number(q.guaranteed))
                                     : std::string("Nothing is guaranteed to it");
  if (q.limit && !q.borrow) {
    may += "; it may not borrow, so that is also the most it can have";
  } else {
    may += q.limit ? fmt::format("; its limit is {} GPUs", number(*q.limit)) : std::string("; it has no limit");
  }
  if (q.limit_kw) may += fmt::format(" and {} kW", number(*q.limit_kw));
  if (!q.lend) may += "; what it leaves unused of its guarantee stays unused";
  out.push_back(may + ".");
  for (const ModelUse& m : q.models) {
    out.push_back(fmt::format("Of {}: {} GPUs guaranteed, {}, {} held.", printable(m.model), number(m.guaranteed),
                              m.limit ? fmt::format("a limit of {}", number(*m.limit)) : std::string("no limit"),
                              number(m.held)));
  }
  const std::string waits = q.waiting == 0 ? std::string("nobody waits")
                                           : fmt::format("{} job{} for {} GPUs", q.waiting, q.waiting == 1 ? " waits" : "s wait",
                                                         number(q.waiting_gpus));
  out.push_back(fmt::format(
      "It holds {} GPUs with {} job{}{}; {}.", number(q.held), q.running, q.running == 1 ? "" : "s",
      q.borrowed > 0 ? fmt::format(", {} of them borrowed: they may be taken back", number(q.borrowed)) : std::string(), waits));
  if (q.name == kNoQueue) {
    out.push_back("Its jobs name no queue, and their accounts have none: they share what the queues leave.");
    return out;
  }
  const Duration half_life = s.policy.scheduling.half_life;
  const std::string past = half_life.ns > 0
                               ? fmt::format("in the past it had {:.1f} GPUs on average (use counts half as much after {})",
                                             q.past, render_duration(half_life))
                               : std::string("past use does not count");
  out.push_back(fmt::format("Its fair share is {} of the cluster (weight {}); counted as used are {}: {}.", percent(q.due),
                            number(q.weight), percent(q.used), past));
  if (q.used > q.due) {
    out.push_back("It has had more than its share: jobs of queues that have had less go before its own.");
  } else if (q.waiting > 0) {
    out.push_back("It has had less than its share: its jobs go before those of queues that have had more.");
  }
  return out;
}

}  // namespace muster::report
