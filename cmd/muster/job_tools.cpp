#include "job_tools.h"

#include <fmt/core.h>

#include <vector>

#include "api/render.h"
#include "report/job_diagnosis.h"
#include "report/job_ranks.h"
#include "report/job_steps.h"
#include "tool_sheets.h"

namespace muster::cmd {
namespace {

Result<const Job*> job_in(const State& s, JobId id) {
  if (const Job* j = find_job(s, id)) return j;
  if (id.array_index == 0 && !members_of(s, id).empty()) {
    return fail(Code::bad_input, fmt::format("job {} is an array", render(id)),
                fmt::format("name one of its members, as {}", render(members_of(s, id).front())));
  }
  return api::unknown_job(s, id);
}

// The job as it was then; it lives as long as the snapshot.
struct AskedJob {
  std::shared_ptr<const Snapshot> at;
  const Job* job;
};

Result<AskedJob> asked_job(const Moments& moments, const Value& input) {
  const auto id = job_of(input);
  if (!id) return tl::unexpected(id.error());
  auto snapshot = moments.at(input);
  if (!snapshot) return tl::unexpected(snapshot.error());
  const auto job = job_in((*snapshot)->state, *id);
  if (!job) return tl::unexpected(job.error());
  return AskedJob{std::move(*snapshot), *job};
}

std::vector<report::RankReading> readings_of(const Snapshot& s) {
  std::vector<report::RankReading> out;
  out.reserve(s.readings.size());
  for (const GpuReading& r : s.readings) {
    out.push_back({r.sm_clock_mhz, r.temp_c, r.power_w, r.util_pct, r.tensor_active, r.collective_us});
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const Snapshot>> Moments::at(const Value& input) const {
  const auto to = time_in(input, "to");
  if (!to) return tl::unexpected(to.error());
  if (*to) return past.at(**to);
  auto now = view.latest();
  if (!now) return fail(Code::unreachable, "nothing is known yet", "try again in a moment");
  return now;
}

Result<std::string> JobStepsTool::call(const Value& input) {
  if (const auto ok = check_question(input, "job_steps"); !ok) return tl::unexpected(ok.error());
  const auto id = job_of(input);
  if (!id) return tl::unexpected(id.error());
  const auto from = time_in(input, "from"), to = time_in(input, "to");
  if (!from) return tl::unexpected(from.error());
  if (!to) return tl::unexpected(to.error());
  if (*from && *to && **from >= **to) return fail(Code::bad_input, "from is not before to", "a stretch begins before it ends");
  const auto points = timeline_.points(*id, from->value_or(Time{}), to->value_or(kNever));
  if (!points) return tl::unexpected(points.error());
  const auto snapshot = moments_.at(input);
  if (!snapshot) return tl::unexpected(snapshot.error());
  const State& s = (*snapshot)->state;
  report::StepsWanted wanted;
  wanted.job = render(*id);
  if (const Job* j = find_job(s, *id)) {  // one that ended long ago has its steps all the same
    wanted.nominal_s = j->spec.step_s;
    wanted.total = j->spec.steps;
    wanted.reached = j->progress.steps;
    wanted.gpus = static_cast<double>(milli_gpus(s.site, j->spec)) / 1000;
    wanted.running = j->phase == JobPhase::running;
  }
  const Time begin = points->empty() ? s.now.utc : points->front().at;
  return report::job_steps_json(report::study_course(*points), wanted, from->value_or(begin), to->value_or(s.now.utc));
}

Result<std::string> JobRanksTool::call(const Value& input) {
  if (const auto ok = check_question(input, "job_ranks"); !ok) return tl::unexpected(ok.error());
  const auto asked = asked_job(moments_, input);
  if (!asked) return tl::unexpected(asked.error());
  return report::job_ranks_json(asked->at->state, *asked->job, readings_of(*asked->at));
}

Result<std::string> DiagnoseJobTool::call(const Value& input) {
  if (const auto ok = check_question(input, "diagnose_job"); !ok) return tl::unexpected(ok.error());
  const auto asked = asked_job(moments_, input);
  if (!asked) return tl::unexpected(asked.error());
  report::JobCase c = report::case_of(asked->at->state, *asked->job);
  report::choose_traces(c, {});
  return report::case_json(c);
}

}  // namespace muster::cmd
