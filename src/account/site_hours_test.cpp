#include "account/site_hours.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "base/prng.h"

namespace muster::account {
namespace {

constexpr std::int64_t kHourOfGpu = 3'600'000'000;  // thousandths of GPU-milliseconds
constexpr Time kStart{1'767'225'600'000'000'000};   // 2026-01-01

Time at_h(double h) { return kStart + from_seconds(h * 3600); }

JobRecord job(std::uint64_t number, double start_h, double end_h, std::int64_t gpus, const std::string& nodes) {
  JobRecord r;
  r.id.number = number;
  r.user = "ada";
  r.account = "physics";
  r.partition = "gpu";
  r.gpus_milli = gpus * kGpuThousandths;
  r.node_list = nodes;
  r.state = RecordState::completed;
  r.submitted = r.eligible = r.started = at_h(start_h);
  r.ended = at_h(end_h);
  return r;
}

std::vector<Time> days_from(Time from, int n) {
  std::vector<Time> out;
  for (int i = 0; i <= n; ++i) out.push_back(from + days(i));
  return out;
}

SiteQuestion one_day(int nodes, std::int64_t gpus) {
  SiteQuestion q{kStart, at_h(24), {}, {}, {}, days_from(kStart, 1)};
  for (int i = 1; i <= nodes; ++i) q.nodes.push_back({"n" + std::to_string(i), "h200", gpus * kGpuThousandths});
  return q;
}

SiteAccount account(const std::vector<JobRecord>& jobs, const SiteQuestion& q, SiteRuns* keep = nullptr) {
  SiteRuns own;
  SiteRuns& runs = keep != nullptr ? *keep : own;
  for (const JobRecord& j : jobs) runs.take(j);
  return account_site(runs, q);
}

std::int64_t hours_of(const SiteAccount& a, SiteClass c) { return a.sum[c] / kHourOfGpu; }

TEST(SiteHours, a_site_without_jobs_is_idle_and_nobody_waits) {
  const SiteAccount a = account({}, one_day(2, 8));
  EXPECT_EQ(a.sum.installed(), 2 * 8 * 24 * kHourOfGpu);
  EXPECT_EQ(hours_of(a, SiteClass::idle_no_demand), 384);
  EXPECT_EQ(a.sum.efficiency(), -1);
}

TEST(SiteHours, what_a_job_had_and_nobody_measured_is_unseen) {
  const SiteAccount a = account({job(1, 2, 5, 12, "n[1-2]")}, one_day(2, 8));
  EXPECT_EQ(hours_of(a, SiteClass::unseen), 36);
  EXPECT_EQ(hours_of(a, SiteClass::idle_no_demand), 384 - 36);
  EXPECT_EQ(a.sum.efficiency(), -1) << "nothing is known of what was done";
}

TEST(SiteHours, idle_gpus_are_wanted_as_far_as_somebody_waits_for_them) {
  JobRecord waits = job(2, 6, 7, 10, "n[1-2]");
  waits.eligible = at_h(2);
  const SiteAccount a = account({job(1, 0, 6, 8, "n1"), waits}, one_day(2, 8));
  EXPECT_EQ(hours_of(a, SiteClass::idle_fragmented), 8 * 4) << "eight were free while ten were waited for";
  EXPECT_EQ(a.sum.installed(), 384 * kHourOfGpu);
}

TEST(SiteHours, who_names_a_type_waits_for_that_one_alone) {
  SiteQuestion q = one_day(1, 8);
  q.nodes.push_back({"m1", "l4", 4000});
  JobRecord waits = job(2, 10, 11, 8, "n1");
  waits.gpu_type = "h200";
  waits.eligible = at_h(0);
  const SiteAccount a = account({job(1, 0, 10, 8, "n1"), waits}, q);
  EXPECT_EQ(a.sum[SiteClass::idle_fragmented], 0) << "the idle ones are of another type";
  waits.gpu_type = "";
  EXPECT_EQ(hours_of(account({job(1, 0, 10, 8, "n1"), waits}, q), SiteClass::idle_fragmented), 40);
}

TEST(SiteHours, a_job_that_never_began_waits_until_it_was_cancelled) {
  JobRecord gone = job(3, 0, 5, 4, "");
  gone.started = {};
  gone.state = RecordState::cancelled;
  gone.id.array_members = 2;
  EXPECT_EQ(hours_of(account({gone}, one_day(1, 8)), SiteClass::idle_fragmented), 8 * 5);
}

TEST(SiteHours, a_node_that_is_down_counts_as_down_whatever_a_row_says) {
  SiteQuestion q = one_day(1, 8);
  q.outages = {{"n1", at_h(4), at_h(10), true, ""}, {"n1", at_h(2), at_h(6), false, ""}, {"n9", at_h(2), at_h(6), true, ""}};
  const SiteAccount a = account({job(1, 0, 5, 6, "n1")}, q);
  EXPECT_EQ(hours_of(a, SiteClass::down), 48);
  EXPECT_EQ(hours_of(a, SiteClass::unseen), 24);
  EXPECT_EQ(hours_of(a, SiteClass::drained), 2 * 2) << "the job had the other six";
  EXPECT_EQ(a.of(SiteFault::claimed_while_down).count, 1U);
  EXPECT_EQ(a.of(SiteFault::claimed_while_down).milli_ms, 6 * kHourOfGpu);
  EXPECT_EQ(a.of(SiteFault::unknown_outage).count, 1U);
  EXPECT_EQ(a.sum.installed(), 192 * kHourOfGpu);
}

TEST(SiteHours, jobs_that_claim_more_than_there_is_are_named_and_a_lost_end_gives_way) {
  JobRecord runaway = job(1, 0, 0, 8, "n1");
  runaway.ended = {};
  runaway.state = RecordState::running;
  SiteRuns runs;
  const SiteAccount a = account({runaway, job(2, 6, 12, 8, "n1")}, one_day(1, 8), &runs);
  EXPECT_EQ(hours_of(a, SiteClass::unseen), 8 * 24);
  EXPECT_EQ(a.of(SiteFault::over_capacity).milli_ms, 48 * kHourOfGpu);
  EXPECT_EQ(a.of(SiteFault::over_capacity).some, std::vector<std::string>{"job 1 on n1"});
  EXPECT_EQ(a.run_sums[1].all(), 48 * kHourOfGpu) << "the one whose end is known keeps its own";
  EXPECT_EQ(a.of(SiteFault::open_ended).count, 1U);
}

TEST(SiteHours, what_cannot_be_is_named_and_left_out) {
  JobRecord backwards = job(1, 5, 4, 8, "n1"), unknown_end = job(2, 5, 5, 8, "n1"), nowhere = job(3, 1, 2, 8, "");
  unknown_end.ended = {};
  JobRecord unsaid = job(4, 1, 3, 0, "n1");
  unsaid.gpus_milli.reset();
  const SiteAccount a = account({backwards, unknown_end, nowhere, unsaid, job(5, 1, 2, 8, "n[1-")}, one_day(1, 8));
  EXPECT_EQ(a.of(SiteFault::ends_before_start).count, 1U);
  EXPECT_EQ(a.of(SiteFault::end_unknown).count, 1U);
  EXPECT_EQ(a.of(SiteFault::no_nodes).milli_ms, 8 * kHourOfGpu);
  EXPECT_EQ(a.of(SiteFault::bad_node_list).count, 1U);
  EXPECT_EQ(a.of(SiteFault::gpus_unsaid).node_ms, 2 * 3'600'000);
  EXPECT_EQ(a.unsaid_idle, 16 * kHourOfGpu) << "so much may have been somebody's";
  EXPECT_EQ(hours_of(a, SiteClass::idle_no_demand), 192);
}

TEST(SiteHours, what_is_installed_is_as_jobs_show_it_where_nothing_says) {
  SiteQuestion q = one_day(0, 0);
  const SiteAccount a = account({job(1, 0, 4, 4, "n1"), job(2, 2, 6, 4, "n1"), job(3, 4, 5, 2, "n2")}, q);
  EXPECT_TRUE(a.nodes_shown);
  EXPECT_EQ(a.gpus_milli, 10'000);
  EXPECT_EQ(a.sum.installed(), 240 * kHourOfGpu);
  q = one_day(1, 4);
  const SiteAccount b = account({job(3, 4, 5, 2, "n2")}, q);
  EXPECT_EQ(b.gpus_milli, 6'000);
  EXPECT_EQ(b.of(SiteFault::unknown_node).some, std::vector<std::string>{"n2"});
}

TEST(SiteHours, gpus_that_do_not_part_evenly_go_where_there_is_room) {
  SiteQuestion q = one_day(1, 4);
  q.nodes.push_back({"n2", "h200", 8000});
  const SiteAccount a = account({job(1, 0, 1, 12, "n[1-2]")}, q);
  EXPECT_EQ(hours_of(a, SiteClass::unseen), 12);
  EXPECT_EQ(a.of(SiteFault::uneven).count, 1U);
  EXPECT_EQ(a.of(SiteFault::over_capacity).count, 0U);
}

TEST(SiteHours, what_is_held_idle_is_the_least_that_it_can_have_been) {
  SiteQuestion q = one_day(1, 8);
  // Eight are measured, five of them idle: a job with four may have had those that were at work, one with seven held four idle.
  q.activity = {{"n1.site.example:9400", {{at_h(0), at_h(2), 8000, 5000}, {at_h(2), at_h(3), 6000, 5000}}}};
  SiteRuns runs;
  const SiteAccount a = account({job(1, 0, 1, 2, "n1"), job(2, 1, 4, 7, "n1")}, q, &runs);
  EXPECT_EQ(a.run_sums[0].useful, 2 * kHourOfGpu);
  EXPECT_EQ(a.of(SiteFault::busy_unallocated).milli_ms, 1 * kHourOfGpu) << "three were at work, and two were anybody's";
  EXPECT_EQ(a.run_sums[1].held_idle, (4 + 4) * kHourOfGpu);
  EXPECT_EQ(a.run_sums[1].useful, (3 + 1) * kHourOfGpu);
  EXPECT_EQ(a.run_sums[1].unseen, (2 + 7) * kHourOfGpu) << "the hour nobody measured, and two GPUs the hour before";
  EXPECT_DOUBLE_EQ(a.sum.efficiency(), 6.0 / 14);
}

TEST(SiteHours, rows_sum_to_the_site_whatever_they_are_by) {
  JobRecord other = job(2, 2, 6, 4, "n1");
  other.account = "";
  other.user = "bob";
  other.energy_j = 3'600'000;
  SiteRuns runs;
  const SiteAccount a = account({job(1, 0, 4, 4, "n1"), other}, one_day(2, 8), &runs);
  for (const SiteBy by : {SiteBy::account, SiteBy::partition, SiteBy::user, SiteBy::gpu_type, SiteBy::job, SiteBy::day}) {
    SiteSum sum;
    for (const SiteRow& r : rows_of(runs, a, by)) sum += r.sum;
    EXPECT_EQ(sum, a.sum) << names(by)[static_cast<std::size_t>(by)];
  }
  const auto users = rows_of(runs, a, SiteBy::user);
  ASSERT_EQ(users.size(), 3U);
  EXPECT_EQ(users[1].energy_runs, 1U);
  EXPECT_TRUE(users[2].no_job);
}

TEST(SiteHours, rows_of_one_run_count_once_and_the_one_that_knows_its_end_counts) {
  JobRecord first = job(1, 0, 0, 8, "n1");
  first.state = RecordState::running;
  first.ended = {};
  SiteRuns runs;
  const SiteAccount a =
      account({first, job(1, 0, 3, 8, "n1"), job(1, 0, 3, 8, "n1"), first, job(1, 5, 6, 8, "n1")}, one_day(1, 8), &runs);
  EXPECT_EQ(runs.counts().same, 1U);
  EXPECT_EQ(runs.counts().newer, 2U);
  EXPECT_EQ(hours_of(a, SiteClass::unseen), 8 * 4) << "the second run of the job is another one";
}

TEST(SiteHours, a_streak_ends_on_a_day_that_nothing_is_known_of) {
  std::vector<DaySum> days(5);
  for (DaySum& d : days) {
    d.whole = true;
    d.sum[SiteClass::useful] = 95;
    d.sum[SiteClass::held_idle] = 5;
  }
  EXPECT_EQ(streak_of(days, 0.94).days, 5U);
  days[1].sum = {};
  EXPECT_EQ(streak_of(days, 0.94).days, 3U);
  days[4].whole = false;
  EXPECT_EQ(streak_of(days, 0.94).days, 2U) << "a day that is cut is no day";
  days[3].sum[SiteClass::held_idle] = 7;
  EXPECT_EQ(streak_of(days, 0.94).days, 0U);
}

// The same by looking at every second anew.
struct Oracle {
  const std::vector<JobRecord>& jobs;
  const SiteQuestion& q;
  SiteSum sum;
  std::map<std::string, std::int64_t> users;  // allocated

  void second(std::int64_t s) {
    const Time now{kStart.ns + s * 1'000'000'000};
    std::int64_t idle = 0, wanted = 0;
    for (const JobRecord& j : jobs) {
      const Time until = j.started.ns != 0 ? j.started : j.ended.ns != 0 ? j.ended : q.to;
      if (j.eligible.ns != 0 && j.eligible <= now && now < until) wanted += *j.gpus_milli;
    }
    for (const InstalledNode& n : q.nodes) {
      bool down = false, drained = false;
      for (const NodeOutage& o : q.outages) {
        if (o.node != n.name || now < o.from || (o.to.ns != 0 && now >= o.to)) continue;
        (o.down ? down : drained) = true;
      }
      if (down) {
        sum[SiteClass::down] += n.gpus_milli * 1000;
        continue;
      }
      std::vector<const JobRecord*> here;
      for (const JobRecord& j : jobs) {
        if (j.node_list == n.name && j.started.ns != 0 && j.started <= now && (j.ended.ns == 0 || now < j.ended))
          here.push_back(&j);
      }
      std::sort(here.begin(), here.end(), [](const JobRecord* a, const JobRecord* b) {
        if ((a->ended.ns == 0) != (b->ended.ns == 0)) return b->ended.ns == 0;
        if (a->started != b->started) return a->ended.ns == 0 ? a->started > b->started : a->started < b->started;
        return a < b;
      });
      std::int64_t used = 0;
      for (const JobRecord* j : here) {
        const std::int64_t gets = std::min(*j->gpus_milli, n.gpus_milli - used);
        used += gets;
        users[j->user] += gets * 1000;
      }
      std::int64_t measured = 0, busy = 0;
      for (const NodeActivity& a : q.activity) {
        for (const ActivitySlice& x : a.slices) {
          if (a.node != n.name || now < x.from || now >= x.to) continue;
          measured = x.measured_milli;
          busy = x.measured_milli - x.idle_milli;
        }
      }
      const std::int64_t held = std::max<std::int64_t>(0, used - busy - (n.gpus_milli - measured));
      const std::int64_t unseen = std::min(used - held, n.gpus_milli - measured);
      sum[SiteClass::held_idle] += held * 1000;
      sum[SiteClass::unseen] += unseen * 1000;
      sum[SiteClass::useful] += (used - held - unseen) * 1000;
      if (drained) sum[SiteClass::drained] += (n.gpus_milli - used) * 1000;
      if (!drained) idle += n.gpus_milli - used;
    }
    const std::int64_t missed = std::min(idle, wanted);
    sum[SiteClass::idle_fragmented] += missed * 1000;
    sum[SiteClass::idle_no_demand] += (idle - missed) * 1000;
  }
};

struct Made {
  std::vector<JobRecord> jobs;
  SiteQuestion q;
};

constexpr std::int64_t kSeconds = 900;

Made make(std::uint64_t seed) {
  Prng r(seed, "site");
  Made m{{}, {kStart, kStart + seconds(kSeconds), {}, {}, {}, {kStart, kStart + seconds(311), kStart + seconds(kSeconds)}}};
  const auto when = [&] { return kStart + seconds(static_cast<std::int64_t>(r.below(kSeconds + 200)) - 100); };
  const std::uint64_t nodes = 1 + r.below(3);
  const auto node = [&] { return "n" + std::to_string(r.below(nodes)); };
  for (std::uint64_t i = 0; i < nodes; ++i)
    m.q.nodes.push_back({"n" + std::to_string(i), "", static_cast<std::int64_t>(1 + r.below(8)) * 500});
  for (std::uint64_t i = 0, n = r.below(14); i < n; ++i) {
    JobRecord j = job(i + 1, 0, 0, 1, node());
    j.gpus_milli = static_cast<std::int64_t>(r.below(7)) * 500;
    j.submitted = {};
    j.user = std::string(1, static_cast<char>('a' + r.below(3)));
    j.started = when();
    j.eligible = j.started - seconds(static_cast<std::int64_t>(r.below(200)));
    j.ended = j.started + seconds(static_cast<std::int64_t>(r.below(400)));
    const std::uint64_t kind = r.below(8);
    if (kind == 0) {
      j.ended = {};
      j.state = RecordState::running;
    } else if (kind == 1) {
      j.started = {};
      j.state = RecordState::cancelled;
    } else if (kind == 2) {
      j.eligible = {};
    }
    m.jobs.push_back(j);
  }
  for (std::uint64_t i = 0, n = r.below(4); i < n; ++i) {
    const Time from = when();
    const Time to = r.chance(0.3) ? Time{} : from + seconds(static_cast<std::int64_t>(r.below(300)));
    const std::string where = node();
    m.q.outages.push_back({where, from, to, r.chance(0.5), ""});
  }
  for (std::uint64_t i = 0; i < nodes && r.chance(0.7); ++i) {
    NodeActivity a{"n" + std::to_string(i), {}};
    const std::int64_t all = m.q.nodes[i].gpus_milli;
    for (std::int64_t s = -50; s < kSeconds + 50; s += 60) {
      if (r.chance(0.2)) continue;
      const auto measured = static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(all) / 500 + 1)) * 500;
      const auto idle = static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(measured) / 500 + 1)) * 500;
      a.slices.push_back({kStart + seconds(s), kStart + seconds(s + 60), measured, idle});
    }
    m.q.activity.push_back(a);
  }
  return m;
}

TEST(SiteHours, are_those_of_looking_at_every_second) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Made m = make(seed);
    SiteRuns runs;
    const SiteAccount a = account(m.jobs, m.q, &runs);
    Oracle o{m.jobs, m.q, {}, {}};
    for (std::int64_t s = 0; s < kSeconds; ++s) o.second(s);
    ASSERT_EQ(a.sum, o.sum) << "seed " << seed;
    ASSERT_EQ(a.sum.installed(), a.gpus_milli * kSeconds * 1000) << "seed " << seed;
    SiteSum days, types, users;
    for (const DaySum& d : a.days) days += d.sum;
    for (const SiteRow& t : a.types) types += t.sum;
    for (const SiteRow& u : rows_of(runs, a, SiteBy::user)) {
      users += u.sum;
      if (u.no_job) continue;
      ASSERT_EQ(u.sum.installed(), o.users[u.name]) << "seed " << seed << " user " << u.name;
    }
    ASSERT_EQ(days, a.sum) << "seed " << seed;
    ASSERT_EQ(types, a.sum) << "seed " << seed;
    ASSERT_EQ(users, a.sum) << "seed " << seed;
  }
}

