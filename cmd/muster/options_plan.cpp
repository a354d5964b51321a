// Commands that predict training runs.
#include "ingest/hardware_file.h"
#include "options_parser.h"

namespace muster::cmd {
namespace {

Words model_names() {
  Words out;
  for (const Transformer& m : transformers()) out.push_back(m.name);
  return out;
}
Words gpu_names() {
  Words out;
  for (const GpuModel& g : gpu_models()) out.push_back(g.name);
  return out;
}

}  // namespace

void Parser::add_plan() {
  auto* plan = command(app_, "plan", "The fastest way to spread a training run over GPUs, and why", kDesign,
                       "  muster plan --model llama3-405b --cluster h100-16384 --batch 2048\n"
                       "  muster plan --model deepseek-v3 --gpu h200 --gpus 2048 --seq 4096 --batch 15360 --launch megatron");
  PlanOptions& o = plan_;
  words(plan, "--model", "NAME", "A model of data/models.csv: " + join(model_names(), ", "), o.model,
        {WordKind::choice, model_names()});
  auto* cluster = add_cluster(plan, o.cluster);
  words(plan, "--gpu", "NAME", "Instead of a cluster: a GPU of data/hardware/gpus.csv", o.gpu, {WordKind::choice, gpu_names()});
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t max) {
    return value(plan, flag, "N", about, [flag, &to, max](const std::string& s) {
      to = static_cast<std::uint32_t>(checked(parse_count(flag, s, 1, max)));
    });
  };
  plan->get_option("--gpu")->excludes(cluster);
  count("--gpus", "GPUs of the run [all of the cluster]", o.gpus, 1'000'000);
  count("--batch", "Sequences a step [1024]", o.batch, 10'000'000);
  count("--seq", "Tokens a sequence [8192]", o.seq, 10'000'000);
  Words dtypes;
  for (const auto name : names(Dtype{})) dtypes.emplace_back(name);
  choice(plan, "--dtype", "FORMAT", join(dtypes, ", ") + " [bf16]", dtypes,
         [&o](std::size_t i) { o.dtype = static_cast<Dtype>(i); });
  words(plan, "--software", "NAME", "As this one gets it from the GPUs [the one with the most measured runs]", o.software);
  count("--keep", "How many of the fastest are shown [5]", o.keep, 1000);
  value(plan, "--tokens", "N", "Tokens to train on, as 15T: adds days, GPU-hours, energy and interruptions",
        [&o](const std::string& s) { o.tokens = checked(parse_tokens("--tokens", s)); });
  value(plan, "--price", "USD", "Of a GPU-hour: adds money",
        [&o](const std::string& s) { o.price = checked(parse_quantity("--price", s, 0, 1000)); });
  Words launchers;
  for (const auto name : names(report::Launcher{})) launchers.emplace_back(name);
  choice(plan, "--launch", "FOR", "Print only the best one's launch arguments, for " + join(launchers, ", "), launchers,
         [&o](std::size_t i) { o.launch = static_cast<report::Launcher>(i); });
  add_format(plan, o.format, {Format::table, Format::wide, Format::csv});
  plan->callback([this, plan] {
    if (plan->get_subcommands().empty()) command_ = plan_;
  });
  auto* sub = command(*plan, "predict", "How long a step takes, for each row of a table of runs", nullptr,
                      "  muster plan predict --batch runs.csv -o csv > predicted.csv");
  words(sub, "--batch", "FILE", "A table of training runs (docs/formats/training.md)", plan_predict_.batch, {WordKind::file, {}});
  sub->get_option("--batch")->required();
  add_format(sub, plan_predict_.format, {Format::table, Format::csv});
  chosen(sub, plan_predict_);

  auto* calibrate = command(app_, "calibrate", "Fit what software gets of a GPU to measured runs", kDesign);
  auto* runs = command(*calibrate, "runs", "From tables of training runs; prints data/calibration/training.csv", nullptr,
                       "  muster calibrate runs --data runs/ > training.csv");
  add_training_data(runs, calibrate_runs_.data);
  chosen(runs, calibrate_runs_);
  add_calibrate_collectives(*calibrate);
}

void Parser::add_training_data(CLI::App* sub, std::string& data) {
  words(sub, "--data", "DIR", "A folder with tables of training runs; two of three groups of runs are fitted", data,
        {WordKind::directory, {}});
  sub->get_option("--data")->required();
}

void Parser::add_bench_accuracy(CLI::App& bench) {
  auto* sub = command(bench, "accuracy", "How far predicted training steps are off, on runs that nothing was fitted on", nullptr,
                      "  muster bench accuracy --data runs/");
  add_training_data(sub, bench_accuracy_.data);
  add_format(sub, bench_accuracy_.format, {Format::table, Format::csv});
  chosen(sub, bench_accuracy_);

  auto* kernels = command(bench, "kernels", "How far predicted kernels on an H200 are off, on shapes not fitted on", nullptr,
                          "  muster bench kernels");
  add_format(kernels, bench_kernels_.format, {Format::table, Format::csv});
  chosen(kernels, bench_kernels_);
  add_bench_collectives(bench);
}

}  // namespace muster::cmd
