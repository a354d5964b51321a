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

}  // namespace

Words gpu_names() {
  Words out;
  for (const GpuModel& g : gpu_models()) out.push_back(g.name);
  return out;
}

// What both a plan and its explanation are asked for.
void Parser::add_plan_flags(CLI::App* plan, PlanOptions& o) {
  words(plan, "--model", "NAME|FILE",
        "A model of data/models.csv (" + join(model_names(), ", ") + "), a Hugging Face config.json, or Megatron's arguments",
        o.model, {WordKind::choice, model_names()});
  auto* cluster = add_cluster(plan, o.cluster);
  words(plan, "--gpu", "NAME", "Instead of a cluster: a GPU of data/hardware/gpus.csv", o.gpu, {WordKind::choice, gpu_names()});
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t max) {
    return value(plan, flag, "N", about, [flag, &to, max](const std::string& s) {
      to = static_cast<std::uint32_t>(checked(parse_count(flag, s, 1, max)));
    });
  };
  words(
      plan, "--config", "FILE",
      "Settle what this settles: a configuration of DeepSpeed or of Accelerate with FSDP, or a script with Megatron's arguments; "
      "flags win",
      o.config, {WordKind::file, {}});
  flag(plan, "--here", o.here, "Instead of a cluster or a GPU: the cluster of the Muster that runs");
  plan->get_option("--gpu")->excludes(cluster);
  plan->get_option("--here")->excludes(cluster)->excludes(plan->get_option("--gpu"));
  add_connection(plan, o.connection);
  count("--gpus", "GPUs of the run [the configuration's, else all of the cluster]", o.gpus, 1'000'000);
  count("--batch", "Sequences a step [1024]", o.batch, 10'000'000);
  count("--seq", "Tokens a sequence [8192]", o.seq, 10'000'000);
  const auto named = [&]<class E>(E, const char* flag, const char* unit, const std::string& about, auto set) {
    Words all;
    for (const auto name : names(E{})) all.emplace_back(name);
    choice(plan, flag, unit, about + join(all, ", "), all, [set](std::size_t i) { set(static_cast<E>(i)); });
  };
  named(Dtype{}, "--dtype", "FORMAT", "Of products [bf16]: ", [&o](Dtype d) { o.dtype = d; });
  named(predict::Optimizer{}, "--optimizer", "NAME",
        "What it keeps for each parameter is kept in memory [adam]: ", [&o](predict::Optimizer x) { o.optimizer = x; });
  words(plan, "--software", "NAME", "As this one gets it from the GPUs [the usual one]", o.software);
  words(plan, "--calibration", "FILE", "Instead of what ships: what muster calibrate printed", o.calibration,
        {WordKind::file, {}});
  count("--tp", "Only so many tensor ranks", o.settled.tp, 1'000'000);
  count("--cp", "Only so many context ranks", o.settled.cp, 1'000'000);
  count("--pp", "Only so many stages", o.settled.pp, 1'000'000);
  count("--vp", "Only so many pieces a stage", o.settled.vp, 1'000'000);
  count("--ep", "Only so many groups of experts", o.settled.ep, 1'000'000);
  count("--micro", "Only micro-batches of so many sequences", o.settled.micro_batch, 10'000'000);
  named(Recompute{}, "--recompute", "WHAT", "Only with this computed again: ", [&o](Recompute r) { o.settled.recompute = r; });
  named(Schedule{}, "--schedule", "ORDER",
        "Only with stages' passes in this order [the first two]: ", [&o](Schedule s) { o.settled.schedule = s; });
  named(Shard{}, "--shard", "WHAT", "Only with this kept in pieces: ", [&o](Shard s) { o.settled.shard = s; });
}

