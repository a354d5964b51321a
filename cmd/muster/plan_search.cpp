// muster plan: the fastest way to spread a training run over GPUs, and why.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "client.h"
#include "commands.h"
#include "files.h"
#include "ingest/launch_config.h"
#include "plan_ask.h"
#include "report/document.h"
#include "report/plan_report.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindingsPresent = 6;

// With what a configuration settles, where a flag does not.
Result<PlanOptions> with_config(PlanOptions o) {
  constexpr std::uint32_t kNodeGpus = 8;
  if (o.config.empty()) return o;
  design::Settled& s = o.settled;
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
  return o;
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

int explain(const PlanOptions& o, const PlanAnswer& answer) {
  const design::Candidate& best = answer.report.rows.front().candidate;
  const report::Table table = report::operator_table(answer.ask, best);
  put(o.format == report::Format::csv ? report::render_csv(table, true)
                                      : report::render_table(table, {.colour = colour_wanted()}));
  say(fmt::format("{}: a step of {:.3f} s; {}", report::say_plan(best.plan), best.step_s, answer.report.basis));
  return finish_output();
}

// The cluster of the Muster that runs, as its tool tells it.
Result<ClusterShape> cluster_here(const Connection& connection) {
  const auto client = Client::open(connection);
  if (!client) return tl::unexpected(client.error());
  const auto told = client->post("/api/v1/tools/plan", R"({"list":true})");
  if (!told) return tl::unexpected(told.error());
  const Value* here = told->find("here");
  return parse_shape(here == nullptr ? Value() : *here);
}

}  // namespace

int run_plan(const PlanOptions& given) {
  const auto o = with_config(given);
  if (!o) return say_error(o.error());
  PlanAround around;
  around.now = Time{std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()};
  if (o->here) {
    const auto shape = cluster_here(o->connection);
    if (!shape) return say_error(shape.error());
    around.here = *shape;
  }
  const auto answer = ask_plan(*o, around);
  if (!answer) return say_error(answer.error());
  if (o->explain) return explain(*o, *answer);
  if (o->launch) {
    put(answer->launch);
    say("of the model this has its shape: what its family has of biases, norms, activations and routers is to be added");
    return finish_output();
  }
  return put_report(*o, answer->report);
}

}  // namespace muster::cmd
