#include "accept/judge_ran.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "accept/counters.h"
#include "accept/plan.h"
#include "base/text.h"

namespace muster::accept {
namespace {

// Memory that a test must have reached: what CUDA itself keeps is below a percent of a large card, more of a small one.
constexpr double kMarchShareMin = 95;
constexpr double kVerifiedMin = 1e8;  // results of products, of the smallest GPU in the shortest test
constexpr double kMost = 1e300;

std::string_view in_words(AcceptTest t) { return name_of(t); }
std::string figure(double v) { return render_number(v); }

Trouble missing(std::int32_t gpu, AcceptTest test, std::string what, std::string evidence, std::string next) {
  Trouble t;
  t.gpu = gpu;
  t.verdict = Verdict::could_not_run;
  t.kind = Class::not_run;
  t.part = Part::whole;
  t.test = test;
  t.what = std::move(what);
  t.evidence = std::move(evidence);
  t.next = std::move(next);
  return t;
}

// Those of the plan, whatever a recording says of itself, and those it says.
std::vector<AcceptTest> required_tests(const Acceptance& a) {
  std::vector<AcceptTest> out;
  for (const Step& s : plan_of(a.suite.profile)) {
    if (s.required || std::find(a.suite.tests.begin(), a.suite.tests.end(), s.test) != a.suite.tests.end()) out.push_back(s.test);
  }
  return out;
}

// What became of a test: the worst of its rounds. A repetition that did not end does not undo the first turn, unless it hung.
const accepting::Ran* outcome_of(const Acceptance& a, std::int32_t gpu, AcceptTest test) {
  const accepting::Ran* out = nullptr;
  const auto weight = [](const accepting::Ran& r) {
    return r.state == TestState::hung ? 3 : r.turn > 0 ? 0 : r.state == TestState::done ? 1 : 2;
  };
  for (const accepting::Ran& r : a.ran) {
    if (r.gpu == gpu && r.test == test && (out == nullptr || weight(r) > weight(*out))) out = &r;
  }
  return out;
}

// What a test that ran must have told. Of one that has nothing to do (one GPU has no peers) nothing.
void silent(const accepting::Gpu& g, AcceptTest test, const Figures& figures, std::vector<Trouble>& out) {
  for (const Metric& m : metrics()) {
    if (m.test != test || !m.needed) continue;
    const double* v = figures.value.find(m.name);
    if (v != nullptr && *v > 0) continue;
    out.push_back(missing(g.gpu, test, fmt::format("{} ran and told no {}", in_words(test), m.title),
                          v == nullptr ? "the figure is missing" : "the figure is zero",
                          "run the tests again with the same version of muster and of its library"));
  }
}

void partial(const accepting::Gpu& g, AcceptTest test, const Figures& figures, std::vector<Trouble>& out) {
  const auto at = [&](const char* name) {
    const double* v = figures.value.find(name);
    return v == nullptr ? -1 : *v;
  };
  const auto too_few = [&](const std::string& metric, double least, double most, const char* what) {
    const double v = at(metric.c_str());
    if (v <= 0 || (v >= least && v <= most)) return;
    out.push_back(missing(g.gpu, test, fmt::format("{} cannot be: {}", what, figure(v)), metric,
                          "run the tests again with the same version of muster and of its library"));
  };
  const bool hot = test == AcceptTest::march_hot || test == AcceptTest::sweep_hot;
  // Not even the results of one product; more memory than there is; a slowest that is faster than the middle.
  if (name_of(test).starts_with("gemm_"))
    too_few(std::string(name_of(test)) + "_verified", kVerifiedMin, kMost, "the number of results verified");
  if (test == AcceptTest::march || test == AcceptTest::march_hot)
    too_few(hot ? "march_share_hot" : "march_share", 0, 100.5, "the share of the memory tested");
  for (const Metric& m : metrics()) {
    if (m.test == test && m.unit == "of the median") too_few(std::string(m.name), 0.9, kMost, m.title.data());
  }
  if (g.sms > 0 && (test == AcceptTest::sweep || test == AcceptTest::sweep_hot))
    too_few(hot ? "sweep_sms_hot" : "sweep_sms", 0, g.sms, "the number of SMs that answered");
  const double share = at(hot ? "march_share_hot" : "march_share"), answered = at(hot ? "sweep_sms_hot" : "sweep_sms");
  if ((test == AcceptTest::march || test == AcceptTest::march_hot) && share > 0 && share < kMarchShareMin)
    out.push_back(missing(g.gpu, test, fmt::format("only {:.1f} % of the memory could be tested", share),
                          fmt::format("at least {} % is asked for", kMarchShareMin), "free the GPU's memory, and test again"));
  if ((test == AcceptTest::sweep || test == AcceptTest::sweep_hot) && answered > 0 && g.sms > 0 && answered < g.sms)
    out.push_back(missing(g.gpu, test, fmt::format("{:.0f} of {:.0f} SMs were not reached", g.sms - answered, g.sms),
                          fmt::format("{:.0f} SMs answered", answered), "test again with nothing else on the GPU"));
}

// A counter that was told before and not after, or fell: the GPU or its driver was reset under the tests, and what happened
// before is not known.
void counters_lost(const Acceptance& a, const accepting::Gpu& g, std::vector<Trouble>& out) {
  for (const CounterRule& rule : counter_rules()) {
    if (rule.verdict != Verdict::fail) continue;
    const accepting::Counter* mine = nullptr;
    std::size_t telling = 0;
    for (const accepting::Counter& c : a.counters) {
      if (c.name != rule.name) continue;
      if (c.gpu == g.gpu) mine = &c;
      telling += c.gpu != g.gpu && c.before >= 0 && c.after >= 0 ? 1 : 0;
    }
    const bool others = 2 * telling > a.gpus.size();
    const bool silent = mine == nullptr || (mine->before < 0 && mine->after < 0);
    const bool state = rule.growth < 0;  // it may well be better than it was: a row that waited is remapped by a reset
    std::string what;
    if (silent && others && !rule.needed)
      what = "the GPU does not tell {}, as others here do";
    else if (!silent && mine->after < 0)
      what = "{} could be read before the tests, and not after them";
    else if (!silent && !state && mine->before >= 0 && mine->after < mine->before)
      what = "{} fell during the tests: the GPU or its driver was reset";
    if (what.empty()) continue;
    out.push_back(missing(
        g.gpu, AcceptTest::counters, fmt::format(fmt::runtime(what), rule.name),
        silent ? "nothing was told"
               : fmt::format("{} before, {} after", figure(mine->before), mine->after < 0 ? "nothing" : figure(mine->after)),
        "look at the kernel's log for a reset, and test again"));
  }
}

void counters_missing(const Acceptance& a, const accepting::Gpu& g, std::vector<Trouble>& out) {
  for (const CounterRule& rule : counter_rules()) {
    if (!rule.needed) continue;
    const auto it = std::find_if(a.counters.begin(), a.counters.end(),
                                 [&](const accepting::Counter& c) { return c.gpu == g.gpu && c.name == rule.name; });
    if (it != a.counters.end() && it->before >= 0 && it->after >= 0) continue;
    out.push_back(missing(g.gpu, AcceptTest::counters, fmt::format("the GPU does not tell its {}", rule.title),
                          "an error that was corrected in silence would not have been seen",
                          "switch ECC on (nvidia-smi -q -d ECC), and test again"));
  }
}

}  // namespace

std::vector<Trouble> not_run(const Acceptance& a, const accepting::Gpu& g, const Figures& figures) {
  std::vector<Trouble> out;
  for (const AcceptTest test : required_tests(a)) {
    const accepting::Ran* ran = outcome_of(a, g.gpu, test);
    if (ran == nullptr) {
      out.push_back(missing(g.gpu, test, fmt::format("{} did not run", in_words(test)), "the recording has nothing of it",
                            "run the tests again"));
      continue;
    }
    const bool alone = a.gpus.size() < 2 && (test == AcceptTest::peers || test == AcceptTest::nccl);
    if (ran->state == TestState::not_applicable && alone) continue;
    if (ran->state != TestState::done) {
      const std::string state = ran->state == TestState::hung      ? "hung"
                                : ran->state == TestState::stopped ? "was stopped"
                                                                   : "could not run";
      out.push_back(missing(g.gpu, test, fmt::format("{} {}", in_words(test), state),
                            ran->why.empty() ? "no reason was given" : printable(ran->why),
                            ran->state == TestState::hung ? "reset the GPU or reboot the node: a kernel did not come back"
                                                          : "remove the reason, and test again"));
      // What does not come back under a test would not under a job.
      if (ran->state == TestState::hung) out.back().verdict = Verdict::fail;
      continue;
    }
    silent(g, test, figures, out);
    partial(g, test, figures, out);
    if (test == AcceptTest::counters) {
      counters_missing(a, g, out);
      counters_lost(a, g, out);
    }
  }
  return out;
}

std::vector<Trouble> not_whole(const Acceptance& a) {
  std::vector<Trouble> out;
  const auto add = [&](std::string what, std::string evidence, std::string next) {
    out.push_back(missing(-1, AcceptTest::inventory, std::move(what), std::move(evidence), std::move(next)));
  };
  if (a.suite.version != kSuiteVersion)
    add(fmt::format("the recording is of suite {}, and this muster judges suite {}", printable(a.suite.version), kSuiteVersion),
        "figures of different suites cannot be compared", "use the muster that recorded it, or test again");
  else if (a.suite.hash != suite_hash(a.suite.profile))
    add("the recording is of another plan than this muster's",
        fmt::format("its hash is {}, the plan's {}", printable(a.suite.hash), suite_hash(a.suite.profile)),
        "use the muster that recorded it, or test again");
  if (a.gpus.empty()) {
    std::string why;
    for (const accepting::Ran& r : a.ran) why = why.empty() ? printable(r.why) : why;
    add("no GPU was tested", why.empty() ? "the recording names none" : why, "remove the reason, and test again");
  }
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const accepting::Gpu &x = a.gpus[k], &y = a.gpus[i];
      if (x.gpu == y.gpu || (!x.uuid.empty() && x.uuid == y.uuid))
        add(fmt::format("GPU {} and GPU {} are told to be the same", x.gpu, y.gpu), printable(x.uuid),
            "recordings of several runs were put together: judge each by itself");
    }
  }
  if (a.end.empty())
    add("the tests were cut off", "the recording has no end",
        "run them again; if that happens again, the node went down under them");
  for (const accepting::End& e : a.end) {
    if (e.stopped) add("the tests were stopped", "by a signal", "run them again");
    if (e.left == 0) continue;
    add(fmt::format("{} processes of the tests could not be ended", e.left), "they hang in the driver", "reboot the node");
    out.back().verdict = Verdict::fail;
  }
  return out;
}

}  // namespace muster::accept
