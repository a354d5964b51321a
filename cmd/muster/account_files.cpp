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

std::string about(SacctFault f, std::uint64_t n, const std::string& place, const AccountFiles& files) {
  const std::string where = fmt::format("(first at {})", place);
  switch (f) {
    case SacctFault::cut_row:
      return fmt::format("{} rows have too few cells and are left out {}: names with line breaks? Leave JobName out.", many(n),
                         where);
    case SacctFault::long_row:
      return fmt::format("{} rows have too many cells and are left out {}: leave out columns that users write.", many(n), where);
    case SacctFault::name_with_mark:
      return fmt::format("{} names have the delimiter in them; what follows was found from the line's end {}.", many(n), where);
    case SacctFault::no_job_number: return fmt::format("{} rows have no job number and are left out {}.", many(n), where);
    case SacctFault::unknown_state: return fmt::format("{} rows have a state that is not known here {}.", many(n), where);
    case SacctFault::wrong_time: return fmt::format("{} times are none {}: they count as not said.", many(n), where);
    case SacctFault::ambiguous_time:
      return fmt::format(
          "{} local times fall into the hour that comes twice when clocks are set back {}: the first is taken where the "
          "length of the run does not tell. SLURM_TIME_FORMAT=%s writes times that are sure.",
          many(n), where);
    case SacctFault::skipped_time:
      return fmt::format("{} local times fall into the hour that clocks leap over {}: is --zone {} right?", many(n), where,
                         files.zone);
    case SacctFault::time_without_zone:
      return files.zone == "UTC"
                 ? fmt::format("{} times name no zone and are taken as UTC; give --zone where sacct ran in another.", many(n))
                 : std::string();
    case SacctFault::wrong_gpus: return fmt::format("{} counts of GPUs are none {}.", many(n), where);
    case SacctFault::shards:
      return fmt::format("{} runs had shards of GPUs, whose size only the nodes' settings say {}: their GPUs are not counted.",
                         many(n), where);
    case SacctFault::wrong_energy:
      return fmt::format("{} runs have no energy but a mark for none (0, 2^63 and such): not counted as measured.", many(n));
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
  if (c.same > 0) out.notes.push_back(fmt::format("{} rows say again what others said, and count once.", many(c.same)));
  if (c.newer > 0)
    out.notes.push_back(fmt::format("{} runs are told of twice, with and without their end: the end counts.", many(c.newer)));
  if (c.different > 0)
    out.notes.push_back(
        fmt::format("{} rows say otherwise of a run than a row before: the later row counts.", many(c.different)));
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
    out.notes.push_back(fmt::format("{} nodes of {} have no GPU and are left out.", many(installed->without_gpus), f.nodes));
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
    out.notes.push_back(fmt::format("{} outages have times that cannot be, and are left out (first at {}:{}).",
                                    many(events->wrong), f.events, events->first_wrong));
  if (events->other_states > 0)
    out.notes.push_back(fmt::format("{} events are of states that take no node out of service, such as {}.",
                                    many(events->other_states), printable(clipped(events->some_state, 40))));
  if (events->unsure_times > 0)
    out.notes.push_back(fmt::format("{} local times of outages come twice or not at all.", many(events->unsure_times)));
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
