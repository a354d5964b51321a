#include "report/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "model/fields.h"

namespace muster::report {
namespace {

using diagnose::Share;
using diagnose::StragglerCause;
using diagnose::Stragglers;

constexpr double kReplayed = 0.03;  // further off than this, a replay supports no claim
constexpr double kPart = 0.1;       // of what is lost: less is not worth a name

std::string remedy(const Stragglers& s) {
  switch (s.cause) {
    case StragglerCause::none: return {};
    case StragglerCause::worker: return "test that worker's GPUs and node (muster check), and run without it";
    case StragglerCause::stage:
      return "give that stage fewer layers (--decoder-last-pipeline-num-layers), or the head to more ranks";
    case StragglerCause::network: return "look at the links of the slow exchanges: muster get findings";
    case StragglerCause::spread: break;
  }
  return "sequences of unequal length are the usual cause: balance tokens over micro-batches; then collect garbage at the same "
         "step everywhere";
}

double shown_pct(const Share& s) { return 100 * std::min(1.0, s.recovered); }  // mended, it may be better than the average

}  // namespace

std::string stragglers_sentence(const Stragglers& s) {
  const double slower = 100 * (s.slowdown() - 1);
  switch (s.cause) {
    case StragglerCause::none: return "no worker, stage or exchange is slower than the others: nothing is lost to stragglers";
    case StragglerCause::worker:
      return fmt::format("the job is {:.1f} % slower than it need be, for the worker of replica {} in stage {}", slower,
                         s.workers.front().dp, s.workers.front().stage);
    case StragglerCause::stage:
      return fmt::format("the job is {:.1f} % slower than it need be, for stage {}, which has more to do than the others", slower,
                         s.stages.front().stage);
    case StragglerCause::network:
      return fmt::format("the job is {:.1f} % slower than it need be, for exchanges that are slow at times", slower);
    case StragglerCause::spread: break;
  }
  return fmt::format("the job is {:.1f} % slower than it need be, now for these workers and now for those", slower);
}

std::vector<std::string> say_stragglers(const Stragglers& s) {
  std::vector<std::string> out;
  out.push_back(
      fmt::format("a step took {:.3f} s; played again without gaps {:.3f} s ({:+.1f} %); with every operation as its kind is on "
                  "average {:.3f} s",
                  s.measured_s, s.replayed_s, 100 * s.off(), s.ideal_s));
  if (std::abs(s.off()) > kReplayed) out.push_back("the replay is more than 3 % off what was measured: take all this with care");
  for (const Share& w : s.workers) {
    if (w.recovered >= kPart)
      out.push_back(fmt::format("  the worker of replica {} in stage {}: {:.0f} % of what is lost", w.dp, w.stage, shown_pct(w)));
  }
  for (const Share& w : s.stages) {
    if (w.recovered >= kPart) out.push_back(fmt::format("  stage {}: {:.0f} % of what is lost", w.stage, shown_pct(w)));
  }
  for (const auto& [type, slower] : s.types) {
    if (slower >= 1.01) out.push_back(fmt::format("  {} alone: {:.1f} % slower", type, 100 * (slower - 1)));
  }
  return out;
}

void write_stragglers(JsonWriter& w, const Stragglers& s) {
  w.object().field("slowdown", s.slowdown()).field("cause", name_of(s.cause));
  w.field("measured_s", s.measured_s).field("replayed_s", s.replayed_s).field("ideal_s", s.ideal_s);
  w.key("workers").array();
  for (const Share& x : s.workers) {
    if (x.recovered >= kPart)
      w.object().field("dp_rank", x.dp).field("stage", x.stage).field("recovers", x.recovered).end_object();
  }
  w.end_array().key("stages").array();
  for (const Share& x : s.stages) {
    if (x.recovered >= kPart) w.object().field("stage", x.stage).field("recovers", x.recovered).end_object();
  }
  w.end_array().key("types").object();
  for (const auto& [type, slower] : s.types) w.field(type, slower);
  w.end_object().field("remedy", remedy(s)).end_object();
}

diagnose::Finding straggler_finding(const Stragglers& s) {
  diagnose::Finding f;
  const double lost = 100 * (1 - 1 / s.slowdown());
  f.title = stragglers_sentence(s);
  f.evidence = {
      fmt::format("a step took {:.3f} s; with every operation as its kind is on average {:.3f} s", s.measured_s, s.ideal_s)};
  f.expected = fmt::format("{:.3f} s a step", s.ideal_s);
  f.achieved = fmt::format("{:.3f} s a step", s.measured_s);
  f.remedy = remedy(s);
  double most = 0;
  for (const Share& x : s.cause == StragglerCause::stage ? s.stages : s.workers)
    most = std::max(most, std::min(1.0, x.recovered));
  f.gain = diagnose::Gain{lost * (most > 0 ? most : 0.5), lost};
  f.verify = "take the same table again: the slowdown nears 1";
  f.cost_pct = lost;
  f.confidence = std::abs(s.off()) <= kReplayed ? diagnose::Confidence::high : diagnose::Confidence::low;
  return f;
}

}  // namespace muster::report
