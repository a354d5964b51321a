#include "diagnose/accounting.h"

#include <algorithm>
#include <vector>

namespace muster::diagnose {
namespace {

// Length of a union of intervals that come in the order of their starts.
struct Cover {
  std::int64_t end = INT64_MIN, total = 0;

  void add(const Span& s) {
    if (s.start_ns >= end) {
      total += s.length();
      end = s.end_ns;
    } else if (s.end_ns > end) {
      total += s.end_ns - end;
      end = s.end_ns;
    }
  }
};

// Who launched what, by correlation: of calls that share one, the first.
std::vector<const RuntimeCall*> by_correlation(const Trace& t) {
  std::vector<const RuntimeCall*> out;
  out.reserve(t.calls.size());
  for (const RuntimeCall& c : t.calls) {
    if (c.correlation != kNoCorrelation) out.push_back(&c);
  }
  const auto before = [](const RuntimeCall* x, const RuntimeCall* y) { return x->correlation < y->correlation; };
  if (!std::is_sorted(out.begin(), out.end(), before)) std::stable_sort(out.begin(), out.end(), before);
  return out;
}

}  // namespace

Accounting account(const Trace& t, Counted which) {
  std::vector<const GpuEvent*> events;
  events.reserve(t.gpu.size());
  if (which == Counted::drop_last_step && t.steps.size() > 1) {
    const auto calls = by_correlation(t);
    const std::int64_t last = t.steps.back().span.start_ns;
    for (const GpuEvent& e : t.gpu) {
      const auto it = std::lower_bound(calls.begin(), calls.end(), e.correlation,
                                       [](const RuntimeCall* c, std::uint64_t id) { return c->correlation < id; });
      if (it != calls.end() && (*it)->correlation == e.correlation && (*it)->span.start_ns < last) events.push_back(&e);
    }
  } else {
    for (const GpuEvent& e : t.gpu) events.push_back(&e);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const GpuEvent* x, const GpuEvent* y) { return x->span.start_ns < y->span.start_ns; });
  Accounting out;
  Cover all, working;  // working: computing or exchanging
  std::array<Cover, 4> each;
  std::int64_t end = INT64_MIN;
  for (const GpuEvent* e : events) {
    const auto w = static_cast<std::size_t>(e->work);
    ++out.count[w];
    out.sum_ns[w] += e->span.length();
    all.add(e->span);
    each[w].add(e->span);
    if (e->work == GpuWork::compute || e->work == GpuWork::communication) working.add(e->span);
    end = std::max(end, e->span.end_ns);
  }
  if (events.empty()) return out;
  for (std::size_t w = 0; w < each.size(); ++w) out.covered_ns[w] = each[w].total;
  out.span_ns = end - events.front()->span.start_ns;
  out.busy_ns = all.total;
  out.overlap_ns = out.covered_ns[0] + out.covered_ns[1] - working.total;
  return out;
}

}  // namespace muster::diagnose
