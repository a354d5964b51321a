#include "trial/llama3.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/prng.h"
#include "base/text.h"
#include "control/loop.h"
#include "ingest/csv.h"
#include "predict/checkpoint.h"
#include "trial/checker.h"
#include "trial/score.h"
#include "twin/twin.h"

namespace muster::trial {
namespace {

constexpr double kHour_s = 3600, kDay_s = 86'400;
constexpr double kNodeWriteGbs = 8;  // as the twin's nodes

// Of the job: the site's share of the published GPUs, with the programs' own failures, which do not grow with it.
double failures_per_s(const Llama3Options& o) {
  double rate = 0;
  for (const PublishedCause& c : o.causes) {
    const double share = c.kind == twin::FaultKind::app_bug ? 1 : static_cast<double>(o.site.gpus()) / kPublishedGpus;
    rate += c.count * share / (kPublishedDays * kDay_s);
  }
  return rate * o.weather;
}

double write_s(const Site& site, const Llama3Setting& s) {
  const double gbs = std::min(site.storage_write_gbs, kNodeWriteGbs * static_cast<double>(site.nodes.size()));
  return gbs > 0 ? s.checkpoint_gb / gbs : 0;
}

predict::CheckpointAsk ask_of(const Llama3Options& o, double recover_s, bool with_write) {
  return {failures_per_s(o), o.setting.stall_s, recover_s, with_write ? write_s(o.site, o.setting) : 0};
}

// In whole steps, as the twin takes them.
double interval_s(const Llama3Options& o) {
  const Llama3Setting& s = o.setting;
  const double wanted =
      s.checkpoint_every_s > 0 ? s.checkpoint_every_s : predict::young_daly(ask_of(o, s.stated_recover_s, true)).interval_s;
  return std::max(1.0, std::floor(wanted / s.step_s)) * s.step_s;
}

void add_spares(Site& site, std::uint32_t spares) {
  constexpr std::uint32_t kPerRack = 4;
  const std::uint32_t leaf = site.leaves++;  // a leaf of their own
  for (std::uint32_t i = 0; i < spares; ++i) {
    if (i % kPerRack == 0) site.racks.push_back(fmt::format("spare{}", i / kPerRack + 1));
    NodeSpec n;
    n.name = fmt::format("spare{:04}", i + 1);
    n.rack = static_cast<std::uint32_t>(site.racks.size() - 1);
    n.leaf = leaf;
    n.pod = site.pods > 0 ? site.pods - 1 : 0;
    n.domain = site.domains++;
    site.nodes.push_back(std::move(n));
  }
}

twin::Config config_of(const Llama3Options& o, std::uint64_t seed) {
  twin::Config c;
  c.site = o.site;
  add_spares(c.site, o.setting.spares);
  c.seed = seed;
  c.report_every = from_seconds(o.setting.report_every_s);
  c.gauges = o.setting.gauges;
  c.weather.factor = o.weather;
  for (const PublishedCause& p : o.causes) {
    const double hours = kPublishedDays * 24;
    const double rate = p.kind == twin::FaultKind::app_bug ? p.count / hours : p.count / (hours * kPublishedGpus);
    c.weather.rates.push_back({p.kind, rate, p.component});
  }
  TimedJob job;
  job.spec.name = "llama3-405b";
  job.spec.user = job.spec.account = "llama";
  job.spec.nodes = static_cast<std::uint32_t>(o.site.nodes.size());
  job.spec.step_s = o.setting.step_s;
  job.spec.steps = static_cast<std::uint64_t>(10 * o.days * kDay_s / o.setting.step_s) + 1;  // it does not come to its end
  job.spec.init_s = o.setting.restart_s;
  job.spec.checkpoint_every_s = interval_s(o);
  job.spec.checkpoint_gb = o.setting.checkpoint_gb;
  job.spec.checkpoint_stall_s = o.setting.stall_s;
  c.workload.mix.clear();
  c.workload.load = 0;
  c.workload.jobs.push_back(job);
  return c;
}

// People at the controller's switch: they pause it when the job has failed, and let it go on when they have looked.
class Attended final : public Observatory {
 public:
  Attended(twin::Twin& twin, const Crew& crew, std::uint64_t seed, double days) : twin_(twin), crew_(crew) {
    Prng prng(seed, "crew");
    for (std::uint32_t i = 0; i < crew.severe; ++i) severe_.push_back(twin.now().utc + from_seconds(prng.unit() * days * kDay_s));
    std::sort(severe_.begin(), severe_.end());
  }
  void poll(Inbox& out) override {
    const std::size_t before = out.events.size();
    twin_.poll(out);
    if (crew_.handling_s <= 0 && crew_.severe == 0) return;
    const Now now = twin_.now();
    bool failed = false;
    for (std::size_t i = before; i < out.events.size(); ++i) {
      const auto* e = std::get_if<JobEnded>(&out.events[i].body);
      failed = failed || (e != nullptr && (e->end == JobEnd::node_failed || e->end == JobEnd::app_failed));
    }
    if (failed) {
      Duration look = from_seconds(crew_.handling_s);
      if (!severe_.empty() && severe_.front() <= now.utc) {
        severe_.erase(severe_.begin());
        look = from_seconds(crew_.severe_h * kHour_s);
      }
      if (resume_at_ == kNever) say(CommandVerb::pause, out, now);
      resume_at_ = now.steady + look;
    }
    if (now.steady >= resume_at_) {
      say(CommandVerb::resume, out, now);
      resume_at_ = kNever;
    }
  }
  void wait(Time until) override { twin_.wait(std::min(until, resume_at_)); }

