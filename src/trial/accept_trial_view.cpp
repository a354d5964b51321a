#include "trial/accept_trial_view.h"

#include <fmt/core.h>

#include "base/json_writer.h"

namespace muster::trial {
namespace {

std::string sizes_text(const RuleTried& r) {
  std::string out;
  for (const SlowFound& s : r.slow) {
    out += fmt::format("    slower: {:<8}", name_of(s.part));
    for (const FoundShare& f : s.by_size) out += fmt::format("{:>8.1f}", 100 * f.share());
    out += "\n";
  }
  return out;
}

std::string rules_text(const AcceptTrial& t) {
  std::string out = fmt::format(
      "{} GPUs give the limits; healthy cards of their kind and planted faults are judged by them (simulated, "
      "seed {})\n\n",
      t.gpus, t.seed);
  out += "Share of slow GPUs that is found, in percent, by how much slower they are\n";
  out += "                       ";
  for (const double size : kSlowSizes) out += fmt::format("{:>8}", fmt::format("-{:.0f} %", 100 * size));
  out += "\n";
  for (const RuleTried& r : t.rules) {
    out += fmt::format("  {}\n    {} of {} healthy GPUs fail: {:.2f} in 10,000, at most {:.2f} with 95 % confidence\n", r.name,
                       r.failures, r.runs, r.per_10000(), r.per_10000_at_most());
    out += sizes_text(r);
  }
  const AcceptSpread& s = t.spread;
  return out + fmt::format(
                   "  unit: rate per MHz; memory: bandwidth; clock: what the power limit leaves\n"
                   "  Between healthy cards: unit {:.2g} %, memory {:.2g} %, clock {:.3g} % (assumed: no fleet is published). "
                   "Within a run: per "
                   "MHz {:.2g} %,\n  raw {:.2g} %, memory {:.2g} % (measured)\n",
                   100 * s.unit, 100 * s.memory, 100 * s.clock, 100 * s.unit_window, 100 * s.raw_window, 100 * s.memory_run);
}

std::string lies_text(const AcceptTrial& t) {
  std::string out = "\nShare of lying GPUs that one test finds, in percent\n";
  out += fmt::format("  {:<46}{:>8}{:>8}  comparing products with the first one\n", "", "quick", "accept");
  for (const LieTried& l : t.lies)
    out += fmt::format("  {:<46}{:>8.1f}{:>8.1f}  {}\n", l.what, 100 * l.quick.share(), 100 * l.accept.share(),
                       !l.first_result   ? ""
                       : *l.first_result ? "can find it"
                                         : "never finds it");
  return out;
}

std::string costs_text(const AcceptTrial& t) {
  const AcceptCosts& c = t.assumed;
  std::string out = "\nGPU-hours a year on 1,024 GPUs\n";
  out += fmt::format("  {:<26}{:>10}{:>9}{:>11}{:>11}{:>11}{:>9}\n", "", "tests/GPU", "testing", "slow GPUs", "lying GPUs",
                     "together", "caught");
  for (const PolicyCost& p : t.policies)
    out += fmt::format("  {:<26}{:>10.1f}{:>9.0f}{:>11.0f}{:>11.0f}{:>11.0f}{:>7.0f} %\n", p.policy.name, p.tests, p.tested_gpu_h,
                       p.slow_gpu_h, p.lying_gpu_h, p.total(), 100 * p.caught);
  out += "  cheapest beside quick at each return:\n";
  for (const BestPolicy& b : t.best) {
    const std::string if_so = b.times == 1 ? "as assumed" : fmt::format("if undetected faults cost {:g} times as much", b.times);
    out += fmt::format("    {}: {}\n", if_so, b.cost.policy.name);
  }
  out += fmt::format(
      "\nAssumed: of a GPU, {:.3g} times an hour it becomes slow (by 3 to 33 %; by 8 or more where it is the clock) and\n"
      "{:.3g} times it begins to lie, each kind above as likely as another; {:.0f} GPUs wait for the slowest of them for {:.0f} "
      "%\n"
      "of their time; {:.0f} % of what they do beside a lying one is done again; ",
      c.slow_per_gpu_h, c.lying_per_gpu_h, c.gang_gpus, 100 * c.bound_share, 100 * c.lying_share);
  out += fmt::format(
      "without a test a GPU that is 15 % slow is known\nafter {:.0f} h, a lying one after {:.0f} h, others after {:.0f} h; ",
      c.slow_known_h, c.lying_known_h, c.horizon_h);
  return out +
         fmt::format("a node comes back from a repair {:.1f} times a year; each test\ntakes {:.0f} s of a node beside itself.\n",
                     8 * 8760 * c.returns_per_gpu_h, c.around_s);
}

void write_share(JsonWriter& w, const FoundShare& f) {
  w.field("tried", f.tried).field("found", f.found).field("share", f.share()).field("at_least", f.at_least());
}

void write_rules(JsonWriter& w, const AcceptTrial& t) {
  w.key("rules").array();
  for (const RuleTried& r : t.rules) {
    w.object().field("rule", r.name).field("profile", name_of(r.profile)).field("healthy_runs", r.runs);
    w.field("false_failures", r.failures).field("repeated", r.repeated).field("per_10000", r.per_10000());
    w.field("per_10000_at_most", r.per_10000_at_most()).key("slow").array();
    for (const SlowFound& s : r.slow) {
      for (std::size_t k = 0; k < kSlowSizes.size(); ++k) {
        w.object().field("part", name_of(s.part)).field("slower_pct", 100 * kSlowSizes[k]);
        write_share(w, s.by_size[k]);
        w.end_object();
      }
    }
    w.end_array().end_object();
  }
  w.end_array();
}

void write_cost(JsonWriter& w, const PolicyCost& p) {
  w.field("policy", p.policy.name).field("at_return", p.policy.at_return).field("profile", name_of(p.policy.profile));
  w.field("every_h", p.policy.every_h).field("tests_per_gpu", p.tests).field("testing_gpu_h", p.tested_gpu_h);
  w.field("slow_gpu_h", p.slow_gpu_h)
      .field("lying_gpu_h", p.lying_gpu_h)
      .field("total_gpu_h", p.total())
      .field("caught", p.caught);
}

void write_assumed(JsonWriter& w, const AcceptSpread& spread, const AcceptCosts& c) {
  w.key("assumed").object().field("unit_spread", spread.unit).field("memory_spread", spread.memory);
  w.field("clock_spread", spread.clock).field("slow_per_gpu_h", c.slow_per_gpu_h).field("lying_per_gpu_h", c.lying_per_gpu_h);
  w.field("returns_per_gpu_h", c.returns_per_gpu_h).field("gang_gpus", c.gang_gpus).field("bound_share", c.bound_share);
  w.field("lying_share", c.lying_share).field("slow_known_h", c.slow_known_h).field("lying_known_h", c.lying_known_h);
  w.field("horizon_h", c.horizon_h).field("around_s", c.around_s).end_object();
}

}  // namespace

std::string render_accept_trial(const AcceptTrial& t) { return rules_text(t) + lies_text(t) + costs_text(t); }

std::string accept_trial_json(const AcceptTrial& t) {
  JsonWriter w;
  w.object().field("seed", t.seed).field("gpus", t.gpus);
  write_rules(w, t);
  w.key("lies").array();
  for (const LieTried& l : t.lies) {
    w.object()
        .field("what", l.what)
        .field("kind", name_of(l.planted.lie))
        .field("chance", l.planted.chance)
        .key("quick")
        .object();
    write_share(w, l.quick);
    w.end_object().key("accept").object();
    write_share(w, l.accept);
    w.end_object().key("first_result_can");
    l.first_result ? w.value(*l.first_result) : w.null();
    w.end_object();
  }
  w.end_array().key("policies").array();
  for (const PolicyCost& p : t.policies) {
    w.object();
    write_cost(w, p);
    w.end_object();
  }
  w.end_array().key("best").array();
  for (const BestPolicy& b : t.best) {
    w.object().field("times", b.times);
    write_cost(w, b.cost);
    w.end_object();
  }
  w.end_array();
  write_assumed(w, t.spread, t.assumed);
  w.end_object();
  return w.take() + "\n";
}

}  // namespace muster::trial
