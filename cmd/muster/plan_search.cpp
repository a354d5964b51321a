// muster plan: the fastest way to spread a training run over GPUs, and why.
#include <fmt/format.h>

#include <chrono>

#include "base/text.h"
#include "commands.h"
#include "design/search.h"
#include "design/whole_run.h"
#include "files.h"
#include "ingest/calibration_file.h"
#include "ingest/hardware_file.h"
#include "ingest/launch_config.h"
#include "model_choice.h"
#include "predict/calibrate.h"
#include "report/document.h"
#include "report/plan_report.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

constexpr int kFindingsPresent = 6;

struct Machine {
  const GpuModel* gpu = nullptr;
  predict::Network network;
  std::uint32_t gpus = 0;
  double storage_gb_s = 0;  // 0: not told
};

// What neither a flag nor a configuration says is usual.
Result<PlanOptions> completed(PlanOptions o) {
  constexpr std::uint32_t kBatch = 1024, kSeq = 8192, kNodeGpus = 8;
  design::Settled& s = o.settled;
  if (!o.config.empty()) {
    const auto text = read_file(o.config);
    if (!text) return tl::unexpected(text.error());
    const auto c = parse_launch_config(*text, o.config);
    if (!c) return tl::unexpected(c.error());
    const auto settle = [](std::uint32_t& flag, std::uint32_t told) { flag = flag > 0 ? flag : told; };
    settle(o.gpus, c->gpus);
    settle(o.batch, c->batch);
    settle(o.seq, c->seq);
    settle(s.micro_batch, c->micro_batch);
    settle(s.tp, c->tp);
    settle(s.cp, c->cp);
    settle(s.pp, c->pp);
    settle(s.vp, c->vp);
    settle(s.ep, c->ep);
    if (!s.shard) s.shard = c->shard;
    if (!s.recompute) s.recompute = c->recompute;
    s.recompute_all = c->recompute == Recompute::full;  // frameworks wrap every layer
    s.recompute_layers = c->recompute_layers;
    s.recompute_all = s.recompute_all && c->recompute_layers == 0;
    s.sequence_parallel = c->sequence_parallel;
    s.shard_ranks = c->shard_ranks;
    s.one_copy = c->shard && c->shard_ranks == 0 && c->copies <= 1 && !c->copy_a_node;
    if (c->copies > 1 && o.gpus > 0) s.shard_ranks = o.gpus / std::max(1U, s.tp) / c->copies;
    if (c->copy_a_node) s.shard_ranks = kNodeGpus / std::max(1U, s.tp);
    if (!o.dtype) o.dtype = c->dtype;
    if (c->half) say("fp16 is planned as bf16: products are as fast and numbers as large");
  }
  // Only what the framework can be told to do.
  if (o.launch == report::Launcher::torchtitan) s.recompute_all = true;
  if (o.launch == report::Launcher::deepspeed) {
    for (std::uint32_t design::Settled::*of : {&design::Settled::pp, &design::Settled::vp, &design::Settled::ep}) {
      if (s.*of == 0) s.*of = 1;
    }
    if (!s.recompute) s.recompute = Recompute::none;
  }
  if (o.seq == 0) o.seq = kSeq;
  if (o.batch == 0) o.batch = kBatch;
  if (!o.dtype) o.dtype = Dtype::bf16;
  return o;
}

Result<Machine> machine(const PlanOptions& o) {
  Machine m;
  if (o.cluster.empty()) {
    if (o.gpu.empty()) return fail(Code::bad_input, "on which GPUs?", "--cluster NAME|FILE, or --gpu NAME --gpus N");
    if (o.gpus == 0) return fail(Code::bad_input, fmt::format("on how many {}?", printable(o.gpu)), "--gpus N");
    auto gpu = chosen_gpu(o.gpu);
    if (!gpu) return tl::unexpected(gpu.error());
    m.gpu = *gpu;
    m.network = {m.gpu->domain > 8 ? 4.0 : 8.0, m.gpu->nic_gb_s};
    m.gpus = o.gpus;
    return m;
  }
  auto site = load_cluster(o.cluster);
  if (!site) return tl::unexpected(site.error());
  auto gpu = chosen_gpu(site->gpu_model);
  if (!gpu) return tl::unexpected(gpu.error());
  m.gpu = *gpu;
  m.gpus = o.gpus > 0 ? o.gpus : site->gpus();
  // Beyond one leaf all are taken to cross the narrowest tier.
  const bool beyond = site->leaves > 0 && m.gpus > site->gpus() / site->leaves;
  m.network = {static_cast<double>(site->gpus_per_node), site->link_gbps / 8 / (beyond ? site->oversubscription : 1)};
  m.storage_gb_s = site->storage_write_gbs;
  if (m.gpus > site->gpus()) {
    return fail(Code::bad_input, fmt::format("--gpus {}: {} has {}", m.gpus, site->name, site->gpus()),
                fmt::format("--gpus {} or less", site->gpus()));
  }
  return m;
}

