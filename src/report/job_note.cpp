#include "report/job_note.h"

#include <fmt/core.h>

#include "decide/outlook.h"
#include "decide/waiting.h"

namespace muster::report {

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
    }
  }
  if (std::string late = decide::why_late(s, j); !late.empty()) out += (out.empty() ? "" : "; ") + late;
  return out;
}

Result<void> may_ever_start(const State& s, const JobSpec& spec) {
  const std::string why = decide::why_never(s, decide::quotas_of(s), spec);
  if (why.empty()) return {};
  return fail(Code::bad_input, why, "ask for less, or name another queue; `muster get queues` lists them with their limits");
}

}  // namespace muster::report
