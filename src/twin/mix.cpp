#include "twin/mix.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/math.h"

namespace muster::twin {
namespace {

// One kind of job. Sizes are log-uniform between `least` and `most` nodes, never more than `share` of the cluster: no job is
// so big that a first-in-first-out queue would empty the cluster for it.
struct Shape {
  const char* name;
  double weight[3];  // in llm, research, mixed
  double least, most, share;
  double median_h, sigma;
  double step_s_min, step_s_max;
  double checkpoint_min;  // minutes between checkpoints
};
constexpr std::array<Shape, 7> kShapes = {{
    {"debug", {0.12, 0.3, 0.22}, 1, 2, 0.02, 0.4, 0.8, 1, 4, 15},
    {"finetune", {0.25, 0.34, 0.32}, 1, 8, 0.04, 3, 0.9, 2, 8, 30},
    {"vision", {0.05, 0.21, 0.145}, 1, 4, 0.03, 5, 0.8, 1, 3, 30},
    {"ablation", {0.33, 0.12, 0.22}, 4, 32, 0.06, 7, 0.8, 4, 12, 30},
    {"posttrain", {0.2, 0.025, 0.08}, 8, 64, 0.08, 9, 0.7, 6, 20, 30},
    {"pretrain", {0.045, 0.0045, 0.0135}, 32, 400, 0.08, 20, 0.7, 8, 20, 30},
    {"foundation", {0.005, 0.0005, 0.0015}, 256, 800, 0.12, 40, 0.5, 10, 25, 20},
}};
constexpr double kRunMin_s = 600;
constexpr double kRunMax_s = 96 * 3600.0;
// What people write into a time limit, in hours.
constexpr std::array<double, 14> kLimits_h = {0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168, 720};
constexpr double kLimitFactorMin = 1.2;  // time limit over the true duration: people are careful, and seldom exact
constexpr double kLimitFactorMax = 10;
constexpr double kLimitSlack_s = 900;  // starting and writing, which is not in the duration
constexpr int kResearch = 1;
constexpr int kShared = 3;
constexpr std::array<const char*, 8> kUsers = {"amara", "bjorn", "chen", "dilara", "edo", "farah", "goran", "hana"};
constexpr std::array<const char*, 4> kAccounts = {"language", "vision", "science", "platform"};

// What it occupies while it runs, in nodes.
double node_share(const JobSpec& j, std::uint32_t gpus_per_node) {
  const double members = std::max(1U, j.array);
  if (j.gpu_milli > 0) return members * j.gpu_milli / (1000.0 * gpus_per_node);
  return members * j.nodes * (j.gpus_per_node > 0 ? j.gpus_per_node : gpus_per_node) / gpus_per_node;
}

}  // namespace

Mix::Mix(const std::string& kind, double load, std::uint32_t nodes, std::uint32_t gpus_per_node, std::uint64_t seed,
         std::uint32_t leaf_nodes)
    : nodes_(std::max<std::uint32_t>(nodes, 1)),
      gpus_per_node_(gpus_per_node),
      kind_(kind == "llm"        ? 0
            : kind == "research" ? kResearch
            : kind == "shared"   ? kShared
                                 : 2),
      leaf_nodes_(leaf_nodes),
      shape_(seed, "mix/rehearsal"),
      parts_(seed, "mix/rehearsal/parts"),
      wishes_(seed, "mix/wishes"),
      limits_(seed, "mix/limits"),
      clock_(seed, "mix/arrivals") {
  // The mean work of a job, from a rehearsal with the same shapes: what truncation and rounding do to it is then included.
  constexpr int kRehearsed = 8192;
  double node_s = 0;
  for (int i = 0; i < kRehearsed; ++i) {
    double run_s = 0;
    node_s += node_share(make(run_s), gpus_per_node_) * run_s;
  }
  const double mean_node_s = node_s / kRehearsed;
  arrival_s_ = mean_node_s / (std::max(load, 1e-6) * nodes_);
  shape_ = Prng(seed, "mix/shapes");
  parts_ = Prng(seed, "mix/parts");
  serial_ = 0;
}

JobSpec Mix::make(double& run_s) {
  double u = shape_.unit();
  std::size_t pick = 0;
  while (pick + 1 < kShapes.size() && (u -= kShapes[pick].weight[kind_ == kShared ? kResearch : kind_]) >= 0) ++pick;
  const Shape& s = kShapes[pick];
  const double most = std::max(1.0, std::min(s.most, s.share * nodes_));
  const double least = std::min(s.least, std::max(1.0, most / 4));
  double n = least * det_exp(shape_.unit() * det_log(most / least + 1e-12));
  // People ask for powers of two, mostly.
  if (shape_.chance(0.7)) {
    double p = 1;
    while (p * 2 <= n * 1.4142) p *= 2;
    n = std::min(p, most);
  }
  JobSpec j;
  j.nodes = std::clamp<std::uint32_t>(static_cast<std::uint32_t>(n + 0.5), 1, nodes_);
  run_s = std::clamp(3600 * s.median_h * shape_.lognormal(0, s.sigma), kRunMin_s, kRunMax_s);
  // Rounded to milliseconds, so that a whole number of steps is a whole number of nanoseconds.
  const double step = s.step_s_min + (s.step_s_max - s.step_s_min) * shape_.unit();
  j.step_s = static_cast<double>(static_cast<std::int64_t>(step * 1000)) / 1000;
  j.steps = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(run_s / j.step_s));
  j.checkpoint_every_s = s.checkpoint_min * 60;
  // Optimiser state and weights: the bigger the gang, the bigger the model, but less of it on each node.
  const double gb = 40 * det_exp(0.75 * det_log(static_cast<double>(j.nodes))) * (0.5 + shape_.unit()) * gpus_per_node_ / 8.0;
  j.checkpoint_gb = static_cast<double>(static_cast<std::int64_t>(gb * 10) + 1) / 10;
  j.user = kUsers[shape_.below(kUsers.size())];
  j.account = kAccounts[shape_.below(kAccounts.size())];
  j.name = fmt::format("{}-{}", s.name, ++serial_);
  if (kind_ == kShared) divide(j);
  return j;
}

