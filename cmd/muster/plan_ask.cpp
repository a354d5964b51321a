#include "plan_ask.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "design/whole_run.h"
#include "files.h"
#include "ingest/calibration_file.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "predict/calibrate.h"
#include "report/members.h"
#include "scene.h"

namespace muster::cmd {
namespace {

struct Machine {
  const GpuModel* gpu = nullptr;
  predict::Network network;
  std::uint32_t gpus = 0;
  double storage_gb_s = 0;  // 0: not told
};

// What nobody says is usual.
PlanOptions completed(PlanOptions o) {
  constexpr std::uint32_t kBatch = 1024, kSeq = 8192;
  design::Settled& s = o.settled;
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

Result<Machine> on_cluster(const ClusterShape& c, std::uint32_t gpus) {
  Machine m;
  auto gpu = chosen_gpu(c.gpu);
  if (!gpu) return tl::unexpected(gpu.error());
  m.gpu = *gpu;
  m.gpus = gpus > 0 ? gpus : c.gpus;
  // Beyond one leaf all are taken to cross the narrowest tier.
  const bool beyond = c.gpus_per_leaf > 0 && m.gpus > c.gpus_per_leaf;
  m.network = {static_cast<double>(c.gpus_per_node), c.link_gb_s / (beyond ? c.oversubscription : 1)};
  m.storage_gb_s = c.storage_gb_s;
  if (m.gpus > c.gpus) {
    return fail(Code::bad_input, fmt::format("--gpus {}: {} has {}", m.gpus, c.name, c.gpus),
                fmt::format("--gpus {} or less", c.gpus));
  }
  return m;
}

Result<Machine> machine(const PlanOptions& o, const std::optional<ClusterShape>& here) {
  if (here) return on_cluster(*here, o.gpus);
  if (!o.cluster.empty()) {
    const auto site = load_cluster(o.cluster);
    if (!site) return tl::unexpected(site.error());
    return on_cluster(shape_of(*site), o.gpus);
  }
  if (o.gpu.empty()) return fail(Code::bad_input, "on which GPUs?", "--cluster NAME|FILE, --here, or --gpu NAME --gpus N");
  if (o.gpus == 0) return fail(Code::bad_input, fmt::format("on how many {}?", printable(o.gpu)), "--gpus N");
  auto gpu = chosen_gpu(o.gpu);
  if (!gpu) return tl::unexpected(gpu.error());
  Machine m;
  m.gpu = *gpu;
  m.network = {m.gpu->domain > 8 ? 4.0 : 8.0, m.gpu->nic_gb_s};
  m.gpus = o.gpus;
  return m;
}

tl::unexpected<Error> no_room(const design::SearchAsk& ask, const design::SearchResult& found) {
  const design::Candidate& c = *found.smallest;
  const auto use = predict::memory_use(ask.model, c.plan, ask.habits);
  return fail(Code::bad_input,
              fmt::format("{} does not fit on {} GPUs of {:g} GB, of which {:.0f} % may be used: of {} ways to spread it "
                          "the smallest needs {:.1f} GB ({}; weights {:.1f}, "
                          "gradients {:.1f}, optimizer {:.1f}, activations {:.1f}, logits {:.1f})",
                          ask.model.name, ask.gpus, ask.gpu.hbm_gb, 100 * ask.memory_share, found.candidates, c.memory_gb,
                          report::say_plan(c.plan), use.weights, use.gradients, use.optimizer, use.activations, use.logits),
              "more GPUs, GPUs with more memory, shorter sequences, or a smaller model");
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
Result<std::uint32_t> gpus_in_time(design::SearchAsk ask, double storage_gb_s, double tokens, double within_s) {
  constexpr int kDoublings = 6;
  ask.keep = 1;
  for (int i = 0; i < kDoublings && ask.gpus <= 500'000; ++i) {
    ask.gpus *= 2;
    const auto found = design::search(ask);
    if (!found && found.error().code == Code::refused) return tl::unexpected(found.error());
    if (!found || found->best.empty()) continue;
    if (whole_run_of(ask, found->best.front(), storage_gb_s, tokens).s <= within_s) return ask.gpus;
  }
  return 0;
}

design::SearchAsk search_ask(const PlanOptions& o, const Machine& on, const Transformer& model, const Calibration& calibration) {
  design::SearchAsk ask;
  ask.model = model;
  ask.gpu = *on.gpu;
  ask.calibration = calibration;
  ask.network = on.network;
  ask.gpus = on.gpus;
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
  return ask;
}

}  // namespace

ClusterShape shape_of(const Site& site) {
  return {.name = site.name,
          .gpu = site.gpu_model,
          .gpus = site.gpus(),
          .gpus_per_node = site.gpus_per_node,
          .gpus_per_leaf = site.leaves > 0 ? site.gpus() / site.leaves : 0,
          .link_gb_s = site.link_gbps / 8,
          .oversubscription = site.oversubscription,
          .storage_gb_s = site.storage_write_gbs};
}

Value shape_value(const ClusterShape& c) {
  report::Members o;
  o.text("name", c.name).text("gpu", c.gpu).count("gpus", c.gpus).count("gpus_per_node", c.gpus_per_node);
  o.count("gpus_per_leaf", c.gpus_per_leaf).number("link_gb_s", c.link_gb_s).number("oversubscription", c.oversubscription);
  return o.number("storage_gb_s", c.storage_gb_s).take();
}

Result<ClusterShape> parse_shape(const Value& v) {
  ClusterShape c;
  bool good = true;
  const auto text = [&](const char* key, std::string& to) {
    const Value* x = v.find(key);
    if (x != nullptr && x->string() != nullptr) to = *x->string();
    good = good && !to.empty();
  };
  const auto number = [&](const char* key, double least, auto& to) {
    const Value* x = v.find(key);
    double d = 0;
    good = good && x != nullptr && x->number(d) && d >= least && d <= 1e9;
    if (good) to = static_cast<std::remove_reference_t<decltype(to)>>(d);
  };
  text("name", c.name);
  text("gpu", c.gpu);
  number("gpus", 1, c.gpus);
  number("gpus_per_node", 1, c.gpus_per_node);
  number("gpus_per_leaf", 0, c.gpus_per_leaf);
  number("link_gb_s", 0, c.link_gb_s);
  number("oversubscription", 1e-3, c.oversubscription);
  number("storage_gb_s", 0, c.storage_gb_s);
  if (!good) return fail(Code::internal, "the server does not say what its cluster is", "it may be of another version");
  return c;
}

Result<PlanAnswer> ask_plan(const PlanOptions& given, const PlanAround& around) {
  const PlanOptions o = completed(given);
  if (o.model.empty()) return fail(Code::bad_input, "a plan for which model?", "--model NAME; muster plan --help lists them");
  if (o.wish.by && *o.wish.by < around.now) return fail(Code::bad_input, "--by is a day that is over", "a day to come");
  const auto model = chosen_model(o.model);
  if (!model) return tl::unexpected(model.error());
  const auto on = machine(o, around.here);
  if (!on) return tl::unexpected(on.error());
  const auto chosen = calibration_for(o, *on->gpu, model->experts > 0);
  if (!chosen) return tl::unexpected(chosen.error());
  PlanAnswer out;
  design::SearchAsk& ask = out.ask;
  ask = search_ask(o, *on, *model, chosen->calibration);
  ask.give_up = around.give_up;
  const auto found = design::search(ask);
  if (!found) return tl::unexpected(found.error());
  if (found->candidates == 0) {
    return fail(Code::bad_input,
                fmt::format("no way to spread it: {} GPUs, a batch of {} and {} layers have no such divisors in common", on->gpus,
                            o.batch, model->layers),
                fmt::format("a batch that is a multiple of the replicas, as {}{}", on->gpus,
                            o.launch ? "; or without --launch: the framework cannot be told all ways" : ""));
  }
  if (found->best.empty()) return no_room(ask, *found);
  report::PlanReport& all = out.report;
  all = {.model = ask.model.name,
         .gpu = ask.gpu.name,
         .gpus = on->gpus,
         .hbm_gb = ask.gpu.hbm_gb,
         .memory_limit_gb = ask.gpu.hbm_gb * ask.memory_share,
         .rows = rows_of(ask, found->best),
         .candidates = found->candidates,
         .fit = found->fit,
         .basis = chosen->words,
         .wish = o.wish,
         .begin = around.now};
  if (o.explain) return out;
  if (o.launch) {
    auto text = report::launch_text(*o.launch, ask.model, all.rows.front().candidate.plan);
    if (!text) return tl::unexpected(text.error());
    out.launch = std::move(*text);
    return out;
  }
  if (o.wish.tokens > 0) all.run = whole_run_of(ask, all.rows.front().candidate, on->storage_gb_s, o.wish.tokens);
  if (all.late()) {
    const auto enough = gpus_in_time(ask, on->storage_gb_s, o.wish.tokens, (*o.wish.by - around.now).seconds());
    if (!enough) return tl::unexpected(enough.error());
    all.enough = *enough;
  }
  return out;
}

}  // namespace muster::cmd
