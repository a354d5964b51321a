// muster bench openb: how much of a cluster's GPU capacity a packing policy gets to use, on the lists of the Alibaba trace of
// 2023.
#include <fmt/core.h>

#include <ctime>

#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "ingest/openb_file.h"
#include "progress.h"
#include "report/table.h"
#include "say.h"
#include "trial/openb.h"

namespace muster::cmd {
namespace {

std::int64_t thread_cpu_ns() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

trial::OpenbPolicy policy_named(const std::string& name) {
  if (name == "random") return trial::OpenbPolicy::random;
  if (name == "bestfit") return trial::OpenbPolicy::best_fit;
  return name == "fgd" ? trial::OpenbPolicy::fgd : trial::OpenbPolicy::muster;
}

// GPU models by number, in the order in which they are first named.
class Models {
 public:
  Result<int> number(const std::string& name) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return static_cast<int>(i);
    }
    if (names_.size() == share::kModelsMax) {
      return fail(Code::bad_input, fmt::format("the lists name more than {} GPU models", share::kModelsMax));
    }
    names_.push_back(name);
    return static_cast<int>(names_.size()) - 1;
  }

 private:
  std::vector<std::string> names_;
};

Result<trial::OpenbWorkload> load(const BenchOpenbOptions& o) {
  const auto node_bytes = read_file(o.nodes);
  if (!node_bytes) return tl::unexpected(node_bytes.error());
  const auto nodes = parse_openb_nodes(*node_bytes, o.nodes);
  if (!nodes) return tl::unexpected(nodes.error());
  const auto pod_bytes = read_file(o.pods);
  if (!pod_bytes) return tl::unexpected(pod_bytes.error());
  const auto pods = parse_openb_pods(*pod_bytes, o.pods);
  if (!pods) return tl::unexpected(pods.error());
  Models models;
  trial::OpenbWorkload w;
  int gpus = 0;
  for (const OpenbNode& n : *nodes) {
    const auto model = models.number(n.model);
    if (!model) return tl::unexpected(model.error());
    w.nodes.push_back({n.cpu_milli, n.memory_mib, n.gpus, *model});
    gpus += n.gpus;
  }
  if (gpus == 0) return fail(Code::bad_input, o.nodes + ": no node has a GPU");
  for (const OpenbPod& p : *pods) {
    share::PodShape shape{p.cpu_milli, p.memory_mib, p.gpus, p.gpu_milli, share::kAnyModel};
    if (!p.models.empty()) shape.models = 0;
    for (const std::string& name : p.models) {
      const auto model = models.number(name);
      if (!model) return tl::unexpected(model.error());
      shape.models |= std::uint64_t{1} << *model;
    }
    w.pods.push_back(shape);
  }
  return w;
}

std::string render_json(const BenchOpenbOptions& o, const std::vector<trial::OpenbOutcome>& outcomes) {
  const trial::OpenbSummary s = trial::summarise(outcomes);
  JsonWriter w;
  w.object().field("policy", o.policy).field("seeds", static_cast<std::uint64_t>(outcomes.size()));
  w.field("alloc_pct_100_mean", s.alloc_pct_100_mean).field("alloc_pct_100_sd", s.alloc_pct_100_sd);
  w.field("alloc_pct_130_mean", s.alloc_pct_130_mean).field("decision_us_mean", s.decision_us_mean);
  w.field("moves", 0).key("by_seed").array();
  for (const trial::OpenbOutcome& r : outcomes) {
    w.object().field("seed", r.seed).field("alloc_pct_100", r.alloc_pct_100).field("alloc_pct_130", r.alloc_pct_130);
    w.field("decision_us", r.decision_us).field("pods", r.pods).field("lost", r.lost).end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string render_text(const BenchOpenbOptions& o, const std::vector<trial::OpenbOutcome>& outcomes) {
  const trial::OpenbSummary s = trial::summarise(outcomes);
  report::Table table;
  table.columns = {{"SEED", true}, {"ALLOC % AT 100 %", true}, {"AT 130 %", true}, {"US/DECISION", true}, {"PODS", true},
                   {"LOST", true}};
  for (const trial::OpenbOutcome& r : outcomes) {
    std::vector<report::Cell> row;
    for (std::string text :
         {fmt::format("{}", r.seed), fmt::format("{:.2f}", r.alloc_pct_100), fmt::format("{:.2f}", r.alloc_pct_130),
          fmt::format("{:.1f}", r.decision_us), fmt::format("{}", r.pods), fmt::format("{}", r.lost)}) {
      row.emplace_back(std::move(text));
    }
    table.rows.push_back(std::move(row));
  }
  return render_table(table, {}) +
         fmt::format(
             "\n{}: {:.2f} % of the GPU capacity allocated when 100 % has arrived (sd {:.2f} over {} seeds), {:.2f} % at 130 %;\n"
             "{:.1f} us of CPU a decision, no pod moved\n",
             o.policy, s.alloc_pct_100_mean, s.alloc_pct_100_sd, outcomes.size(), s.alloc_pct_130_mean, s.decision_us_mean);
}

}  // namespace

int run_bench_openb(const BenchOpenbOptions& o) {
  const auto workload = load(o);
  if (!workload) return say_error(workload.error());
  std::vector<trial::OpenbOutcome> outcomes;
  {
    Progress progress("packing", o.progress);
    const double seeds = static_cast<double>(o.last_seed - o.first_seed + 1);
    for (std::uint64_t seed = o.first_seed; seed <= o.last_seed; ++seed) {
      outcomes.push_back(trial::run_openb(*workload, policy_named(o.policy), seed, thread_cpu_ns));
      progress.update(static_cast<double>(outcomes.size()) / seeds);
    }
  }
  put(o.format == report::Format::json ? render_json(o, outcomes) : render_text(o, outcomes));
  return finish_output();
}

}  // namespace muster::cmd
