#include "accept/judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "accept/counters.h"
#include "accept/judge_ran.h"
#include "base/series.h"
#include "base/text.h"

namespace muster::accept {
namespace {

constexpr double kLeftMib = 64;  // that a driver may keep for itself after tests

Trouble trouble(std::int32_t gpu, Verdict verdict, Class kind, Part part, AcceptTest test) {
  Trouble t;
  t.gpu = gpu;
  t.verdict = verdict;
  t.kind = kind;
  t.part = part;
  t.test = test;
  t.next = remedy(part);
  return t;
}

Part part_of_wrong(const accepting::Wrong& w) {
  switch (w.test) {
    case AcceptTest::march:
    case AcceptTest::march_hot:
    case AcceptTest::hbm: return Part::memory;
    case AcceptTest::sweep:
    case AcceptTest::sweep_hot: return Part::sms;
    case AcceptTest::link: return Part::host_link;
    case AcceptTest::peers:
    case AcceptTest::nccl: return Part::peers;
    default: return Part::tensor_cores;
  }
}

// Results that are wrong: one is enough. Places of the same test are one trouble, with the first few named.
void wrong_results(const Acceptance& a, std::int32_t gpu, std::vector<Trouble>& out) {
  constexpr std::size_t kNamed = 4;
  std::map<AcceptTest, std::vector<const accepting::Wrong*>> by_test;
  for (const accepting::Wrong& w : a.wrong) {
    if (w.gpu == gpu) by_test[w.test].push_back(&w);
  }
  for (const auto& [test, all] : by_test) {
    const Part part = part_of_wrong(*all.front());
    Trouble t = trouble(gpu, Verdict::fail, part == Part::memory ? Class::memory : Class::wrong_results, part, test);
    std::uint64_t count = 0;
    std::vector<std::string> places, details;
    for (const accepting::Wrong* w : all) {
      count += w->count;
      const std::string place = w->place.empty() ? "an unknown place" : printable(w->place);
      if (places.size() < kNamed && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
      if (details.size() < kNamed) details.push_back(place + ": " + printable(w->detail));
    }
    t.what =
        fmt::format("wrong results in {}: {}{}", name_of(test), join(places, ", "), all.size() > kNamed ? " and others" : "");
    t.evidence = fmt::format("{} wrong; {}", count, join(details, "; "));
    out.push_back(std::move(t));
  }
}

void counters(const Acceptance& a, std::int32_t gpu, std::vector<Trouble>& out) {
  for (const accepting::Counter& c : a.counters) {
    if (c.gpu != gpu) continue;
    for (const CounterRule& r : counter_rules()) {
      if (r.name != c.name) continue;
      // A counter that fell was set back meanwhile: all that is in it is new.
      const double grew = c.after < 0 || c.before < 0 ? 0 : c.after >= c.before ? c.after - c.before : c.after;
      const bool grows = r.growth >= 0 && grew > r.growth, stands = r.after >= 0 && c.after > r.after;
      if (!grows && !stands) continue;
      Trouble t = trouble(gpu, r.verdict, r.kind, r.part, AcceptTest::counters);
      t.what = grows ? fmt::format("{} more {} during the tests", render_number(grew), r.title) : std::string(r.title);
      t.evidence = fmt::format("{}: {} before, {} after", c.name, render_number(c.before), render_number(c.after));
      t.next = r.next;
      out.push_back(std::move(t));
    }
  }
}

void kernel_words(const Acceptance& a, std::int32_t gpu, std::vector<Trouble>& out) {
  for (const accepting::KernelWord& k : a.kernel) {
    if (k.gpu != gpu) continue;
    Trouble t = trouble(gpu, Verdict::fail, Class::wrong_results, Part::driver, AcceptTest::counters);
    t.what = k.code != 0 ? fmt::format("Xid {} during the tests", k.code) : "the kernel reports a fault during the tests";
    t.evidence = printable(k.text);
    if (k.code != 0) t.next = fmt::format("muster explain xid {}", k.code);
    out.push_back(std::move(t));
  }
}

void link_below(const accepting::Gpu& g, const Figures& f, std::vector<Trouble>& out) {
  const auto below = [&](const char* metric, double most, const char* words) {
    const auto it = f.value.find(metric);
    if (it == f.value.end() || most <= 0 || it->second >= most) return;
    Trouble t = trouble(g.gpu, Verdict::fail, Class::link, Part::host_link, AcceptTest::link);
    t.what = fmt::format("PCIe runs with {} {} of {}", words, render_number(it->second), render_number(most));
    t.evidence = "read under load, when a link that saves power is awake";
    out.push_back(std::move(t));
  };
  below("link_gen", g.link_gen_max, "generation");
  below("link_width", g.link_width_max, "width");
}

std::string place_of(const Metric& m, const Acceptance& a, std::int32_t gpu, const Figures& f) {
  if (m.test == AcceptTest::sweep) {
    const auto it = f.value.find(std::string(m.name) + "_slowest");
    if (it != f.value.end()) return fmt::format(", SM {:.0f}", it->second);
  }
  if (m.name != "pair_gb_s") return {};
  for (const accepting::Measured& x : a.measured) {
    if (x.gpu == gpu && x.value == f.value.at("pair_gb_s") && x.metric.find(':') != std::string::npos)
      return ", " + printable(x.metric.substr(x.metric.find(':') + 1));
  }
  return {};
}

bool beyond(const Metric& m, double value, double limit) { return m.better == Better::higher ? value < limit : value > limit; }

Class class_of(const Metric& m) {
  switch (m.part) {
    case Part::host_link:
    case Part::peers: return Class::link;
    case Part::power:
    case Part::cooling: return Class::power;
    default: return Class::slow;
  }
}

// One of the limits, where it is broken; a figure that is short of two is told once, by the surer: the fleet's.
std::optional<Trouble> short_of(const Acceptance& a, const accepting::Gpu& g, const Figures& f, const Metric& m, double value,
                                const std::vector<Limit>& limits) {
  for (const Limit& l : limits) {
    if (!beyond(m, value, l.value)) continue;
    const double away = l.of.median != 0 ? std::abs(value / l.of.median - 1) : 0;
    const bool own = l.basis == Basis::history;
    Trouble t = trouble(g.gpu, away >= kFailShare && !own ? Verdict::fail : Verdict::degraded, class_of(m), m.part, m.test);
    t.what = fmt::format("{}{}: {:.1f} % {} {}", m.title, place_of(m, a, g.gpu, f), 100 * away,
                         m.better == Better::higher ? "below" : "above", own ? "what it was" : "its kind");
    t.evidence = fmt::format("{:.4g} {} where {:.4g} {} are usual and {} {:.4g} {} is the limit ({}{})", value, m.unit,
                             l.of.median, m.unit, m.better == Better::higher ? "at least" : "at most", l.value, m.unit, l.from,
                             l.provisional ? "; provisional" : "");
    t.metric = m.name;
    t.value = value;
    t.limit = l.value;
    t.basis = l.basis;
    return t;
  }
  return std::nullopt;
}

// No healthy GPU of a kind has fewer SMs or less memory than the others.
std::optional<Trouble> fewer_than(const Acceptance& a, const accepting::Gpu& g, const Metric& m, double value,
                                  const Limits& limits) {
  std::vector<double> others = limits.values(cohort_of(a, g), m.name);
  if (others.size() < kFleetMin) {
    others.clear();
    for (const accepting::Gpu& o : a.gpus) {
      const double v = m.name == "sms" ? o.sms : o.memory_mib;
      if (o.model == g.model && v > 0) others.push_back(v);
    }
  }
  if (others.empty()) return std::nullopt;
  const double usual = median_of(others);
  if (value >= usual) return std::nullopt;
  Trouble t = trouble(g.gpu, Verdict::fail, Class::slow, m.part, m.test);
  t.what = fmt::format("{:.0f} {} where its kind has {:.0f}", value, m.name == "sms" ? "SMs" : "MiB of memory", usual);
  t.evidence = fmt::format("the middle of {} GPUs", others.size());
  t.metric = m.name;
  t.value = value;
  t.limit = usual;
  return t;
}

struct Speed {
  std::size_t judged = 0, provisional = 0, unknown = 0;  // metrics
};

void speed(const Acceptance& a, const accepting::Gpu& g, const Figures& f, const Limits& limits, std::vector<Trouble>& out,
           Speed& told) {
  const Cohort cohort = cohort_of(a, g);
  for (const Metric& m : metrics()) {
    const auto it = f.value.find(std::string(m.name));
    if (it == f.value.end() || m.judged == Judged::no) continue;
    if (m.judged == Judged::exact) {
      if (auto t = fewer_than(a, g, m, it->second, limits)) out.push_back(std::move(*t));
      continue;
    }
    const std::vector<Limit> known = limits.of(cohort, g.uuid, m, a.host.begun);
    if (known.empty())
      ++told.unknown;
    else if (known.front().provisional)
      ++told.provisional;
    else
      ++told.judged;
    if (auto t = short_of(a, g, f, m, it->second, known)) out.push_back(std::move(*t));
  }
}

void worst_first(std::vector<Trouble>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Trouble& a, const Trouble& b) { return a.verdict > b.verdict; });
}

void note_speed(const Acceptance& a, const Limits& limits, const Speed& told, Judgement& out) {
  out.provisional = told.unknown + told.provisional > 0;
  if (!out.provisional || a.gpus.empty()) return;
  const Cohort cohort = cohort_of(a, a.gpus.front());
  if (told.provisional > 0)
    out.notes.push_back(
        fmt::format("limits of speed are provisional: {} of {} GPUs that a fleet's limits need are recorded of {}",
                    limits.gpus(cohort), kFleetMin, render(cohort)));
  if (told.unknown > 0)
    out.notes.push_back(
        fmt::format("speed was not judged in {} figures: nobody has recorded {} GPUs of {}, and nothing ships for them",
                    told.unknown, kFleetMin, render(cohort)));
}

void leftovers(const Acceptance& a, Judgement& out) {
  for (const accepting::End& e : a.end) {
    if (e.memory_left_mib > kLeftMib)
      out.notes.push_back(fmt::format("{:.0f} MiB of the GPUs' memory are in use that were free before", e.memory_left_mib));
  }
  std::set<std::string> said;
  for (const accepting::Ran& r : a.ran) {
    const bool note = (r.state == TestState::done || r.state == TestState::could_not_run) && !r.why.empty();
    if (note && said.insert(r.why).second) out.notes.push_back(fmt::format("{}: {}", name_of(r.test), printable(r.why)));
  }
}

}  // namespace

