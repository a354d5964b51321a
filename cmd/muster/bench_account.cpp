// muster bench account: a made-up year of jobs, read and summed: how long that takes, and whether the sums are exact.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "account/site_hours.h"
#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "ingest/installed_file.h"
#include "ingest/sacct_file.h"
#include "report/units.h"
#include "say.h"
#include "trial/site_made.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

double cpu_s() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct Summed {
  double read_s = 0, sum_s = 0;
  account::SiteSum sum;
  std::int64_t installed = 0;  // as nodes and time say
  bool owners_exact = true, days_exact = true, faults_found = true;
  bool exact(const trial::MadeSite& made) const {
    return sum == made.sum && sum.installed() == installed && owners_exact && days_exact && faults_found;
  }
};

Result<Summed> account_for(const trial::MadeSite& made) {
  const ZoneOffsets utc;
  const double began = cpu_s();
  account::SiteRuns runs;
  SacctReader reader("made", utc, [&](const JobRecord& r) { runs.take(r); });
  for (std::size_t at = 0; at < made.sacct.size(); at += kPiece) {
    if (const auto r = reader.feed(std::string_view(made.sacct).substr(at, kPiece)); !r) return tl::unexpected(r.error());
  }
  const auto counts = reader.finish();
  if (!counts) return tl::unexpected(counts.error());
  auto installed = parse_installed(made.nodes, "nodes");
  if (!installed) return tl::unexpected(installed.error());
  auto events = parse_outages(made.events, "events");
  if (!events) return tl::unexpected(events.error());
  const double read = cpu_s();
  account::SiteQuestion q{made.from, made.to, std::move(installed->nodes), std::move(events->outages), {}, {}};
  q.days = day_starts(q.from, q.to, utc);
  const account::SiteAccount a = account_site(runs, q);
  const auto rows = rows_of(runs, a, account::SiteBy::account);
  Summed out;
  out.read_s = read - began;
  out.sum_s = cpu_s() - read;
  out.sum = a.sum;
  out.installed = a.gpus_milli * (made.to.ms() - made.from.ms());
  for (const account::SiteRow& r : rows) {
    const auto it = made.accounts.find(r.name);
    out.owners_exact = out.owners_exact && (r.no_job || (it != made.accounts.end() && it->second == r.sum.allocated()));
  }
  account::SiteSum days;
  for (const account::DaySum& d : a.days) days += d.sum;
  out.days_exact = days == a.sum;
  out.faults_found =
      a.of(account::SiteFault::ends_before_start).count == made.backwards &&
      a.of(account::SiteFault::gpus_unsaid).count == made.unsaid && a.of(account::SiteFault::open_ended).count == made.open &&
      a.of(account::SiteFault::over_capacity).count == 0 && counts->steps == made.steps && runs.counts().same == made.twice;
  return out;
}

Result<void> write_files(const std::string& folder, const trial::MadeSite& made) {
  for (const auto& [name, text] :
       {std::pair{"jobs.txt", &made.sacct}, {"nodes.txt", &made.nodes}, {"events.txt", &made.events}}) {
    if (auto r = write_file(folder + "/" + name, *text); !r) return r;
  }
  return {};
}

std::string as_json(const BenchAccountOptions& o, const trial::MadeSite& made, const Summed& s) {
  JsonWriter w;
  w.object()
      .field("apiVersion", "v1")
      .field("kind", "BenchAccount")
      .field("jobs", o.jobs)
      .field("nodes", o.nodes)
      .field("days", o.days);
  w.field("seed", o.seed)
      .field("rows", made.rows)
      .field("bytes", made.sacct.size())
      .field("read_cpu_s", s.read_s)
      .field("sum_cpu_s", s.sum_s);
  w.field("cpu_s", s.read_s + s.sum_s)
      .field("exact", s.exact(made))
      .field("installed_gpu_hours", account::gpu_hours(s.installed));
  w.key("classes_milli_gpu_ms").object();
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) w.field(names(account::SiteClass{})[i], s.sum.milli_ms[i]);
  w.end_object().end_object();
  return w.take() + "\n";
}

std::string as_text(const BenchAccountOptions& o, const trial::MadeSite& made, const Summed& s) {
  const auto count = [](std::uint64_t n) { return report::render_count(static_cast<std::int64_t>(n)); };
  std::string out = fmt::format("{} rows of {} jobs, {:.1f} MB: read in {:.2f} CPU-seconds, summed in {:.2f}, together {:.2f}.\n",
                                count(made.rows), count(o.jobs), static_cast<double>(made.sacct.size()) / 1e6, s.read_s, s.sum_s,
                                s.read_s + s.sum_s);
  out += fmt::format("{} GPU-hours of {} nodes: ", report::render_decimal(account::gpu_hours(s.installed), 0), o.nodes);
  out += s.exact(made) ? "every class, account and day is exact to the millisecond.\n" : "NOT what was put in.\n";
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) {
    if (s.sum.milli_ms[i] == 0 && made.sum.milli_ms[i] == 0) continue;
    out += fmt::format(
        "  {:<16} {:>14}{}\n", names(account::SiteClass{})[i], report::render_decimal(account::gpu_hours(s.sum.milli_ms[i]), 1),
        s.sum.milli_ms[i] == made.sum.milli_ms[i]
            ? ""
            : fmt::format("  (should be {})", report::render_decimal(account::gpu_hours(made.sum.milli_ms[i]), 1)));
  }
  return out;
}

}  // namespace

int run_bench_account(const BenchAccountOptions& o) {
  const trial::MadeSite made = trial::make_site(o.seed, {o.jobs, o.nodes, o.days});
  if (!o.write.empty()) {
    if (const auto r = write_files(o.write, made); !r) return say_error(r.error());
  }
  const auto s = account_for(made);
  if (!s) return say_error(s.error());
  put(o.format == report::Format::json ? as_json(o, made, *s) : as_text(o, made, *s));
  return s->exact(made) ? finish_output() : 1;
}

}  // namespace muster::cmd
