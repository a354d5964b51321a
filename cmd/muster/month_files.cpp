// A month out of a site's own files: records of jobs, what is installed, what was down, what GPUs were measured to do.
#include <fmt/core.h>

#include <algorithm>

#include "account_files.h"
#include "ingest/record_time.h"
#include "month_gather.h"
#include "report/site_account.h"
#include "report/units.h"
#include "zones.h"

namespace muster::cmd {
namespace {

// Nobody begins or ends at midnight sharp: records that reach so close to an end of the month are of all of it.
constexpr Duration kCloseEnough = days(1);

struct Stretch {
  Time from, to;
  bool empty() const { return from >= to; }
};

// What the records are of, within a month; grown to its ends where they come close.
Stretch within(const report::MonthBounds& b, Time first, Time last) {
  return {first <= b.begin + kCloseEnough ? b.begin : std::min(first, b.end),
          last >= b.end - kCloseEnough ? b.end : std::max(last, b.begin)};
}

account::SiteAccount account_in(const AccountRead& read, Stretch s, const ZoneOffsets& zone) {
  account::SiteQuestion q = read.question;
  q.from = s.from;
  q.to = s.to;
  q.days = day_starts(s.from, s.to, zone);
  return account::account_site(read.runs, q);
}

void take_table(report::Month& m, const AccountRead& read, const account::SiteAccount& a, account::SiteBy by) {
  report::MonthTable t;
  t.by = std::string(account::names(account::SiteBy{})[static_cast<std::size_t>(by)]);
  for (const account::SiteRow& r : account::rows_of(read.runs, a, by)) {
    if (r.no_job)
      t.nobody += r.sum;
    else
      t.rows.push_back({r.name, r.runs, r.sum, {}});
  }
  report::sort_rows(t);
  m.tables.push_back(std::move(t));
}

std::string source_of(const MonthOptions& o) {
  std::string out = fmt::format("{} of sacct", report::counted(static_cast<std::int64_t>(o.files.sacct.size()), "file"));
  if (!o.files.nodes.empty()) out += ", " + o.files.nodes;
  if (!o.files.events.empty()) out += ", " + o.files.events;
  if (!o.files.activity.empty()) out += ", " + o.files.activity;
  if (!o.files.prometheus.empty()) out += ", a Prometheus";
  return out;
}

// Records that do not quite reach the month's ends: what lies between is told as idle, and that is said.
void note_ends(report::Month& m, Time first, Time last) {
  constexpr Duration kWorthSaying = hours(1);
  if (first - m.all.from > kWorthSaying)
    m.unseen.push_back(fmt::format("The records begin at {}, {} after the month does: till then all GPUs are told as idle.",
                                   render_utc(first), report::render_span(first - m.all.from)));
  if (m.all.to - last > kWorthSaying)
    m.unseen.push_back(fmt::format("The records end at {}, {} before the month does: from then on all GPUs are told as idle.",
                                   render_utc(last), report::render_span(m.all.to - last)));
}

}  // namespace

Result<GatheredMonth> gather_month_files(const MonthOptions& o) {
  const auto zone = zone_offsets("--tz", o.zone);
  if (!zone) return tl::unexpected(zone.error());
  AccountOptions ask;
  ask.files = o.files;
  AccountRead read;
  if (const auto ok = read_account(ask, read); !ok) return tl::unexpected(ok.error());
  const Time first = read.question.from, last = read.question.to;
  const report::MonthBounds b = month_asked(o, *zone, first, last);
  const Stretch now = within(b, first, last);
  if (last <= b.begin || first >= b.end || now.empty())
    return fail(Code::not_found, fmt::format("nothing is recorded of {}", report::month_name(report::wall_of(b.begin, *zone))),
                fmt::format("the records reach from {} to {}", render_utc(first), render_utc(last)));
  const account::SiteAccount a = account_in(read, now, *zone);
  if (a.gpus_milli == 0)
    return fail(
        Code::not_found, "no run in these files says that it had GPUs, and nothing says what is installed",
        "Slurm keeps GPUs only with AccountingStorageTRES=gres/gpu in slurm.conf; name the column AllocTRES, or give --nodes");
  GatheredMonth g;
  report::Month& m = g.month;
  m.begin = b.begin;
  m.end = b.end;
  m.zone = o.zone;
  m.offsets = *zone;
  m.cluster = std::string(read.runs.cluster());
  m.gpus = static_cast<std::uint64_t>(a.gpus_milli / kGpuThousandths);
  m.source = source_of(o);
  m.all = {now.from, now.to, a.sum, true};
  note_ends(m, first, last);
  for (const account::DaySum& d : a.days) m.days.push_back({d.from, d.to, d.sum, d.whole});
  const report::MonthBounds then = report::month_of(b.begin - nanoseconds(1), *zone);
  const Stretch before = within(then, first, last);
  if (before.from <= then.begin && before.to >= then.end) {
    m.before = report::MonthPiece{then.begin, then.end, account_in(read, before, *zone).sum, true};
  } else {
    m.unseen.push_back(fmt::format("{} is not compared with: the records begin at {}.", report::month_name(m.wall(then.begin)),
                                   render_utc(first)));
  }
  for (const auto by : {account::SiteBy::account, account::SiteBy::partition, account::SiteBy::user, account::SiteBy::gpu_type})
    take_table(m, read, a, by);
  g.uses = account::use_of(read.runs, now.to);
  m.activity_known = a.activity_known;
  report::SiteView v;
  v.cluster = m.cluster;
  v.runs = &read.runs;
  v.account = &a;
  v.zone = o.files.zone;
  v.metric = read.metric;
  v.notes = std::move(read.notes);
  for (std::string& note : report::site_account_notes(v)) m.unseen.push_back(std::move(note));
  if (o.zone == "UTC" && o.files.zone != "UTC")
    m.gaps.push_back({"months and days of " + o.files.zone, "they are of the calendar in UTC", "--tz " + o.files.zone});
  m.gaps.push_back({"what failures cost", "files of a site do not say why a node was down or an attempt ended",
                    "--journal of a Muster that watches the cluster (muster up)"});
  return g;
}

}  // namespace muster::cmd
