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

std::string sentence(const Stragglers& s) {
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

std::string_view confidence(const Stragglers& s) { return std::abs(s.off()) <= kReplayed ? "high" : "low"; }

}  // namespace

std::vector<std::string> say_stragglers(const Stragglers& s) {
  std::vector<std::string> out{sentence(s)};
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
  if (const std::string r = remedy(s); !r.empty()) out.push_back(r);
  return out;
}

std::string stragglers_json(const Stragglers& s) {
  JsonWriter w;
  w.object();
  w.key("verdict").object().field("bound", s.cause == StragglerCause::network ? "communication" : "pipeline");
  w.field("sentence", sentence(s)).field("confidence", confidence(s)).end_object();
  w.key("straggler").object().field("slowdown", s.slowdown()).field("cause", name_of(s.cause));
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
  w.end_object().field("remedy", remedy(s)).end_object().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
