#include "decide/choose.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/math.h"

namespace muster::decide {
namespace {

constexpr double kRestart_s = 180;  // where no start of this job has been seen: launch, load, first step
constexpr double kTimeout_s = 600;  // of collectives, PyTorch's default
constexpr double kTest_s = 240;
constexpr double kUnknownShare = 0.5;  // of the time since its start, where nobody knows when it wrote its last checkpoint

// How likely a fault that lets the job go on is to end it within the hour. Reasoned, not measured: no rates of progression are
// published by kind; docs/recovery/choice.md says how the choice moves with them.
double progression_per_h(FindingKind k) {
  switch (k) {
    case FindingKind::row_remap_failed: return 0.02;
    case FindingKind::nvlink_degraded: return 0.05;
    case FindingKind::pcie_degraded: return 0.01;
    case FindingKind::thermal_throttle: return 0.01;
    case FindingKind::row_remap_pending: return 0.005;
    case FindingKind::ecc_uncorrectable: return 0.2;
    default: return 0.01;
  }
}

std::string in(double s) { return render_duration(from_seconds(std::max(0.0, s))); }

// Probability that the fault ends the job within that time.
double ends_within(const Stakes& k, double s) { return 1 - det_exp(-k.fails_per_h * s / 3600); }

// What going on smaller costs after the restart, as time of the whole gang: the pieces that are missing until the nodes are back,
// and another restart then; or until its end, where that is nearer.
double smaller_s(const Stakes& k) {
  const double to_end = k.remaining_s / k.smaller;
  const bool grows = k.nodes_back_s < to_end;
  return (1 - k.smaller) * std::min(k.nodes_back_s, to_end) + (grows ? k.restart_s : 0);
}

// From the stop until all of it goes on, beside the restart.
double short_of_nodes_s(const Stakes& k) {
  if (k.spare) return 0;
  return k.smaller > 0 ? std::min(k.nodes_back_s, smaller_s(k)) : k.nodes_back_s;
}

constexpr const char* kSmaller = "restart it smaller now";

Option smaller_now(const Stakes& k) {
  return {kSmaller, k.gpus * (k.age_s + k.restart_s + smaller_s(k)) / 3600,
          k.nodes_back_s < k.remaining_s / k.smaller
              ? fmt::format("{:.0f} % of its GPUs are missing for about {}, then it starts again in full", 100 * (1 - k.smaller),
                            in(k.nodes_back_s))
              : fmt::format("{:.0f} % of its GPUs are missing to its end, in {}", 100 * (1 - k.smaller),
                            in(k.remaining_s / k.smaller))};
}

Option now(const Stakes& k) {
  const double wait = k.spare ? 0 : k.nodes_back_s;
  const std::string age = k.age_known ? in(k.age_s) : "an unknown time";
  std::string why = fmt::format("loses the work of {} since its checkpoint, and {} to start again", age, in(k.restart_s));
  if (!k.spare) why += fmt::format(", after about {} without nodes", in(wait));
  return {k.spare ? "move it now, to a spare" : "stop it now", k.gpus * (k.age_s + k.restart_s + wait) / 3600, std::move(why)};
}

Option at_checkpoint(const Stakes& k) {
  if (k.next_checkpoint_s < 0) return {"move it at its next checkpoint", -1, "it writes none that anybody knows of"};
  if (k.slow >= 1) return {"move it at its next checkpoint", -1, "it hangs and will write none"};
  const double t = k.next_checkpoint_s / (1 - k.slow);
  const double wait = short_of_nodes_s(k);
  const double dies = ends_within(k, t);
  const double lost_s = t * k.slow + k.restart_s + wait + dies * (k.age_s + t);
  return {
      "move it at its next checkpoint", k.gpus * lost_s / 3600,
      fmt::format("that is due in {}; {:.0f} % slower until then, and {} to start again", in(t), 100 * k.slow, in(k.restart_s))};
}

Option at_end(const Stakes& k) {
  if (k.slow >= 1) {
    return {"wait for its own time-out", k.gpus * (k.age_s + k.timeout_s + k.restart_s + short_of_nodes_s(k)) / 3600,
            fmt::format("all {:.0f} GPUs idle for {} before they start again", k.gpus, in(k.timeout_s))};
  }
  const double t = k.remaining_s / (1 - k.slow);
  const double dies = ends_within(k, t);
  const double lost_s = t * k.slow + dies * (std::max(k.interval_s, 2 * k.age_s) / 2 + k.restart_s + k.nodes_back_s);
  return {"let it go on to its end", k.gpus * lost_s / 3600,
          fmt::format("{} of work are left, {:.0f} % slower, and {:.0f} % likely to be ended by the fault before",
                      in(k.remaining_s), 100 * k.slow, 100 * dies)};
}

// Nodes to go on with, where it stops: what is left of it where that costs less than to wait for all.
bool better_smaller(const Stakes& k) { return !k.spare && k.smaller > 0 && smaller_now(k).cost_gpu_h < now(k).cost_gpu_h; }

// The cheapest first; what is not possible last.
void sort_by_cost(std::vector<Option>& options) {
  std::stable_sort(options.begin(), options.end(), [](const Option& a, const Option& b) {
    const bool known_a = a.cost_gpu_h >= 0;
    const bool known_b = b.cost_gpu_h >= 0;
    return known_a != known_b ? known_a : known_a && a.cost_gpu_h < b.cost_gpu_h;
  });
}

double restart_of(const Job& j) {
  if (j.progress.init_ms > 0) return static_cast<double>(j.progress.init_ms) / 1000;
  return j.spec.init_s >= 0 ? j.spec.init_s : kRestart_s;
}

double work_left_s(const Job& j) {
  return static_cast<double>(j.spec.steps - std::min<std::uint64_t>(j.spec.steps, j.progress.durable_steps)) * j.spec.step_s;
}

}  // namespace

double repair_s(Verb step) {
  switch (step) {
    case Verb::bounce_link: return 30 + kTest_s;
    case Verb::reset_gpu: return 90 + kTest_s;
    case Verb::reload_driver: return 120 + kTest_s;
    case Verb::reboot_node: return 540 + kTest_s;
    case Verb::power_cycle_node: return 700 + kTest_s;
    default: return 14 * 3600 + kTest_s;
  }
}

Weighed weigh(const Stakes& k) {
  Weighed w;
  Option go_on = at_end(k);
  if (!k.may_stop) {
    w.options = {std::move(go_on), {"move it", -1, "its owner forbids that it is requeued"}};
    return w;
  }
  struct Way {
    When when;
    Option option;
  };
  // Where costs are the same the milder one is chosen.
  std::vector<Way> ways = {{When::at_end, std::move(go_on)}, {When::at_checkpoint, at_checkpoint(k)}, {When::now, now(k)}};
  const bool smaller = better_smaller(k);
  if (!k.spare && k.smaller > 0) ways.push_back({When::now, smaller_now(k)});
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    const bool known_a = a.option.cost_gpu_h >= 0;
    const bool known_b = b.option.cost_gpu_h >= 0;
    return known_a != known_b ? known_a : known_a && a.option.cost_gpu_h < b.option.cost_gpu_h;
  });
  w.when = ways.front().when;
  w.smaller = smaller;
  for (Way& x : ways) w.options.push_back(std::move(x.option));
  return w;
}

