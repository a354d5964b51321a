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

std::string_view in_words(AcceptTest t) { return name_of(t); }

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

const accepting::Ran* last_of(const Acceptance& a, std::int32_t gpu, AcceptTest test) {
  const accepting::Ran* out = nullptr;
  for (const accepting::Ran& r : a.ran) {
    // A second turn that did not end does not undo the first.
    if (r.gpu == gpu && r.test == test && (out == nullptr || out->state != TestState::done)) out = &r;
  }
  return out;
}

// What a test that ran must have told. Of one that has nothing to do (one GPU has no peers) nothing.
void silent(const accepting::Gpu& g, AcceptTest test, const Figures& figures, std::vector<Trouble>& out) {
  for (const Metric& m : metrics()) {
    if (m.test != test || !m.needed) continue;
    const auto it = figures.value.find(std::string(m.name));
    if (it != figures.value.end() && it->second > 0) continue;
    out.push_back(missing(g.gpu, test, fmt::format("{} ran and told no {}", in_words(test), m.title),
                          it == figures.value.end() ? "the figure is missing" : "the figure is zero",
                          "run the tests again with the same version of muster and of its library"));
  }
}

void partial(const accepting::Gpu& g, AcceptTest test, const Figures& figures, std::vector<Trouble>& out) {
  const auto at = [&](const char* name) {
    const auto it = figures.value.find(name);
    return it == figures.value.end() ? -1 : it->second;
  };
  const bool hot = test == AcceptTest::march_hot || test == AcceptTest::sweep_hot;
  const double share = at(hot ? "march_share_hot" : "march_share"), answered = at(hot ? "sweep_sms_hot" : "sweep_sms");
  if ((test == AcceptTest::march || test == AcceptTest::march_hot) && share > 0 && share < kMarchShareMin)
    out.push_back(missing(g.gpu, test, fmt::format("only {:.1f} % of the memory could be tested", share),
                          fmt::format("at least {} % is asked for", kMarchShareMin), "free the GPU's memory, and test again"));
  if ((test == AcceptTest::sweep || test == AcceptTest::sweep_hot) && answered > 0 && g.sms > 0 && answered < g.sms)
    out.push_back(missing(g.gpu, test, fmt::format("{:.0f} of {:.0f} SMs were not reached", g.sms - answered, g.sms),
                          fmt::format("{:.0f} SMs answered", answered), "test again with nothing else on the GPU"));
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
    const accepting::Ran* ran = last_of(a, g.gpu, test);
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
    if (test == AcceptTest::counters) counters_missing(a, g, out);
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