void Parser::add_plan() {
  auto* plan = command(app_, "plan", "The fastest way to spread a training run over GPUs, and why", kDesign,
                       "  muster plan --model llama3-405b --cluster h100-16384 --batch 2048\n"
                       "  muster plan --model deepseek-v3 --gpu h200 --gpus 2048 --seq 4096 --batch 15360 --launch megatron");
  PlanOptions& o = plan_;
  add_plan_flags(plan, o);
  value(plan, "--keep", "N", "How many of the fastest are shown [5]",
        [&o](const std::string& s) { o.keep = static_cast<std::uint32_t>(checked(parse_count("--keep", s, 1, 1000))); });
  value(plan, "--tokens", "N", "Tokens to train on, as 15T: adds days, GPU-hours, energy and interruptions",
        [&o](const std::string& s) { o.wish.tokens = checked(parse_tokens("--tokens", s)); });
  value(plan, "--price", "USD", "Of a GPU-hour: adds money",
        [&o](const std::string& s) { o.wish.price = checked(parse_quantity("--price", s, 0, 1000)); });
  value(plan, "--by", "DATE",
        "When it has to be done, as 2027-01-31: says whether it is, and what would do (exit code 6: it is late)",
        [&o](const std::string& s) { o.wish.by = checked(parse_day("--by", s)) + days(1) - nanoseconds(1); });
  value(plan, "--budget", "USD", "What it may cost: the same",
        [&o](const std::string& s) { o.wish.budget = checked(parse_quantity("--budget", s, 1, 1e12)); });
  plan->get_option("--price")->needs(plan->get_option("--tokens"));
  plan->get_option("--by")->needs(plan->get_option("--tokens"));
  plan->get_option("--budget")->needs(plan->get_option("--price"));
  words(plan, "--svg", "FILE", "Draw here what each one's step goes into", o.svg, {WordKind::file, {}});
  Words launchers;
  for (const auto name : names(report::Launcher{})) launchers.emplace_back(name);
  choice(plan, "--launch", "FOR", "Of what this can do: print only the best one's launch arguments, for " + join(launchers, ", "),
         launchers, [&o](std::size_t i) { o.launch = static_cast<report::Launcher>(i); });
  add_format(plan, o.format, {Format::table, Format::wide, Format::json, Format::csv});
  plan->callback([this, plan] {
    if (plan->get_subcommands().empty()) command_ = plan_;
  });
  auto* explain = command(*plan, "explain", "The best one, or the one that is settled, down to its operators", nullptr,
                          "  muster plan explain --model llama3-70b --gpu h100 --gpus 256 --tp 8 --pp 4 --micro 1");
  plan_explain_.explain = true;
  plan_explain_.keep = 1;
  add_plan_flags(explain, plan_explain_);
  add_format(explain, plan_explain_.format, {Format::table, Format::csv});
  chosen(explain, plan_explain_);
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
  add_calibrate_gpu(*calibrate);
  add_calibrate_collectives(*calibrate);
}

void Parser::add_calibrate_gpu(CLI::App& calibrate) {
  CalibrateGpuOptions& o = calibrate_gpu_;
  auto* sub =
      command(calibrate, "gpu", "On a GPU of this machine, by PyTorch; prints what muster plan --calibration reads", nullptr,
              "  muster calibrate gpu --timings h200.csv > here.csv\n"
              "  muster plan --model llama3-70b --gpu h200 --gpus 64 --calibration here.csv");
  words(sub, "--python", "PROGRAM", "A Python with PyTorch, of the software that trains [python3]", o.python);
  words(sub, "--shapes", "FILE", "What to measure: a timings file (docs/formats/timings.md) [what ships: 522, about six minutes]",
        o.shapes, {WordKind::file, {}});
  words(sub, "--timings", "FILE", "Keep here what was measured", o.timings, {WordKind::file, {}});
  words(sub, "--from", "FILE", "Measure nothing: what --timings kept", o.from, {WordKind::file, {}});
  for (const char* other : {"--python", "--shapes", "--timings"}) sub->get_option("--from")->excludes(sub->get_option(other));
  words(sub, "--gpu", "NAME", "Which GPU of data/hardware/gpus.csv it is [by the name that it gives itself]", o.gpu,
        {WordKind::choice, gpu_names()});
  chosen(sub, o);
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
  flag(sub, "--choices", bench_accuracy_.choices,
       "Instead, of all runs: what is lost by taking the one predicted to be fastest of each model and number of GPUs");
  flag(sub, "--rows", bench_accuracy_.rows, "Each run instead, those that were fitted too");
  sub->get_option("--rows")->excludes(sub->get_option("--choices"));
  add_format(sub, bench_accuracy_.format, {Format::table, Format::csv});
  chosen(sub, bench_accuracy_);

  auto* kernels = command(bench, "kernels", "How far predicted kernels on a GPU are off, on shapes not fitted on", nullptr,
                          "  muster bench kernels --rows");
  words(kernels, "--timings", "FILE", "What was measured, by muster calibrate gpu --timings [an H200's, which ships]",
        bench_kernels_.timings, {WordKind::file, {}});
  words(kernels, "--gpu", "NAME", "On which GPU of data/hardware/gpus.csv [h200]", bench_kernels_.gpu,
        {WordKind::choice, gpu_names()});
  flag(kernels, "--rows", bench_kernels_.rows, "Each shape that was kept back, instead of a line for each kind");
  add_format(kernels, bench_kernels_.format, {Format::table, Format::csv});
  chosen(kernels, bench_kernels_);
  add_bench_collectives(bench);

  auto* claims = command(bench, "claims", "What is said of GPU clusters, computed again: what holds, and what would make it hold",
                         nullptr, "  muster bench claims -o wide");
  add_format(claims, bench_claims_.format, {Format::table, Format::wide, Format::csv});
  chosen(claims, bench_claims_);
}

}  // namespace muster::cmd