 private:
  void say(CommandVerb verb, Inbox& out, const Now& now) {
    CommandGiven c;
    c.verb = verb;
    c.actor = "crew";
    c.id = fmt::format("crew-{}", ++said_);
    c.reason = "looking into the failure";
    out.events.push_back({{"", "operator", 0}, now.utc, std::move(c), {}});
  }

  twin::Twin& twin_;
  Crew crew_;
  std::vector<Time> severe_;
  Time resume_at_ = kNever;
  std::uint64_t said_ = 0;
};

struct OneRun {
  Course course;
  std::uint64_t jobs_lost = 0;
  std::uint64_t false_drains = 0;
  double cpu_s = 0;
  std::vector<std::string> violations;
};

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

Result<OneRun> run_one(const Llama3Options& o, std::uint64_t seed, const std::function<void(double)>& progress) {
  const double cpu_before = thread_cpu_s();
  const twin::Config config = config_of(o, seed);
  twin::Twin twin(config);
  Attended attended(twin, o.setting.crew, seed, o.days);
  const std::unique_ptr<Journal> journal = o.make_journal();
  control::LoopConfig lc;
  lc.site = config.site;
  lc.policy = o.policy;
  lc.journal_id = fmt::format("llama{:x}", seed);
  lc.snapshot_every = 0;
  auto loop = control::Loop::start(twin, attended, twin, *journal, lc);
  if (!loop) return tl::unexpected(loop.error());
  Checker checker(config.site, o.policy);
  Score score;
  CourseWatch watch;
  (*loop)->on_event = [&](const Event& e) {
    checker.on_event(e, (*loop)->state());
    score.on_event(e, (*loop)->state());
    watch.on_event(e, (*loop)->state());
  };
  const Time begin = twin.now().utc;
  const Time end = begin + from_seconds(o.days * kDay_s);
  double told = 0;
  while (twin.now().utc < end) {
    const auto turn = (*loop)->turn();
    if (!turn) return tl::unexpected(turn.error());
    attended.wait(std::min(turn->wake_at, turn->now.steady + (end - turn->now.utc)));
    const double share = (twin.now().utc - begin).seconds() / (end - begin).seconds();
    if (share >= told + 0.02) progress(share - told), told = share;
  }
  const State& s = (*loop)->state();
  OneRun out;
  out.course = watch.course(twin.faults(), begin, end);
  out.jobs_lost = s.totals.jobs_failed;
  out.false_drains = score.marks(twin.faults(), s, end, hours(1)).false_alarms;
  out.violations = checker.violations();
  out.cpu_s = thread_cpu_s() - cpu_before;
  return out;
}

double quantile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(p * static_cast<double>(sorted.size())))];
}

