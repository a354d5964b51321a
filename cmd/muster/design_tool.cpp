#include "design_tool.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "design_ask.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "report/clusters.h"
#include "report/document.h"
#include "report/members.h"
#include "tool_input.h"

namespace muster::cmd {
namespace {

constexpr std::uint32_t kGpusMax = 131'072, kBatchMax = 10'000'000;  // as the command line has them
constexpr std::size_t kKindsMax = 16;                                // of GPU, in one question

Result<DesignClusterOptions> read_options(const Value& input) {
  ToolInput in(input, "design");
  DesignClusterOptions o;
  design::ClusterAsk& a = o.ask;
  o.model = in.text("model");
  in.tokens("tokens", a.tokens);
  in.quantity("days", a.days, 0.01, 3650);
  in.count("gpus", a.gpus, kGpusMax);
  in.count("grow_to", a.grow_to, kGpusMax);
  in.count("batch", a.batch, kBatchMax);
  in.count("seq", a.seq, kBatchMax);
  in.choice("dtype", Dtype{}, a.dtype);
  in.count("radix", a.radix, 254);
  in.choice("cooling", design::Cooling{}, a.cooling);
  a.store = in.text("store");
  in.quantity("feed", a.feed_gb_s, 0, 100);
  in.quantity("checkpoint", a.checkpoint_s, 1, 86'400);
  in.quantity("years", a.years, 0.5, 20);
  in.count("show", o.show, 1000);
  const std::string wanted = in.text("gpu");
  if (in.wrong()) return tl::unexpected(*in.wrong());
  for (const std::string_view name : split(wanted, ',')) {
    const std::string trimmed(trim(name));
    if (!trimmed.empty() && std::find(o.gpus.begin(), o.gpus.end(), trimmed) == o.gpus.end()) o.gpus.push_back(trimmed);
  }
  if (o.gpus.size() > kKindsMax) return fail(Code::bad_input, fmt::format("{} kinds of GPU", o.gpus.size()), "at most 16");
  // By its name alone: a question from outside must not have files read.
  if (!o.model.empty()) {
    if (const auto known = shipped_model(o.model); !known) return tl::unexpected(known.error());
  }
  if (a.tokens > 0 && o.model.empty()) return fail(Code::bad_input, "tokens for which model?", "model: a name");
  if (a.gpus == 0 && a.days <= 0)
    return fail(Code::bad_input, "designed for what?",
                "gpus: so many, or model, tokens and days: a run that must be done in time");
  if (a.gpus > 0 && a.days > 0) return fail(Code::bad_input, "so many GPUs, or a run done in time?", "gpus or days, not both");
  if (a.days > 0 && a.tokens <= 0) return fail(Code::bad_input, "days for which run?", "model and tokens, as 15T");
  return o;
}

Result<std::string> answer_designs(const DesignClusterOptions& o, const design::GiveUp& give_up) {
  const auto answer = ask_designs(o, give_up);
  if (!answer) return tl::unexpected(in_fields(answer.error()));
  const Value all = report::clusters_value(answer->found, answer->ask.years);
  if (o.show == 0) return report::render_json_line(all);
  const auto& designs = *all.find("designs")->array();
  if (o.show > designs.size())
    return fail(Code::bad_input, fmt::format("there is no design {}", o.show), fmt::format("1 to {}", designs.size()));
  report::Members one;
  one.with(designs[o.show - 1]).text("cluster_file", report::render_cluster_file(answer->found.designs[o.show - 1]));
  return report::render_json_line(one.take());
}

}  // namespace

Result<std::string> DesignTool::call(const Value& input) {
  const auto o = read_options(input);
  if (!o) return tl::unexpected(o.error());
  return errands_.ask("design " + report::render_json_line(input),
                      [o = *o](const design::GiveUp& give_up) { return answer_designs(o, give_up); });
}

}  // namespace muster::cmd
