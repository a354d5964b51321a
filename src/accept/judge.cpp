#include "accept/judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
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
      // Of a counter that fell what is in it is new; what was in it when it was set back nobody knows (see counters_lost).
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
    const double* v = f.value.find(metric);
    if (v == nullptr || most <= 0 || *v >= most) return;
    Trouble t = trouble(g.gpu, Verdict::fail, Class::link, Part::host_link, AcceptTest::link);
    t.what = fmt::format("PCIe runs with {} {} of {}", words, render_number(*v), render_number(most));
    t.evidence = "read under load, when a link that saves power is awake";
    out.push_back(std::move(t));
  };
  below("link_gen", g.link_gen_max, "generation");
  below("link_width", g.link_width_max, "width");
}

std::string place_of(const Metric& m, const Acceptance& a, std::int32_t gpu, const Figures& f) {
  if (m.test == AcceptTest::sweep || m.test == AcceptTest::sweep_hot) {
    constexpr std::string_view kHot = "_hot";
    const bool hot = m.name.ends_with(kHot);
    const std::string unit(m.name.substr(0, m.name.size() - (hot ? kHot.size() : 0)));
    if (const double* sm = f.value.find(unit + "_slowest" + std::string(hot ? kHot : ""))) return fmt::format(", SM {:.0f}", *sm);
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
                                std::span<const Limit> limits) {
  for (const Limit& l : limits) {
    if (!beyond(m, value, l.value)) continue;
    const double away = l.of.median != 0 ? std::abs(value / l.of.median - 1) : 0;
    const bool own = l.basis == Basis::history;
    Trouble t = trouble(g.gpu, away >= kFailShare && !own ? Verdict::fail : Verdict::degraded, class_of(m), m.part, m.test);
    t.what = fmt::format("{}{}: {:.1f} % {} {}", m.title, place_of(m, a, g.gpu, f), 100 * away,
                         m.better == Better::higher ? "below" : "above",
                         own                      ? "what it was"
                         : l.basis == Basis::node ? "the others"
                                                  : "its kind");
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
std::optional<Trouble> fewer_than(const Acceptance& a, const accepting::Gpu& g, const Figures& f, const Metric& m, double value,
                                  const Limits& limits) {
  const std::vector<double>& kind = limits.values(f.kind, m.name);
  const bool known = kind.size() >= kFleetMin;
  std::vector<double> others;
  if (!known) {
    for (const accepting::Gpu& o : a.gpus) {
      const double v = m.name == "sms" ? o.sms : o.memory_mib;
      if (o.model == g.model && v > 0) others.push_back(v);
    }
  }
  if (!known && others.empty()) return std::nullopt;
  const double usual = known ? kind[kind.size() / 2] : median_of(others);
  if (value >= usual) return std::nullopt;
  Trouble t = trouble(g.gpu, Verdict::fail, Class::slow, m.part, m.test);
  t.what = fmt::format("{:.0f} {} where its kind has {:.0f}", value, m.name == "sms" ? "SMs" : "MiB of memory", usual);
  t.evidence = fmt::format("the middle of {} GPUs", known ? kind.size() : others.size());
  t.metric = m.name;
  t.value = value;
  t.limit = usual;
  return t;
}

// What could be said of the speed of a GPU's figures.
struct Speed {
  std::size_t judged = 0, provisional = 0, unknown = 0;  // metrics
  bool beside = false;                                   // some were held against other GPUs of the node
  std::vector<std::string> wide;                         // limits of what differs too much
};

// What the node's other GPUs of its model and board give, where no limit is known that is surer.
std::optional<Limit> of_siblings(const NodeFigures& node, std::size_t self, const Metric& m) {
  std::vector<double> others;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const Cohort &mine = node.gpus[self].kind, &its = node.gpus[i].kind;
    const double* v = i == self || its.model != mine.model || its.part != mine.part ? nullptr : node.gpus[i].value.find(m.name);
    if (v != nullptr) others.push_back(*v);
  }
  return others.size() < kSiblingsMin ? std::nullopt : std::optional(Limits::among(others, m));
}

void speed(const NodeFigures& node, std::size_t self, const Limits& limits, std::vector<Trouble>& out, Speed& told) {
  const Acceptance& a = node.recording;
  const accepting::Gpu& g = a.gpus[self];
  const Figures& f = node.gpus[self];
  const GpuLimits known = limits.gpu(f.kind, g.uuid, a.host.begun);
  for (const Metric& m : metrics()) {
    const double* v = m.judged == Judged::no ? nullptr : f.value.find(m.name);
    if (v == nullptr) continue;
    if (m.judged == Judged::exact) {
      if (auto t = fewer_than(a, g, f, m, *v, limits)) out.push_back(std::move(*t));
      continue;
    }
    const std::span<const Limit> kind = known.of_kind(m);
    const std::optional<Limit> past = known.of_past(m);
    std::optional<Limit> beside;
    if (kind.empty() || kind.front().provisional || kind.front().wide) beside = of_siblings(node, self, m);
    if (kind.empty() && !past)
      ++told.unknown;
    else if (!kind.empty() && kind.front().provisional)
      ++told.provisional;
    else
      ++told.judged;
    told.beside = told.beside || beside.has_value();
    if (!kind.empty() && kind.front().wide) told.wide.push_back(fmt::format("{} of {}", m.title, kind.front().from));
    auto t = short_of(a, g, f, m, *v, kind);
    if (!t && past) t = short_of(a, g, f, m, *v, {&*past, 1});
    if (!t && beside) t = short_of(a, g, f, m, *v, {&*beside, 1});
    if (t) out.push_back(std::move(*t));
  }
}

void worst_first(std::vector<Trouble>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Trouble& a, const Trouble& b) { return a.verdict > b.verdict; });
}