int no_room(const design::SearchAsk& ask, const design::SearchResult& found) {
  const design::Candidate& c = *found.smallest;
  const auto use = predict::memory_use(ask.model, c.plan, ask.habits);
  return say_error({Code::bad_input,
                    fmt::format("{} does not fit on {} GPUs of {:g} GB, of which {:.0f} % may be used: of {} ways to spread it "
                                "the smallest needs {:.1f} GB ({}; weights {:.1f}, "
                                "gradients {:.1f}, optimizer {:.1f}, activations {:.1f}, logits {:.1f})",
                                ask.model.name, ask.gpus, ask.gpu.hbm_gb, 100 * ask.memory_share, found.candidates, c.memory_gb,
                                report::say_plan(c.plan), use.weights, use.gradients, use.optimizer, use.activations, use.logits),
                    "more GPUs, GPUs with more memory, shorter sequences, or a smaller model"});
}

// The site's own, if it has measured, else what ships.
Result<predict::ChosenCalibration> calibration_for(const PlanOptions& o, const GpuModel& gpu, bool experts) {
  if (o.calibration.empty())
    return predict::choose_calibration(shipped_calibrations(), shipped_software(), gpu_models(), gpu, *o.dtype, o.software,
                                       experts);
  const auto text = read_file(o.calibration);
  if (!text) return tl::unexpected(text.error());
  const auto own = parse_calibrations(*text, o.calibration);
  if (!own) return tl::unexpected(own.error());
  std::vector<Software> software = shipped_software();
  std::vector<std::string> gpus;
  for (const Calibration& c : *own) {
    if (std::find(gpus.begin(), gpus.end(), c.gpu) == gpus.end()) gpus.push_back(c.gpu);
    const auto same = [&](const Software& s) { return s.start.software == c.software; };
    if (std::none_of(software.begin(), software.end(), same)) software.push_back({c, {}, {}});
  }
  if (std::find(gpus.begin(), gpus.end(), gpu.name) == gpus.end())
    return fail(Code::not_found, fmt::format("{} has nothing of {}", o.calibration, gpu.name), "it has " + join(gpus, ", "));
  return predict::choose_calibration(*own, software, gpu_models(), gpu, *o.dtype, o.software, experts);
}

std::vector<report::PlanRow> rows_of(const design::SearchAsk& ask, const std::vector<design::Candidate>& best) {
  std::vector<report::PlanRow> out;
  for (const design::Candidate& c : best) {
    report::PlanRow r{c, predict::step_time(ask.gpu, ask.calibration, ask.network, ask.model, c.plan),
                      predict::memory_use(ask.model, c.plan, ask.habits)};
    r.mfu = ask.model.flops_per_token(ask.seq) * c.plan.tokens() / (c.step_s * c.plan.gpus * ask.gpu.peak(Dtype::bf16));
    r.low = ask.calibration.low;
    r.high = ask.calibration.high;
    out.push_back(std::move(r));
  }
  return out;
}

design::WholeRun whole_run_of(const design::SearchAsk& ask, const design::Candidate& best, double storage_gb_s, double tokens) {
  return design::whole_run({.step_s = best.step_s,
                            .tokens_a_step = best.plan.tokens(),
                            .tokens = tokens,
                            .gpus = ask.gpus,
                            .gpu_w = ask.gpu.tdp_w,
                            .params = ask.model.params(),
                            .storage_gb_s = storage_gb_s});
}

// Twice as many GPUs, four times...: the first that are in time; 0: none.
std::uint32_t gpus_in_time(design::SearchAsk ask, double storage_gb_s, double tokens, double within_s) {
  constexpr int kDoublings = 6;
  ask.keep = 1;
  for (int i = 0; i < kDoublings && ask.gpus <= 500'000; ++i) {
    ask.gpus *= 2;
    const auto found = design::search(ask);
    if (!found || found->best.empty()) continue;
    if (whole_run_of(ask, found->best.front(), storage_gb_s, tokens).s <= within_s) return ask.gpus;
  }
  return 0;
}

