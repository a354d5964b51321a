#include "report/job_note.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "decide/outlook.h"
#include "decide/waiting.h"

namespace muster::report {

namespace {

std::string in_no_queue_now(const State& s, const Job& j) { return ended(j.phase) ? std::string() : in_no_queue(s, j.spec); }

}  // namespace

struct JobNotes::Inside {
  const State& s;
  decide::Quotas quotas;
};

JobNotes::JobNotes(const State& s) : inside_(new Inside{s, decide::quotas_of(s)}) {}
JobNotes::~JobNotes() = default;

std::string JobNotes::of(const Job& j) const {
  const State& s = inside_->s;
  if (j.phase == JobPhase::failed && j.last_end == JobEnd::timed_out) return j.last_detail;
  std::string out;
  if (j.phase == JobPhase::queued) {
    if (j.hopeless) {
      out = "it can never start: a job it follows did not complete";
    } else if (std::string never = decide::why_never(s, inside_->quotas, j.spec); !never.empty()) {
      out = std::move(never);
    } else if (!j.waits_for.empty()) {
      out = fmt::format("it follows job {}", render(j.waits_for.front()));
    } else if (!j.spec.barred.empty()) {
      out = printable(j.spec.barred);
    }
  }
  for (const std::string& more : {decide::why_late(s, j), limit_too_short(s, j), in_no_queue_now(s, j)}) {
    if (!more.empty()) out += (out.empty() ? "" : "; ") + more;
  }
  return out;
}

std::string limit_too_short(const State& s, const Job& j) {
  if (ended(j.phase) || j.spec.time_limit_s <= 0) return {};
  const bool runs = j.phase == JobPhase::running;
  const std::uint64_t safe = std::min(runs ? j.progress.steps : j.progress.durable_steps, j.spec.steps);
  const double left_s = std::min(1e9, static_cast<double>(j.spec.steps - safe) * j.spec.step_s);
  const double have_s = j.spec.time_limit_s - (runs ? (s.now.utc - j.started).seconds() : 0);
  // While it runs, a step that is just being made must not look like a lack of time.
  if (left_s <= have_s + (runs ? 2 * j.spec.step_s : 0)) return {};
  return fmt::format("its time limit of {} is too short for its work: {} steps of {} s are left, {} in all",
                     render_duration(from_seconds(j.spec.time_limit_s)), j.spec.steps - safe, render_number(j.spec.step_s),
                     render_duration(from_seconds(left_s)));
}

std::string in_no_queue(const State& s, const JobSpec& spec) {
  const auto& queues = s.policy.queues;
  const std::string name = queue_of(spec);
  if (queues.empty() || name.empty()) return {};
  std::vector<std::string> known;
  for (const QueueSpec& q : queues) {
    if (q.name == name) return {};
    known.push_back(q.name);
  }
  constexpr std::size_t kNamed = 8;
  const std::string more = known.size() > kNamed ? ", ..." : "";
  known.resize(std::min(known.size(), kNamed));
  return fmt::format("there is no queue '{}': it shares what the queues leave; there are {}{}", printable(name),
                     join(known, ", "), more);
}

std::string array_name(const Job& member) {
  const std::string& name = member.spec.name;
  const std::string tail = member.id.array_index == 0 ? std::string() : fmt::format("_{}", member.id.array_index - 1);
  return name.size() > tail.size() && name.ends_with(tail) ? name.substr(0, name.size() - tail.size()) : name;
}

std::map<JobPhase, std::vector<JobId>> members_by_phase(const State& s, const std::vector<JobId>& members) {
  std::map<JobPhase, std::vector<JobId>> out;
  for (const JobId id : members) out[s.jobs.at(id).phase].push_back(id);
  return out;
}

Result<void> may_ever_start(const State& s, const JobSpec& spec) {
  const std::string why = decide::why_never(s, decide::quotas_of(s), spec);
  if (why.empty()) return {};
  return fail(Code::bad_input, why, "ask for less, or name another queue; `muster get queues` lists them with their limits");
}

}  // namespace muster::report