std::string gpus_in_words(const std::vector<std::int32_t>& gpus) {
  std::vector<std::string> names;
  for (const std::int32_t gpu : gpus) names.push_back(std::to_string(gpu));
  return (gpus.size() == 1 ? "GPU " : "GPUs ") + join(names, ", ");
}

// By kind: what was not held against a fleet, and of which GPUs.
void note_speed(const NodeFigures& node, const Limits& limits, const std::vector<Speed>& told, Judgement& out) {
  struct Kind {
    std::vector<std::int32_t> provisional, unknown;
    std::size_t figures = 0;  // of one GPU, that nobody could judge
    bool beside = false;
  };
  std::map<Cohort, Kind> kinds;
  std::set<std::string> wide;
  for (std::size_t i = 0; i < told.size(); ++i) {
    Kind& kind = kinds[node.gpus[i].kind];
    if (told[i].provisional > 0) kind.provisional.push_back(node.gpus[i].gpu);
    if (told[i].unknown > 0) kind.unknown.push_back(node.gpus[i].gpu);
    kind.figures = std::max(kind.figures, told[i].unknown);
    kind.beside = kind.beside || told[i].beside;
    if (told[i].unknown > 0 && told[i].judged + told[i].provisional == 0) out.unjudged.push_back(node.gpus[i].gpu);
    wide.insert(told[i].wide.begin(), told[i].wide.end());
  }
  for (const auto& [cohort, kind] : kinds) {
    if (!kind.provisional.empty())
      out.notes.push_back(
          fmt::format("limits of speed of {} are provisional: {} of {} GPUs that a fleet's limits need are recorded "
                      "of {}",
                      gpus_in_words(kind.provisional), limits.gpus(cohort), kFleetMin, render(cohort)));
    if (!kind.unknown.empty())
      out.notes.push_back(
          fmt::format("speed of {} was not judged in {} figures{}: nobody has recorded {} GPUs of {}, nor does anything ship "
                      "for them",
                      gpus_in_words(kind.unknown), kind.figures, kind.beside ? " but beside the others of the node" : "",
                      kFleetMin, render(cohort)));
    out.provisional = out.provisional || !kind.provisional.empty() || !kind.unknown.empty();
  }
  for (const std::string& what : wide)
    out.notes.push_back(
        fmt::format("{}: these differ by more than healthy GPUs of one kind do, so that what is usual cannot be "
                    "told from them; look at the fleet's report",
                    what));
  out.provisional = out.provisional || !wide.empty();
}