std::vector<const Trouble*> Judgement::troubles() const {
  std::vector<const Trouble*> out;
  for (const Trouble& t : node) out.push_back(&t);
  for (const GpuVerdict& g : gpus) {
    for (const Trouble& t : g.troubles) out.push_back(&t);
  }
  std::stable_sort(out.begin(), out.end(), [](const Trouble* a, const Trouble* b) { return a->verdict > b->verdict; });
  return out;
}

Judgement judge(const Acceptance& a, const Limits& limits) {
  Judgement out;
  out.node = not_whole(a);
  Speed told;
  const std::vector<Figures> all = figures_of(a);
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    const accepting::Gpu& g = a.gpus[i];
    const Figures& figures = all[i];
    GpuVerdict v;
    v.gpu = g.gpu;
    wrong_results(a, g.gpu, v.troubles);
    counters(a, g.gpu, v.troubles);
    kernel_words(a, g.gpu, v.troubles);
    link_below(g, figures, v.troubles);
    speed(a, g, figures, limits, v.troubles, told);
    for (Trouble& t : not_run(a, g, figures)) v.troubles.push_back(std::move(t));
    worst_first(v.troubles);
    for (const Trouble& t : v.troubles) v.verdict = std::max(v.verdict, t.verdict);
    out.verdict = std::max(out.verdict, v.verdict);
    out.gpus.push_back(std::move(v));
  }
  // What no GPU of the recording has to answer for is the node's: a wrong result or an Xid of a GPU that it does not name.
  std::set<std::int32_t> strangers{-1};
  for (const accepting::Wrong& w : a.wrong) strangers.insert(w.gpu);
  for (const accepting::KernelWord& k : a.kernel) strangers.insert(k.gpu);
  for (const accepting::Gpu& g : a.gpus) strangers.erase(g.gpu);
  for (const std::int32_t gpu : strangers) {
    wrong_results(a, gpu, out.node);
    kernel_words(a, gpu, out.node);
  }
  worst_first(out.node);
  for (const Trouble& t : out.node) out.verdict = std::max(out.verdict, t.verdict);
  note_speed(a, limits, told, out);
  leftovers(a, out);
  return out;
}

std::vector<std::pair<std::int32_t, AcceptTest>> worth_repeating(const Acceptance& a, const Limits& limits) {
  std::set<std::pair<std::int32_t, AcceptTest>> out;
  const std::vector<Figures> all = figures_of(a);
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    const accepting::Gpu& g = a.gpus[i];
    std::vector<Trouble> slow;
    Speed told;
    speed(a, g, all[i], limits, slow, told);
    for (const Trouble& t : slow) {
      if (t.basis) out.insert({g.gpu, t.test});
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace muster::accept