void Mix::divide(JobSpec& j) {
  const double u = parts_.unit();
  const std::uint64_t pick = parts_.below(4);
  const bool pieces = parts_.chance(0.2);
  const bool sweep = parts_.chance(0.12);
  const auto members = static_cast<std::uint32_t>(3 + parts_.below(6));
  if (j.nodes > 4) return;
  if (u < 0.18) {
    j.nodes = j.gpus_per_node = 1;
    j.gpu_milli = pick < 2 ? 250 : 500;
  } else if (u < 0.75 && gpus_per_node_ > 1) {
    constexpr std::array<std::uint32_t, 4> kGpus = {1, 1, 2, 4};
    j.gpus_per_node = std::min(kGpus[pick], gpus_per_node_ - 1);
    if (!pieces) j.nodes = 1;
  }
  if (j.gpus_per_node > 0) {
    const double part = static_cast<double>(j.gpus_per_node) / gpus_per_node_;
    j.checkpoint_gb = static_cast<double>(static_cast<std::int64_t>(j.checkpoint_gb * part * 10) + 1) / 10;
    if (sweep && j.nodes == 1) j.array = members;
  }
}

void Mix::wish(JobSpec& j, double run_s, Time utc, std::uint32_t number) {
  const double u = wishes_.unit();
  const double p = wishes_.unit();
  const double slack = 1.5 + 6 * wishes_.unit();
  const bool defers = wishes_.chance(0.5);
  const bool follows = wishes_.chance(0.1);
  const double value = 1 + static_cast<double>(wishes_.below(8));
  if (j.nodes > 1 && leaf_nodes_ > 0 && j.nodes <= leaf_nodes_ / 2 && u < 0.25) j.within = Level::leaf;
  if (u >= 0.25 && u < 0.45) {
    j.prefer = Level::leaf;
    j.prefer_wait_s = 1800;
  }
  j.priority = p < 0.05 ? -10 : p < 0.85 ? 0 : p < 0.97 ? 10 : 100;
  if (u > 0.8 && utc.ns != 0) {
    const double whole_minutes = static_cast<double>(static_cast<std::int64_t>((3600 + slack * run_s) / 60) + 1);
    j.deadline = utc + minutes(static_cast<std::int64_t>(whole_minutes));
    j.deferrable = defers;
  }
  if (u > 0.9) j.value_per_gpu_h = value;
  if (follows && number != 0) j.after = last_;
  last_.clear();
  if (number == 0) return;
  for (std::uint32_t i = 0; i < std::max(1U, j.array); ++i) last_.push_back({number, j.array == 0 ? 0 : i + 1});
}

void Mix::limit(JobSpec& j, double run_s) {
  const double factor = kLimitFactorMin * det_exp(limits_.unit() * det_log(kLimitFactorMax / kLimitFactorMin));
  const double least_h = (run_s + kLimitSlack_s) * factor / 3600;
  const auto* round = std::find_if(kLimits_h.begin(), kLimits_h.end() - 1, [&](double h) { return h >= least_h; });
  j.time_limit_s = 3600 * std::max(*round, least_h);
}

JobSpec Mix::draw(Time utc, std::uint32_t number) {
  double run_s = 0;
  JobSpec j = make(run_s);
  if (kind_ == kShared) wish(j, run_s, utc, number);
  limit(j, run_s);
  return j;
}

JobSpec Mix::draw_running(Time utc, std::uint32_t number) {
  for (;;) {
    double run_s = 0;
    JobSpec j = make(run_s);
    if (!shape_.chance(run_s / (24 * 3600.0))) continue;
    const double left = 0.05 + 0.95 * shape_.unit();
    j.steps = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(j.steps) * left));
    if (kind_ == kShared) wish(j, run_s, utc, number);
    limit(j, run_s);
    return j;
  }
}

Duration Mix::until_next() { return from_seconds(clock_.exponential(arrival_s_)); }

}  // namespace muster::twin
