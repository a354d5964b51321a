#include "report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/members.h"

namespace muster::report {
namespace {

constexpr double kDayS = 86'400;

std::string date(Time t) { return render_utc(t).substr(0, 10); }

Time end_of(const PlanReport& r, double share) { return r.begin + from_seconds(std::min(share * r.run->s, 100 * 365 * kDayS)); }

double usd(const PlanReport& r) { return r.run->gpu_hours * r.wish.price; }

// The best row's bounds, which are those of the whole run.
double low(const PlanReport& r) { return r.rows.front().low; }
double high(const PlanReport& r) { return r.rows.front().high; }

Value split_of(const TrainingPlan& p) {
  Members o;
  o.count("tensor", p.tp).count("context", p.cp).count("pipeline", p.pp).count("pieces", p.vp);
  o.text("schedule", std::string(names(Schedule{})[static_cast<std::size_t>(p.schedule())])).count("expert", p.ep);
  o.count("data", p.dp).count("micro_batch", p.micro_batch).yes("sequence_parallel", p.sequence_parallel);
  o.text("recompute", std::string(names(Recompute{})[static_cast<std::size_t>(p.recompute)]));
  if (p.recompute_layers > 0) o.count("recompute_layers", p.recompute_layers);
  o.text("shard", std::string(names(Shard{})[static_cast<std::size_t>(p.shard)]));
  if (p.shard_ranks > 0) o.count("shard_ranks", p.shard_ranks);
  return o.take();
}

Value memory_of(const predict::MemoryUse& m) {
  Members o;
  o.number("all", m.all()).number("weights", m.weights).number("gradients", m.gradients).number("optimizer", m.optimizer);
  o.number("activations", m.activations).number("logits", m.logits).number("rest", m.rest);
  return o.take();
}

Value run_of(const PlanReport& r) {
  Members o;
  o.number("tokens", r.wish.tokens).number("days", r.run->s / kDayS).number("days_low", low(r) * r.run->s / kDayS);
  o.number("days_high", high(r) * r.run->s / kDayS).number("useful", r.run->useful);
  o.number("interruptions", r.run->interruptions).number("checkpoint_every_s", r.run->checkpoint_s);
  o.number("gpu_hours", r.run->gpu_hours).number("mwh", r.run->mwh).text("ends", date(end_of(r, 1)));
  if (r.wish.price > 0) o.number("usd", usd(r));
  if (r.wish.by) o.text("by", date(*r.wish.by)).yes("late", r.late());
  if (r.enough > 0) o.count("gpus_in_time", r.enough);
  if (r.wish.budget) o.number("budget_usd", *r.wish.budget).yes("over_budget", r.too_dear());
  return o.take();
}

}  // namespace

bool PlanReport::late() const { return run && wish.by && end_of(*this, 1) > *wish.by; }
bool PlanReport::too_dear() const { return run && wish.budget && usd(*this) > *wish.budget; }

Value plan_value(const PlanReport& r) {
  Value::Array plans;
  for (const PlanRow& row : r.rows) {
    Members parts, o;
    for (const StepPart& p : step_parts()) parts.number(p.key, row.time.*p.value);
    const double s = row.candidate.step_s;
    o.text("words", say_plan(row.candidate.plan)).put("split", split_of(row.candidate.plan));
    o.number("step_s", s).number("low_s", s * row.low).number("high_s", s * row.high);
    o.number("mfu", row.mfu).number("tokens_per_s_per_gpu", row.candidate.plan.tokens() / s / row.candidate.plan.gpus);
    o.put("parts_s", parts.take()).put("memory_gb", memory_of(row.memory));
    plans.push_back(o.take());
  }
  Members out;
  out.text("model", r.model).text("gpu", r.gpu).count("gpus", r.gpus).count("ways", r.candidates).count("fit", r.fit);
  out.text("basis", r.basis).put("plans", Value(std::move(plans))).put("why", texts(say_why(r.rows)));
  if (r.hbm_gb > 0) out.number("hbm_gb", r.hbm_gb).number("memory_limit_gb", r.memory_limit_gb);
  if (r.run) out.put("run", run_of(r)).put("says", texts(say_run(r)));
  return out.take();
}

std::vector<std::string> say_run(const PlanReport& r) {
  if (!r.run) return {};
  const design::WholeRun& run = *r.run;
  std::vector<std::string> out;
  out.push_back(
      fmt::format("{:.3g} tokens: {:.1f} days ({:.1f} to {:.1f}), of which {:.1f} % useful with about {:.0f} "
                  "interruptions and a checkpoint every {:.0f} min",
                  r.wish.tokens, run.s / kDayS, low(r) * run.s / kDayS, high(r) * run.s / kDayS, 100 * run.useful,
                  run.interruptions, run.checkpoint_s / 60));
  out.push_back(fmt::format("{:.3g} GPU-hours, about {:.3g} MWh (servers at their limit, a PUE of {:g}){}", run.gpu_hours,
                            run.mwh, design::kPue, r.wish.price > 0 ? fmt::format(", {:.3g} million USD", usd(r) / 1e6) : ""));
  if (r.wish.by) {
    std::string line = fmt::format("begun now it ends on {}, eight of ten such between {} and {}: ", date(end_of(r, 1)),
                                   date(end_of(r, low(r))), date(end_of(r, high(r))));
    const double wanted = (*r.wish.by - r.begin).seconds();
    if (!r.late()) {
      line += end_of(r, high(r)) > *r.wish.by ? "in time, if nothing goes wrong" : "in time";
    } else {
      line += fmt::format("{} after {}; {}, or {:.3g} tokens", render_duration(end_of(r, 1) - *r.wish.by), date(*r.wish.by),
                          r.enough > 0 ? fmt::format("{} GPUs would do", r.enough) : "more GPUs do not help at this batch",
                          r.wish.tokens * wanted / run.s);
    }
    out.push_back(std::move(line));
  }
  if (r.wish.budget) {
    out.push_back(r.too_dear() ? fmt::format("{:.3g} million USD over the budget, which pays for {:.3g} tokens",
                                             (usd(r) - *r.wish.budget) / 1e6, r.wish.tokens * *r.wish.budget / usd(r))
                               : fmt::format("within the budget: {:.3g} million USD are left", (*r.wish.budget - usd(r)) / 1e6));
  }
  return out;
}

BarChart plan_bars(const PlanReport& r) {
  BarChart out{fmt::format("{} on {} {}: what a step goes into", r.model, r.gpus, r.gpu), "s", {}, {}};
  for (const StepPart& p : step_parts()) out.names.emplace_back(p.words);
  for (const PlanRow& row : r.rows) {
    Bar b{say_plan(row.candidate.plan), {}, row.candidate.step_s * row.low, row.candidate.step_s * row.high};
    for (const StepPart& p : step_parts()) b.parts.push_back(row.time.*p.value);
    out.bars.push_back(std::move(b));
  }
  return out;
}

}  // namespace muster::report