// A GPU that was tested here before, or that should be here, and is not among those that were tested.
void gone(const Acceptance& a, const Limits& limits, std::vector<Trouble>& out) {
  const auto add = [&](std::string what, std::string evidence) {
    Trouble t = trouble(-1, Verdict::could_not_run, Class::not_run, Part::whole, AcceptTest::inventory);
    t.what = std::move(what);
    t.evidence = std::move(evidence);
    t.next = "nvidia-smi -L, and the kernel's log for Xid 79; if it was left out on purpose, this is no verdict on the node";
    out.push_back(std::move(t));
  };
  if (a.suite.gpus > 0 && a.gpus.size() < a.suite.gpus)
    add(fmt::format("{} of {} GPUs were tested", a.gpus.size(), a.suite.gpus), "so many were asked for");
  if (const auto* before = limits.earlier_gpus(a.host.name, a.host.begun); before != nullptr && before->size() > a.gpus.size()) {
    std::vector<std::string> missing;
    for (const accepting::Gpu& g : *before) {
      if (std::none_of(a.gpus.begin(), a.gpus.end(), [&](const accepting::Gpu& n) { return n.uuid == g.uuid; }))
        missing.push_back(fmt::format("GPU {} ({})", g.gpu, printable(g.serial.empty() ? g.uuid : g.serial)));
    }
    add(fmt::format("the node had {} GPUs, and {} were tested", before->size(), a.gpus.size()),
        missing.empty() ? "as its last recording says" : join(missing, ", "));
  }
  std::set<std::int32_t> named;
  constexpr std::string_view kPair = "pair_gb_s:";
  for (const accepting::Measured& m : a.measured) {
    named.insert(m.gpu);
    const std::size_t to = m.metric.starts_with(kPair) ? m.metric.find('>') : std::string::npos;
    if (to == std::string::npos) continue;
    if (const auto peer = parse_int(m.metric.substr(to + 1))) named.insert(static_cast<std::int32_t>(*peer));
  }
  for (const accepting::Gpu& g : a.gpus) named.erase(g.gpu);
  for (const std::int32_t gpu : named)
    add(fmt::format("GPU {} has figures, and nothing says which GPU it is", gpu), "its row is missing");
}

// Power that somebody took from one GPU of several: jobs wait for the slowest.
void power_below(const Acceptance& a, const accepting::Gpu& g, std::vector<Trouble>& out) {
  double most = 0;
  for (const accepting::Gpu& o : a.gpus) most = o.model == g.model ? std::max(most, o.power_limit_w) : most;
  if (g.power_limit_w <= 0 || g.power_limit_w >= most) return;
  Trouble t = trouble(g.gpu, Verdict::degraded, Class::power, Part::power, AcceptTest::inventory);
  t.what = fmt::format("its power limit is {:.0f} W, that of others here {:.0f} W", g.power_limit_w, most);
  t.evidence = fmt::format("{:.0f} W is the board's own", g.power_default_w);
  t.next = "nvidia-smi -q -d POWER; give it the limit of the others, or find who took it";
  out.push_back(std::move(t));
}

constexpr double kSlowedMost_pct = 1;

void slowed(const accepting::Gpu& g, const Figures& f, std::vector<Trouble>& out) {
  const double* share = f.value.find("slowed_pct");
  if (share == nullptr || *share <= kSlowedMost_pct) return;
  Trouble t = trouble(g.gpu, Verdict::degraded, Class::power, Part::cooling, AcceptTest::sustained);
  t.what = fmt::format("the hardware held its clock down in {:.0f} % of the readings", *share);
  t.evidence = "slowdown by heat or by the power brake, as the driver gives its reasons";
  out.push_back(std::move(t));
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

Judgement judge(const Acceptance& a, const Limits& limits) { return judge(NodeFigures(a), limits); }

Judgement judge(const NodeFigures& node, const Limits& limits) {
  const Acceptance& a = node.recording;
  Judgement out;
  out.node = not_whole(a);
  gone(a, limits, out.node);
  const bool whole = std::none_of(out.node.begin(), out.node.end(), [](const Trouble& t) { return t.kind == Class::not_run; });
  std::vector<Speed> told(a.gpus.size());
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    const accepting::Gpu& g = a.gpus[i];
    const Figures& figures = node.gpus[i];
    GpuVerdict v;
    v.gpu = g.gpu;
    wrong_results(a, g.gpu, v.troubles);
    counters(a, g.gpu, v.troubles);
    kernel_words(a, g.gpu, v.troubles);
    link_below(g, figures, v.troubles);
    power_below(a, g, v.troubles);
    slowed(g, figures, v.troubles);
    speed(node, i, limits, v.troubles, told[i]);
    for (Trouble& t : not_run(a, g, figures)) v.troubles.push_back(std::move(t));
    worst_first(v.troubles);
    // Of a recording that is not whole nobody knows what else it would have told.
    if (!whole) v.verdict = Verdict::could_not_run;
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
  note_speed(node, limits, told, out);
  leftovers(a, out);
  return out;
}

std::vector<std::pair<std::int32_t, AcceptTest>> worth_repeating(const Acceptance& a, const Limits& limits) {
  std::set<std::pair<std::int32_t, AcceptTest>> out;
  const NodeFigures node(a);
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    std::vector<Trouble> slow;
    Speed told;
    speed(node, i, limits, slow, told);
    for (const Trouble& t : slow) {
      if (t.basis) out.insert({a.gpus[i].gpu, t.test});
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace muster::accept