Weighed weigh_broken(const Stakes& k, bool elsewhere) {
  Weighed w;
  w.when = When::now;
  const double wait = elsewhere ? 0 : k.nodes_back_s;
  w.options.push_back(k.spare ? Option{"swap in a spare", k.gpus * k.restart_s / 3600, "it starts again at once"}
                              : Option{"swap in a spare", -1, "none is free where the gang could use it"});
  w.options.push_back({"send it back to the queue", k.gpus * (k.restart_s + wait) / 3600,
                       elsewhere ? "other nodes are free for all of it"
                                 : fmt::format("all of it waits for about {} until its nodes are back", in(wait))});
  w.options.push_back(k.smaller > 0 ? smaller_now(k) : Option{kSmaller, -1, "too few of its nodes are left for that"});
  sort_by_cost(w.options);
  w.smaller = w.options.front().what == kSmaller;
  return w;
}

Weighed weigh_growth(const Stakes& k) {
  Weighed w;
  const double to_end = k.remaining_s / k.smaller;
  w.options.push_back({"go on smaller to its end", k.gpus * (1 - k.smaller) * to_end / 3600,
                       fmt::format("{} of work at full size are left, {} with what it has", in(k.remaining_s), in(to_end))});
  w.options.push_back({"restart it in full now", k.gpus * (k.age_s + k.restart_s) / 3600,
                       fmt::format("its checkpoint is {} old, and it takes {} to start", in(k.age_s), in(k.restart_s))});
  w.smaller = w.options[0].cost_gpu_h <= w.options[1].cost_gpu_h;
  w.when = w.smaller ? When::at_end : When::now;
  sort_by_cost(w.options);
  return w;
}

Stakes stakes_of(const State& s, const Incident& i, const Job& j, const Runbook& book, bool spare) {
  Stakes k;
  k.gpus = static_cast<double>(milli_gpus(s.site, j.spec)) / 1000;
  k.age_known = checkpoint_known(j);
  const double since = std::max(0.0, (s.now.utc - j.checkpointed).seconds());
  k.age_s = k.age_known ? since : kUnknownShare * since;
  k.interval_s = std::max(0.0, j.spec.checkpoint_every_s);
  if (k.age_known && k.interval_s > 0) k.next_checkpoint_s = std::max(0.0, k.interval_s - since);
  k.remaining_s = std::max(0.0, work_left_s(j) - since);
  k.restart_s = restart_of(j);
  for (const FindingId id : i.findings) {
    const Finding* f = find_finding(s, id);
    if (f != nullptr && f->cleared.ns == 0) k.slow = std::max(k.slow, std::min(0.95, f->loss_pct / 100.0));
  }
  if (book.job == JobCare::requeue) k.slow = 1;  // that is what such a fault means
  k.fails_per_h = progression_per_h(i.cause);
  k.spare = spare;
  k.nodes_back_s = book.steps.empty() ? repair_s(Verb::replace_node) : repair_s(book.steps.front());
  k.timeout_s = std::max(0.0, kTimeout_s - (s.now.utc - i.opened).seconds());
  k.may_stop = !j.spec.no_requeue;
  return k;
}

Stakes stakes_of(const State& s, const Job& j, double nodes_back_s) {
  Stakes k;
  k.gpus = static_cast<double>(milli_gpus(s.site, j.spec)) / 1000;
  k.age_s = j.phase == JobPhase::running ? std::max(0.0, (s.now.utc - j.checkpointed).seconds()) : 0;
  k.remaining_s = work_left_s(j);
  k.restart_s = restart_of(j);
  k.nodes_back_s = nodes_back_s;
  return k;
}

}  // namespace muster::decide