TEST(SiteHours, a_run_without_a_start_is_named_with_what_it_had) {
  JobRecord lost = job(1, 0, 0, 8, "n1"), waited = lost, before = lost;
  lost.started = lost.ended = Time{};
  lost.ran = hours(3);
  waited.id.number = 2;
  waited.started = Time{};
  waited.ended = at_h(2);
  waited.state = RecordState::cancelled;
  before.id.number = 3;
  before.started = Time{};
  before.ended = kStart - hours(1);
  const SiteAccount a = account({lost, waited, before}, one_day(1, 8));
  EXPECT_EQ(a.of(SiteFault::start_unknown).count, 1U) << "who left the queue had nothing, and who ended before has nothing here";
  EXPECT_EQ(a.of(SiteFault::start_unknown).milli_ms, 24 * kHourOfGpu);
  EXPECT_EQ(a.sum.allocated(), 0);
  EXPECT_EQ(a.sum.installed(), 8 * 24 * kHourOfGpu);
}

TEST(SiteHours, a_node_list_that_names_other_nodes_than_were_had_is_named) {
  JobRecord j = job(1, 1, 3, 8, "n1");
  j.nodes = 4;
  const SiteAccount a = account({j, job(2, 3, 4, 8, "n1")}, one_day(2, 8));
  EXPECT_EQ(a.of(SiteFault::nodes_differ).count, 1U);
  EXPECT_EQ(a.of(SiteFault::nodes_differ).milli_ms, 16 * kHourOfGpu);
  EXPECT_EQ(a.sum.allocated(), 24 * kHourOfGpu) << "it counts all the same";
}

TEST(SiteRuns, what_a_row_that_does_not_count_said_is_kept) {
  SiteRuns runs;
  JobRecord j = job(1, 1, 3, 8, "n1");
  runs.take(j);
  j.node_list = "n2";
  runs.take(j);
  EXPECT_EQ(runs.counts().different, 1U);
  EXPECT_EQ(runs.counts().replaced_milli_ms, 16 * kHourOfGpu);
  EXPECT_EQ(runs.counts().some_different, "1");
}

}  // namespace
}  // namespace muster::account
