#include "decide/moves/preempt.h"

#include <fmt/format.h>

#include <algorithm>

#include "decide/moves/victims.h"

namespace muster::decide {
namespace {

struct Sorted {
  std::vector<Candidate> candidates;
  std::uint32_t higher = 0;      // of equal or higher priority, and not borrowed
  std::uint32_t young = 0;       // have run for less than the protected time
  std::uint32_t guaranteed = 0;  // of other queues, within their guarantees
};

Sorted sort_out(std::span<const Gang> running, const PreemptAsk& ask, const PreemptRules& rules, const Quotas* quotas) {
  Sorted out;
  const bool guarded = quotas != nullptr && quotas->guarded(ask.use);
  const bool owner = guarded && quotas->within_guarantee(ask.queue, ask.use);
  for (const Gang& g : running) {
    if (g.id == ask.id || g.nodes.empty()) continue;
    const bool other = guarded && g.queue != ask.queue;
    const bool gives = other && quotas->must_give(g.queue, ask.queue, ask.use);
    if (g.priority >= ask.priority && !(owner && gives)) {
      ++out.higher;
    } else if (g.running_s < rules.protected_s) {
      ++out.young;
    } else if (other && !gives) {
      ++out.guaranteed;
    } else {
      out.candidates.push_back({&g, g.loss_gpu_ms(), 0, other});
    }
  }
  std::sort(out.candidates.begin(), out.candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.gang->id < b.gang->id; });
  return out;
}

std::string wanted(const Shape& s) {
  const std::string what = s.gpus == 0 ? fmt::format("{} whole node{}", s.pieces, s.pieces == 1 ? "" : "s")
                                       : fmt::format("{} x {} GPU{}", s.pieces, s.gpus, s.gpus == 1 ? "" : "s");
  return s.required == Level::core ? what : fmt::format("{} within one {}", what, say(s.required));
}

std::string explain(const Preemption& p, const PreemptAsk& ask, std::span<const Gang* const> gangs) {
  std::uint64_t milli = 0;
  std::string ids;
  for (const Gang* g : gangs) {
    milli += g->milli_gpus();
    if (gangs.size() <= 8) ids += (ids.empty() ? "" : ", ") + render(g->id);
  }
  return fmt::format(
      "stopping {} gang{}{} frees {:.6g} GPU{}: with what is free already, room for {}; {:.3g} GPU-hours are done again, {}",
      gangs.size(), gangs.size() == 1 ? "" : "s", ids.empty() ? "" : fmt::format(" ({})", ids), static_cast<double>(milli) / 1000,
      milli == 1000 ? "" : "s", wanted(ask.shape), static_cast<double>(p.loss_gpu_ms) / 3.6e6,
      p.exact ? "the least possible" : "the least that was found");
}

}  // namespace

Preemption choose_victims(Tree& tree, const Layout& layout, std::span<const Gang> running, const PreemptAsk& ask,
                          const PreemptRules& rules, const Quotas* quotas) {
  Preemption out;
  if (quotas == nullptr || quotas->allows(ask.queue, ask.use)) {
    if (auto c = tree.find(ask.shape)) {
      out.found = out.exact = true;
      out.choice = std::move(*c);
      out.why = "it fits as things are";
      return out;
    }
  }
  const Sorted s = sort_out(running, ask, rules, quotas);
  VictimSearch search(tree, layout, ask, rules, quotas);
  search.run(s.candidates);
  out.found = search.found();
  out.exact = search.exact();
  if (!out.found) {
    out.why = fmt::format(
        "no set of the {} gangs that may be stopped makes room for {}{}: left alone are {} of no lower priority, {} "
        "that run for less than {:.0f} s, and {} within their queues' guarantees",
        s.candidates.size(), wanted(ask.shape), out.exact ? "" : " (as far as was searched)", s.higher, s.young,
        rules.protected_s, s.guaranteed);
    return out;
  }
  const std::vector<const Gang*>& gangs = search.best().gangs;
  for (const Gang* g : gangs) {
    out.victims.push_back(g->id);
    give(tree, *g);
  }
  out.loss_gpu_ms = search.best().loss;
  out.choice = tree.find(ask.shape).value();
  for (const Gang* g : gangs) take(tree, *g);
  out.why = explain(out, ask, gangs);
  return out;
}

}  // namespace muster::decide
