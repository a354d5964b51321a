#include "plan_tool.h"

#include <fmt/core.h>

#include <chrono>

#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "report/document.h"
#include "report/members.h"
#include "tool_input.h"

namespace muster::cmd {
namespace {

using report::Members;

constexpr std::uint32_t kGpusMax = 1'000'000, kBatchMax = 10'000'000, kSeqMax = 10'000'000;  // as the command line has them
constexpr std::uint32_t kDesignGpusMax = 131'072;
constexpr std::uint32_t kKeepMax = 50;  // plans on a page

template <NamedEnum E>
Value all_names(E) {
  Value::Array out;
  for (const std::string_view name : names(E{})) out.emplace_back(std::string(name));
  return Value(std::move(out));
}

Value parts_in_words() {
  Value::Array out;
  for (const report::StepPart& p : report::step_parts()) {
    Members one;
    out.push_back(one.text("key", p.key).text("words", p.words).take());
  }
  return Value(std::move(out));
}

Value models() {
  Value::Array out;
  for (const Transformer& m : transformers()) {
    Members one;
    one.text("name", m.name).number("params", m.params()).count("layers", m.layers).count("experts", m.experts);
    out.push_back(one.take());
  }
  return Value(std::move(out));
}

Value gpus() {
  Value::Array out;
  for (const GpuModel& g : gpu_models()) {
    Value::Array formats;
    for (std::size_t i = 0; i < names(Dtype{}).size(); ++i) {
      if (g.peak(static_cast<Dtype>(i)) > 0) formats.emplace_back(std::string(names(Dtype{})[i]));
    }
    Members one;
    one.text("name", g.name).number("hbm_gb", g.hbm_gb).count("domain", g.domain).put("dtypes", Value(std::move(formats)));
    out.push_back(one.yes("priced", hardware_prices().gpu.count(g.name) > 0).take());
  }
  return Value(std::move(out));
}

Value stores() {
  Value::Array out;
  for (const StoreKind& s : store_kinds()) {
    if (!s.objects) out.emplace_back(s.name);
  }
  return Value(std::move(out));
}

Result<PlanOptions> read_options(const Value& input, bool here) {
  ToolInput in(input, "plan");
  PlanOptions o;
  o.model = in.text("model");
  o.gpu = in.text("gpu");
  in.count("gpus", o.gpus, kGpusMax);
  in.count("batch", o.batch, kBatchMax);
  in.count("seq", o.seq, kSeqMax);
  in.choice("dtype", Dtype{}, o.dtype);
  in.choice("optimizer", predict::Optimizer{}, o.optimizer);
  in.tokens("tokens", o.wish.tokens);
  in.quantity("price", o.wish.price, 0, 1000);
  in.end_of_day("by", o.wish.by);
  double budget = 0;
  in.quantity("budget", budget, 1, 1e12);
  if (budget > 0) o.wish.budget = budget;
  in.count("keep", o.keep, kKeepMax);
  design::Settled& s = o.settled;
  in.count("tp", s.tp, kGpusMax);
  in.count("cp", s.cp, kGpusMax);
  in.count("pp", s.pp, kGpusMax);
  in.count("vp", s.vp, kGpusMax);
  in.count("ep", s.ep, kGpusMax);
  in.count("micro", s.micro_batch, kBatchMax);
  in.choice("recompute", Recompute{}, s.recompute);
  in.choice("schedule", Schedule{}, s.schedule);
  in.choice("shard", Shard{}, s.shard);
  in.choice("launch", report::Launcher{}, o.launch);
  if (in.wrong()) return tl::unexpected(*in.wrong());
  if (o.model.empty()) return fail(Code::bad_input, "a plan for which model?", "model: one of those that {\"list\":true} names");
  // By its name alone: a question from outside must not have files read.
  if (const auto known = shipped_model(o.model); !known) return tl::unexpected(known.error());
  if (here && !o.gpu.empty()) return fail(Code::bad_input, "this cluster, or another GPU?", "here or gpu, not both");
  if (!here && o.gpu.empty()) return fail(Code::bad_input, "on which GPUs?", "gpu with gpus, or here for this cluster");
  if (!here && o.gpus == 0) return fail(Code::bad_input, "on how many GPUs?", "gpus: a number");
  if (o.wish.tokens <= 0 && (o.wish.price > 0 || o.wish.by || o.wish.budget))
    return fail(Code::bad_input, "a price, a day or a budget of which run?", "tokens: how many it trains on, as 15T");
  if (o.wish.budget && o.wish.price <= 0) return fail(Code::bad_input, "a budget at which price?", "price: USD of a GPU-hour");
  return o;
}

Result<std::string> answer_plan(const PlanOptions& o, const PlanAround& around) {
  const auto answer = ask_plan(o, around);
  if (!answer) return tl::unexpected(in_fields(answer.error()));
  Members out;
  out.with(report::plan_value(answer->report)).count("batch", answer->ask.global_batch).count("seq", answer->ask.seq);
  out.put("parts", parts_in_words());
  if (o.launch) {
    Members launch;
    launch.text("for", std::string(name_of(*o.launch))).text("text", answer->launch);
    out.put("launch", launch.take());
  }
  return report::render_json_line(out.take());
}

}  // namespace

std::string PlanTool::list() const {
  Members limits, here, out;
  limits.count("gpus", kGpusMax).count("batch", kBatchMax).count("seq", kSeqMax).count("keep", kKeepMax);
  limits.count("design_gpus", kDesignGpusMax);
  here.with(shape_value(here_));
  if (const auto gpu = chosen_gpu(here_.gpu); !gpu) here.text("problem", gpu.error().what);
  out.put("models", models()).put("gpus", gpus()).put("dtypes", all_names(Dtype{})).put("stores", stores());
  out.put("optimizers", all_names(predict::Optimizer{})).put("launchers", all_names(report::Launcher{}));
  out.put("coolings", all_names(design::Cooling{})).put("limits", limits.take()).put("here", here.take());
  return report::render_json_line(out.take());
}

Result<std::string> PlanTool::call(const Value& input) {
  const Value* list_wanted = input.find("list");
  if (list_wanted != nullptr && list_wanted->boolean() != nullptr && *list_wanted->boolean()) return list();
  const Value* here = input.find("here");
  const bool on_here = here != nullptr && here->boolean() != nullptr && *here->boolean();
  const auto o = read_options(input, on_here);
  if (!o) return tl::unexpected(o.error());
  PlanAround around;
  around.now = Time{std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()};
  if (on_here) around.here = here_;
  // When it would end depends on the day.
  const std::string question = fmt::format("plan {} {}", render_utc(around.now).substr(0, 10), report::render_json_line(input));
  return errands_.ask(question, [o = *o, around](const design::GiveUp& give_up) mutable {
    around.give_up = give_up;
    return answer_plan(o, around);
  });
}

}  // namespace muster::cmd
