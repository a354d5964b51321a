#include "report/checkpoint_note.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "decide/pace/advice.h"

namespace muster::report {
namespace {

std::string span(double s) { return render_duration(from_seconds(std::min(std::max(s, 0.0), 1e9))); }

double to_ms(double s) { return static_cast<double>(static_cast<std::int64_t>(s * 1000 + 0.5)) / 1000; }

// The next of the moments it was told of, on the same grid however long ago that was.
Time next_paced(const State& s, const Job& j) {
  const std::int64_t every = j.paced_every.ns;
  std::int64_t left = (j.paced_next - s.now.utc).ns;
  if (left <= 0 || left > 2 * every) left = (left % every + every) % every;
  return s.now.utc + nanoseconds(left);
}

std::string rate_words(const decide::FailureRate& r, const decide::CheckpointView& v, const Job& j) {
  const bool own = static_cast<double>(r.seen) >= decide::kPublishedWeight;
  return fmt::format("A gang of {} node{} is interrupted about every {} ({}: {} in {:.0f} node-hours here).", j.spec.nodes,
                     j.spec.nodes == 1 ? "" : "s", span(3600 / v.failures_per_h),
                     own ? "by what was seen" : "by the published rate, for little was seen", r.seen, r.node_h);
}

}  // namespace

struct CheckpointNotes::Inside {
  const State& s;
  decide::FailureRate rate;
};

CheckpointNotes::CheckpointNotes(const State& s) : inside_(new Inside{s, decide::failure_rate(s)}) {}
CheckpointNotes::~CheckpointNotes() = default;

std::string CheckpointNotes::of(const Job& j) const {
  const auto& [s, rate] = *inside_;
  if (j.phase != JobPhase::running) return {};
  if (!checkpoint_known(j)) {
    return "How old its last checkpoint is, nobody knows: it does not tell (docs/jobs.md says how a job can). Acts that would "
           "stop "
           "it need a person's approval.";
  }
  const std::string age = span((s.now.utc - j.checkpointed).seconds());
  std::string out = j.progress.durable_steps == 0
                        ? fmt::format("It has written no checkpoint yet: a failure now would cost {} of work.", age)
                        : fmt::format("Its last checkpoint is {} old.", age);
  if (j.paced_every.ns > 0)
    out += fmt::format(" It is told to write one every {}, the next at {}.", render_duration(j.paced_every),
                       render_utc(next_paced(s, j)));
  const auto v = decide::checkpoint_view(s, j, rate);
  if (!v) return out + " How long one takes is not measured yet, so there is no advice how often to write one.";
  out += fmt::format(" One stops it for {:.1f} s ({}).", v->stall_s,
                     v->measured > 0 ? fmt::format("mean of {}", v->measured) : std::string("by its owner's word"));
  out += fmt::format(" Best is one every {}", span(v->advised_s));
  if (v->useful > 0) {
    out += fmt::format("; now it is every {}: useful {:.2f} % of the time, at best {:.2f} %, {:.1f} GPU-hours a day more",
                       span(v->every_s), 100 * v->useful, 100 * v->useful_advised, v->gpu_h_a_day);
  }
  return out + ". " + rate_words(rate, *v, j);
}

void CheckpointNotes::write(JsonWriter& w, const Job& j) const {
  const auto& [s, rate] = *inside_;
  if (j.phase != JobPhase::running) {
    w.null();
    return;
  }
  const bool known = checkpoint_known(j);
  w.object().field("known", known);
  if (known) w.field("age_s", to_ms(std::max(0.0, (s.now.utc - j.checkpointed).seconds())));
  if (const auto v = decide::checkpoint_view(s, j, rate)) {
    w.field("stall_s", to_ms(v->stall_s)).field("measured", v->measured).field("every_s", to_ms(v->every_s));
    w.field("advised_every_s", to_ms(v->advised_s)).field("useful", v->useful).field("useful_advised", v->useful_advised);
    w.field("gpu_hours_a_day", to_ms(v->gpu_h_a_day)).field("failures_per_h", v->failures_per_h);
  }
  w.field("paced", j.spec.paced);
  if (j.paced_every.ns > 0) {
    w.field("paced_every_s", to_ms(j.paced_every.seconds())).field("paced_next_utc", render_utc(next_paced(s, j)));
  }
  w.field("words", of(j)).end_object();
}

void write_paces(JsonWriter& w, const State& s, NodeId node) {
  w.array();
  std::optional<decide::FailureRate> rate;
  for (const Share& x : node.v < s.nodes.size() ? s.nodes[node.v].shares : std::vector<Share>{}) {
    const Job* j = find_job(s, x.job);
    if (j == nullptr || j->phase != JobPhase::running) continue;
    if (!rate) rate = decide::failure_rate(s);
    const auto v = decide::checkpoint_view(s, *j, *rate);
    if (!v && j->paced_every.ns == 0) continue;
    w.object().field("job", render(j->id));
    w.field("checkpoint_every_s", to_ms(j->paced_every.ns > 0 ? j->paced_every.seconds() : v->advised_s));
    if (j->paced_every.ns > 0) w.field("next_checkpoint_at", to_ms(static_cast<double>(next_paced(s, *j).ns) / 1e9));
    w.end_object();
  }
  w.end_array();
}

}  // namespace muster::report