int put_report(const PlanOptions& o, const report::PlanReport& all) {
  if (!o.svg.empty()) {
    if (auto ok = write_file(o.svg, report::render_svg(report::plan_bars(all))); !ok) return say_error(ok.error());
  }
  if (o.format == report::Format::json) {
    put(report::render_json(report::plan_value(all)));
  } else {
    const report::Table table = report::plan_table(all.rows);
    put(o.format == report::Format::csv
            ? report::render_csv(table, true)
            : report::render_table(table, {.wide = o.format == report::Format::wide, .colour = colour_wanted()}));
  }
  for (const std::string& line : report::say_why(all.rows)) say(line);
  say(fmt::format("{} ways to spread it, {} fit in memory; {}", all.candidates, all.fit, all.basis));
  for (const std::string& line : report::say_run(all)) say(line);
  const int written = finish_output();
  return written != 0 ? written : all.late() || all.too_dear() ? kFindingsPresent : 0;
}

int explain(const PlanOptions& o, const design::SearchAsk& ask, const design::Candidate& best, const std::string& from) {
  const report::Table table = report::operator_table(ask, best);
  put(o.format == report::Format::csv ? report::render_csv(table, true)
                                      : report::render_table(table, {.colour = colour_wanted()}));
  say(fmt::format("{}: a step of {:.3f} s; {}", report::say_plan(best.plan), best.step_s, from));
  return finish_output();
}

}  // namespace

int run_plan(const PlanOptions& given) {
  const auto all_told = completed(given);
  if (!all_told) return say_error(all_told.error());
  const PlanOptions& o = *all_told;
  if (o.model.empty())
    return say_error({Code::bad_input, "a plan for which model?", "--model NAME; muster plan --help lists them"});
  const Time now{std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()};
  if (o.wish.by && *o.wish.by < now) return say_error({Code::bad_input, "--by is a day that is over", "a day to come"});
  const auto model = chosen_model(o.model);
  if (!model) return say_error(model.error());
  const auto on = machine(o);
  if (!on) return say_error(on.error());
  const auto chosen = calibration_for(o, *on->gpu, model->experts > 0);
  if (!chosen) return say_error(chosen.error());
  design::SearchAsk ask;
  ask.model = *model;
  ask.gpu = *on->gpu;
  ask.calibration = chosen->calibration;
  ask.network = on->network;
  ask.gpus = on->gpus;
  ask.global_batch = o.batch;
  ask.seq = o.seq;
  ask.dtype = *o.dtype;
  ask.keep = o.keep;
  ask.settled = o.settled;
  // Its state is read and written once a step, as weights and gradients are.
  constexpr double kOther = 6;
  const double usual = ask.habits.optimizer_bytes;
  ask.habits.optimizer_bytes = predict::state_bytes(o.optimizer);
  ask.calibration.optimizer_bytes *= (2 * ask.habits.optimizer_bytes + kOther) / (2 * usual + kOther);
  const auto found = design::search(ask);
  if (!found) return say_error(found.error());
  if (found->candidates == 0) {
    return say_error({Code::bad_input,
                      fmt::format("no way to spread it: {} GPUs, a batch of {} and {} layers have no such divisors in common",
                                  on->gpus, o.batch, model->layers),
                      fmt::format("a batch that is a multiple of the replicas, as {}{}", on->gpus,
                                  o.launch ? "; or without --launch: the framework cannot be told all ways" : "")});
  }
  if (found->best.empty()) return no_room(ask, *found);
  if (o.explain) return explain(o, ask, found->best.front(), chosen->words);
  std::vector<report::PlanRow> rows = rows_of(ask, found->best);
  if (o.launch) {
    const auto text = report::launch_text(*o.launch, ask.model, rows.front().candidate.plan);
    if (!text) return say_error(text.error());
    put(*text);
    say("of the model this has its shape: what its family has of biases, norms, activations and routers is to be added");
    return finish_output();
  }
  report::PlanReport all{.model = ask.model.name,
                         .gpu = ask.gpu.name,
                         .gpus = on->gpus,
                         .rows = std::move(rows),
                         .candidates = found->candidates,
                         .fit = found->fit,
                         .basis = chosen->words,
                         .wish = o.wish,
                         .begin = now};
  if (o.wish.tokens > 0) all.run = whole_run_of(ask, all.rows.front().candidate, on->storage_gb_s, o.wish.tokens);
  if (all.late()) all.enough = gpus_in_time(ask, on->storage_gb_s, o.wish.tokens, (*o.wish.by - now).seconds());
  return put_report(o, all);
}

}  // namespace muster::cmd
