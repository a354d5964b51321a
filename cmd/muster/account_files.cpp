#include "account_files.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "files.h"
#include "ingest/installed_file.h"
#include "ingest/sacct_file.h"
#include "input.h"
#include "report/units.h"
#include "zones.h"

namespace muster::cmd {
namespace {

std::string many(std::uint64_t n) { return report::render_count(static_cast<std::int64_t>(n)); }

std::string some(std::uint64_t n, std::string_view one) { return report::counted(static_cast<std::int64_t>(n), one); }

std::string about(SacctFault f, std::uint64_t n, const std::string& place, const AccountFiles& files) {
  const std::string where = fmt::format("(first at {})", place);
  switch (f) {
    case SacctFault::cut_row:
      return fmt::format("{} with too few cells, left out {}: names with line breaks? Leave JobName out.", some(n, "row"), where);
    case SacctFault::long_row:
      return fmt::format("{} with too many cells, left out {}: leave out columns that users write.", some(n, "row"), where);
    case SacctFault::name_with_mark:
      return fmt::format("{} with the delimiter in it; what follows was found from the line's end {}.", some(n, "name"), where);
    case SacctFault::no_job_number: return fmt::format("{} without a job number, left out {}.", some(n, "row"), where);
    case SacctFault::unknown_state: return fmt::format("{} with a state that is not known here {}.", some(n, "row"), where);
    case SacctFault::wrong_time:
      return fmt::format("{} that cannot be read {}: taken as not said. Unix seconds and 2026-11-15T02:03:04 can.",
                         some(n, "time"), where);
    case SacctFault::ambiguous_time:
      return fmt::format(
          "{} in the hour that comes twice when clocks are set back {}: the first is taken where the length of the run does not "
          "tell. SLURM_TIME_FORMAT=%s writes times that are sure.",
          some(n, "local time"), where);
    case SacctFault::skipped_time:
      return fmt::format("{} in the hour that clocks leap over {}: is --zone {} right?", some(n, "local time"), where,
                         files.zone);
    case SacctFault::time_without_zone:
      return files.zone == "UTC"
                 ? fmt::format("{} without a zone, taken as UTC; give --zone where sacct ran in another.", some(n, "time"))
                 : std::string();
    case SacctFault::wrong_gpus:
      return fmt::format("{} that cannot be read {}.", n == 1 ? "1 count of GPUs" : many(n) + " counts of GPUs", where);
    case SacctFault::shards:
      return fmt::format("{} with shards of GPUs, whose size only the nodes' settings say {}: their GPUs are not counted.",
                         some(n, "run"), where);
    case SacctFault::wrong_energy:
      return fmt::format("{} without energy but a mark for none (0, 2^63 and such): not counted as measured.", some(n, "run"));
    case SacctFault::start_from_end:
      return fmt::format("{} that ran without a start that can be read {}: taken from the end and how long it ran.",
                         some(n, "run"), where);
    case SacctFault::other_length:
      return fmt::format(
          "{} of which Start to End is not as long as Elapsed and Suspended say {}: Start to End counts. A job was suspended "
          "(ask "
          "for the column Suspended), a clock was set, or --zone is not the one that sacct ran in.",
          some(n, "run"), where);
    case SacctFault::cut_end:
      return fmt::format("The last line has no end {}: the file may be cut off, and that row with it.", where);
  }
  return {};
}

void note_counts(const SacctCounts& c, const std::string& file, const AccountFiles& files, std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < kSacctFaults; ++i) {
    if (c.faults[i] == 0) continue;
    std::string s = about(static_cast<SacctFault>(i), c.faults[i], fmt::format("{}:{}", file, c.first[i]), files);
    if (!s.empty()) notes.push_back(std::move(s));
  }
  if (c.names_can_forge)
    notes.push_back(
        fmt::format("{} has a column that users write: a line break in it can pose as a row of anybody's. Leave it out.", file));
}

Result<void> read_records(const AccountFiles& f, const ZoneOffsets& zone, AccountRead& out) {
  for (const std::string& file : f.sacct) {
    SacctReader reader(file, zone, [&](const JobRecord& r) { out.runs.take(r); });
    const auto whole = read_unpacked(file, [&](std::string_view bytes) { return reader.feed(bytes); });
    if (!whole) return tl::unexpected(whole.error());
    if (!*whole) return fail(Code::corrupt, fmt::format("{} is cut short", file), "was it still being written? zip it again");
    const auto counts = reader.finish();
    if (!counts) return tl::unexpected(counts.error());
    note_counts(*counts, file, f, out.notes);
    if (!counts->has_tres) out.notes.push_back(fmt::format("{} has no column AllocTRES: nothing says who had GPUs.", file));
  }
  const account::RunCounts& c = out.runs.counts();
  if (!c.other_cluster.empty())
    return fail(
        Code::bad_input,
        fmt::format("records of two clusters, {} and {}", printable(std::string(out.runs.cluster())), printable(c.other_cluster)),
        "an account is of one: sacct -M NAME");
  if (c.same > 0)
    out.notes.push_back(
        fmt::format("{} that {} what another said: such rows count once.", some(c.same, "row"), c.same == 1 ? "says" : "say"));
  if (c.newer > 0)
    out.notes.push_back(fmt::format("{} told of twice, with and without the end: the end counts.", some(c.newer, "run")));
  if (c.different > 0)
    out.notes.push_back(
        fmt::format("{} with other words on a run than a row before (job {}): the later counts, and {} GPU-hours of the earlier "
                    "do not. Two clusters in one file?",
                    some(c.different, "row"), printable(c.some_different),
                    report::render_decimal(account::gpu_hours(c.replaced_milli_ms), 1)));
  out.runs.doubt_zeros();
  return {};
}

Result<void> read_installed(const AccountFiles& f, AccountRead& out) {
  if (f.nodes.empty()) return {};
  const auto text = read_file(f.nodes);
  if (!text) return tl::unexpected(text.error());
  auto installed = parse_installed(*text, f.nodes);
  if (!installed) return tl::unexpected(installed.error());
  if (installed->without_gpus > 0)
    out.notes.push_back(fmt::format("{} of {} without a GPU, left out.", some(installed->without_gpus, "node"), f.nodes));
  if (installed->differ > 0)
    out.notes.push_back(fmt::format("{} of {} there again with another number of GPUs: the first counts.",
                                    some(installed->differ, "node"), f.nodes));
  out.question.nodes = std::move(installed->nodes);
  return {};
}

Result<void> read_events(const AccountFiles& f, const ZoneOffsets& zone, AccountRead& out) {
  if (f.events.empty()) {
    out.notes.emplace_back("Nothing says when nodes were down or drained: that time is called idle. Give --events.");
    return {};
  }
  const auto text = read_file(f.events);
  if (!text) return tl::unexpected(text.error());
  auto events = parse_outages(*text, f.events, zone);
  if (!events) return tl::unexpected(events.error());
  if (events->wrong > 0)
    out.notes.push_back(fmt::format("{} with times that cannot be, left out (first at {}:{}).", some(events->wrong, "outage"),
                                    f.events, events->first_wrong));
  if (events->other_states > 0)
    out.notes.push_back(fmt::format("{} of states that take no node out of service, such as {}.",
                                    some(events->other_states, "event"), printable(clipped(events->some_state, 40))));
  if (events->unsure_times > 0)
    out.notes.push_back(fmt::format("{} of outages that come twice or not at all.", some(events->unsure_times, "local time")));
  out.question.outages = std::move(events->outages);
  return {};
}

Result<void> settle_window(const AccountOptions& o, AccountRead& out) {
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (const account::SiteRun& r : out.runs.runs()) {
    if (r.started_ms != account::kNoTime && r.gpus_milli != 0) first = std::min(first, r.started_ms);
    for (const std::int64_t ms : {r.submitted_ms, r.eligible_ms, r.started_ms, r.ended_ms})
      last = ms == account::kNoTime ? last : std::max(last, ms);
  }
  const auto settle = [&](const std::string& said, std::int64_t known_ms, Time& to) {
    const auto moment = said.empty() ? std::nullopt : report::parse_utc(said);
    to = moment ? Time{moment->ns - moment->ns % 1'000'000} : Time{known_ms * 1'000'000};
  };
  const bool none = first == INT64_MAX;
  if (none && (o.from.empty() || o.to.empty()))
    return fail(Code::not_found, "no run with GPUs is in these files",
                "sacct shows what ended today unless -S says otherwise, and one's own jobs without -a");
  settle(o.from, none ? 0 : first, out.question.from);
  settle(o.to, none ? 0 : last, out.question.to);
  if (o.since_s > 0)
    out.question.from = std::max(out.question.from, Time{(out.question.to - from_seconds(o.since_s)).ns / 1'000'000 * 1'000'000});
  if (out.question.from >= out.question.to)
    return fail(Code::bad_input,
                fmt::format("from {} is not before to {}", render_utc(out.question.from), render_utc(out.question.to)),
                none ? ""
                     : fmt::format("the records reach from {} to {}", render_utc(Time{first * 1'000'000}),
                                   render_utc(Time{last * 1'000'000})));
  if (out.question.to - out.question.from > days(36'600))
    return fail(Code::bad_input, "more than a hundred years are looked at", "give --from and --to");
  return {};
}

}  // namespace

Result<void> read_runs(const AccountFiles& f, AccountRead& out) {
  const auto zone = zone_offsets("--zone", f.zone);
  if (!zone) return tl::unexpected(zone.error());
  return read_records(f, *zone, out);
}

Result<void> read_account(const AccountOptions& o, AccountRead& out) {
  const auto zone = zone_offsets("--zone", o.files.zone);
  if (!zone) return tl::unexpected(zone.error());
  if (auto r = read_records(o.files, *zone, out); !r) return r;
  if (auto r = read_installed(o.files, out); !r) return r;
  if (auto r = read_events(o.files, *zone, out); !r) return r;
  if (auto r = settle_window(o, out); !r) return r;
  out.question.days = day_starts(out.question.from, out.question.to, *zone);
  return read_activity(o.files, out);
}

}  // namespace muster::cmd
