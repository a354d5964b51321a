#include "timeline_tool.h"

#include <fmt/core.h>

#include <optional>

#include "adapters/sqlite/journal.h"
#include "api/render.h"
#include "report/units.h"
#include "tool_sheets.h"

namespace muster::cmd {
namespace {

constexpr Duration kUsual = hours(6);

}  // namespace

Result<std::optional<Time>> time_in(const Value& input, std::string_view key) {
  const Value* v = input.find(key);
  if (v == nullptr || v->is_null() || (v->string() != nullptr && v->string()->empty())) return std::nullopt;
  const auto time = v->string() == nullptr ? std::nullopt : report::parse_utc(*v->string());
  if (!time) {
    return fail(Code::bad_input, fmt::format("\"{}\" is no time in UTC", key),
                fmt::format("{{\"{}\": \"2026-11-15T02:00:00Z\"}}, or leave it out", key));
  }
  return time;
}

Result<JobId> job_of(const Value& input) {
  const Value* job = input.find("job");
  if (job == nullptr || job->string() == nullptr) return fail(Code::bad_input, "\"job\" is missing", "{\"job\": \"17\"}");
  return api::parse_job_id(*job->string());
}

Result<void> TimelineTool::read_on() {
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  if ((*journal)->id() != id_ || (*journal)->last_seq() < seq_) {  // another one has taken its place
    history_ = {};
    jobs_ = {};
    seq_ = 0;
    id_ = (*journal)->id();
  }
  return (*journal)->read(seq_ + 1, [&](const Event& e) {
    history_.take(e);
    jobs_.take(e, history_.state());
    seq_ = e.seq;
    return true;
  });
}

Result<std::vector<report::JobPoint>> TimelineTool::points(JobId job, Time from, Time to) {
  const std::lock_guard hold(lock_);
  if (const auto read = read_on(); !read) return tl::unexpected(read.error());
  return jobs_.points(job, from, to);
}

Result<std::string> TimelineTool::call(const Value& input) {
  if (const auto ok = check_question(input, "timeline"); !ok) return tl::unexpected(ok.error());
  const auto from = time_in(input, "from");
  if (!from) return tl::unexpected(from.error());
  const auto to = time_in(input, "to");
  if (!to) return tl::unexpected(to.error());
  const Value* max_bars = input.find("max_bars");
  if (max_bars != nullptr && (max_bars->integer() == nullptr || *max_bars->integer() < 0)) {
    return fail(Code::bad_input, "\"max_bars\" is no whole number", "{\"max_bars\": 20000}, or leave it out");
  }
  const Value* one = input.find("job");
  const auto job = one == nullptr || one->is_null() ? Result<JobId>(JobId{}) : job_of(input);
  if (!job) return tl::unexpected(job.error());
  const std::lock_guard hold(lock_);
  if (const auto read = read_on(); !read) return tl::unexpected(read.error());
  if (job->some()) return jobs_.timeline_json(*job, to->value_or(kNever));
  const Time until = to->value_or(std::max(history_.last(), from->value_or(Time{}) + seconds(1)));
  return history_.window_json(from->value_or(until - kUsual), until,
                              max_bars == nullptr ? report::History::kBarsUsual : static_cast<std::size_t>(*max_bars->integer()));
}

}  // namespace muster::cmd