// Student's t for a two-sided 95 % interval, by the expansion around the normal (Abramowitz and Stegun 26.7.5): within 0.1 % from
// 4 degrees of freedom on.
double student_t(std::size_t freedom) {
  constexpr double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  constexpr std::array<double, 3> few = {12.706, 4.303, 3.182};
  if (freedom <= few.size()) return few[freedom - 1];
  const auto v = static_cast<double>(freedom);
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

void add_breakdown(const std::vector<OneRun>& runs, Llama3Report& r) {
  double wall = 0;
  std::array<double, kParts> part{};
  std::map<twin::FaultKind, CauseShare> by_cause;
  std::vector<double> effective, counts;
  for (const OneRun& run : runs) {
    const Course& c = run.course;
    wall += c.wall_s;
    r.useful_pct += c.useful_s;
    r.stall_pct += c.stall_s;
    r.first_start_pct += c.first_start_s;
    effective.push_back(100 * c.useful_s / c.wall_s);
    counts.push_back(static_cast<double>(c.interruptions.size()));
    for (const Interruption& i : c.interruptions) {
      r.lost_pct += i.lost_s;
      CauseShare& x = by_cause[i.cause];
      x.kind = i.cause;
      ++x.count;
      x.down_pct += i.recover_s();
      x.lost_pct += i.lost_s;
      for (std::size_t p = 0; p < kParts; ++p) part[p] += i.part[p];
    }
    r.jobs_lost += run.jobs_lost;
    r.false_drains += run.false_drains;
    r.cpu_s += run.cpu_s / static_cast<double>(runs.size());
    r.violations.insert(r.violations.end(), run.violations.begin(), run.violations.end());
  }
  const double pct = 100 / wall;
  for (double* x : {&r.useful_pct, &r.stall_pct, &r.first_start_pct, &r.lost_pct}) *x *= pct;
  for (std::size_t p = 0; p < kParts; ++p) r.part_pct[p] = part[p] * pct;
  for (auto& [kind, x] : by_cause) {
    x.recover_mean_s = x.down_pct / static_cast<double>(x.count);
    x.down_pct *= pct;
    x.lost_pct *= pct;
    r.causes.push_back(x);
  }
  std::sort(r.causes.begin(), r.causes.end(), [](const CauseShare& a, const CauseShare& b) { return a.count > b.count; });
  r.effective_pct = mean_of(effective);
  r.interruptions = mean_of(counts);
}

void add_recovery(const std::vector<OneRun>& runs, Llama3Report& r) {
  std::vector<double> with_spare;
  double all = 0;
  std::size_t n = 0;
  for (const OneRun& run : runs) {
    for (const Interruption& i : run.course.interruptions) {
      if (!i.over) continue;
      ++n;
      all += i.recover_s();
      r.in_vain += i.attempts > 1 ? 1 : 0;
      r.without_spare += i.spare ? 0 : 1;
      if (!i.spare) continue;
      with_spare.push_back(i.recover_s());
      for (std::size_t p = 0; p < kParts; ++p) r.part_mean_s[p] += i.part[p];
    }
  }
  std::sort(with_spare.begin(), with_spare.end());
  if (n > 0) r.recover_all_mean_s = all / static_cast<double>(n);
  if (with_spare.empty()) return;
  const auto m = static_cast<double>(with_spare.size());
  for (double& p : r.part_mean_s) p /= m;
  r.recover_mean_s = std::accumulate(with_spare.begin(), with_spare.end(), 0.0) / m;
  r.recover_p50_s = quantile(with_spare, 0.5);
  r.recover_p99_s = quantile(with_spare, 0.99);
  r.recover_max_s = with_spare.back();
}

struct Shared {
  std::mutex lock;
  std::atomic<std::uint64_t> next{0};
  double done = 0;
  std::optional<Error> error;
};

void work(const Llama3Options& o, std::vector<OneRun>& runs, Shared& shared) {
  for (;;) {
    const std::uint64_t k = shared.next++;
    if (k >= o.seeds) return;
    auto r = run_one(o, o.first_seed + k, [&](double more) {
      const std::lock_guard hold(shared.lock);
      shared.done += more / static_cast<double>(o.seeds);
      if (o.progress) o.progress(std::min(shared.done, 1.0));
    });
    const std::lock_guard hold(shared.lock);
    if (!r) {
      shared.error = r.error();
      return;
    }
    runs[k] = std::move(*r);
  }
}

}  // namespace

Result<std::vector<PublishedCause>> parse_published(std::string_view text, std::string_view where) {
  auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  const auto bad = [&](int line, const std::string& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", where, line, why));
  };
  if (csv->header != std::vector<std::string>{"component", "count", "kind", "note"}) {
    return bad(1, "the columns must be component,count,kind,note");
  }
  std::vector<PublishedCause> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    PublishedCause c;
    c.component = csv->rows[i][0];
    const auto count = parse_uint(csv->rows[i][1]);
    if (!count || *count == 0 || *count > 1'000'000) return bad(csv->lines[i], "count must be a whole number from 1 to 1000000");
    c.count = static_cast<std::uint32_t>(*count);
    if (!parse_name(csv->rows[i][2], c.kind)) {
      return bad(csv->lines[i], fmt::format("no such kind of fault: {}", printable(csv->rows[i][2])));
    }
    out.push_back(std::move(c));
  }
  if (out.empty()) return bad(1, "no interruptions");
  return out;
}

Mean mean_of(const std::vector<double>& v) {
  Mean m;
  if (v.empty()) return m;
  const auto n = static_cast<double>(v.size());
  m.mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  if (v.size() < 2) return m;
  double square = 0;
  for (const double x : v) square += (x - m.mean) * (x - m.mean);
  m.half_width = student_t(v.size() - 1) * std::sqrt(square / (n - 1) / n);
  return m;
}

Result<Llama3Report> bench_llama3(const Llama3Options& o) {
  MUSTER_CHECK(o.seeds > 0 && !o.causes.empty());
  std::vector<OneRun> runs(o.seeds);
  Shared shared;
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < o.threads; ++i) threads.emplace_back([&] { work(o, runs, shared); });
  work(o, runs, shared);
  for (std::thread& t : threads) t.join();
  if (shared.error) return tl::unexpected(*shared.error);
  Llama3Report r;
  r.setting = o.setting;
  r.interval_s = interval_s(o);
  r.write_s = write_s(o.site, o.setting);
  r.days = o.days;
  r.seeds = o.seeds;
  r.expected = failures_per_s(o) * o.days * kDay_s;
  add_breakdown(runs, r);
  add_recovery(runs, r);
  r.optimum_pct = 100 * predict::young_daly(ask_of(o, r.recover_all_mean_s, false)).useful;
  r.optimum_stated_pct = 100 * predict::young_daly(ask_of(o, o.setting.stated_recover_s, false)).useful;
  return r;
}

}  // namespace muster::trial
