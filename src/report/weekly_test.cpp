#include "report/weekly.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "account/job_books.h"
#include "ingest/json.h"
#include "model/story.h"
#include "report/audit.h"
#include "report/goodput.h"
#include "report/units.h"
#include "report/week_story.h"
#include "report/weekly_parts.h"

namespace muster::report {
namespace {

constexpr std::string_view kHostile = "<script>alert('x')</script>|`\"";

// Four nodes for two days: one job that works, one that loses its steps with a GPU, a drain that a limit holds back. The books
// are closed at every quarter of a day.
class WeeklyReport : public ::testing::Test {
 protected:
  WeeklyReport() {
    State past;
    for (Body b : {Body(RunStarted{"test", 1, 1, "j", start}), Body(SiteDeclared{t.s.site}),
                   Body(PolicyApplied{t.s.policy, "hash"}), Body(TurnBegan{1, start})}) {
      const Event e = next_event(past, "test", start.utc, std::move(b));
      fold(past, e);
      hear(e, past);
    }
    t.heard = [this](const Event& e) { hear(e, t.s); };
    close();
  }
  void hear(const Event& e, const State& s) {
    books.take(e, s);
    story.take(e);
    audit.take(e);
  }
  void close() {
    at.push_back(t.now().utc);
    closed.push_back(books.close(t.s, t.s.mono()));
  }
  void quarter() {
    t.pass(hours(6));
    close();
  }
  void eventful_days() {
    JobSpec spec;
    spec.name = std::string(kHostile);
    spec.user = "ada";
    spec.account = "vision";
    spec.queue = std::string(kHostile);
    t.tell(JobSubmitted{{1, 0}, spec});
    t.pass(minutes(10));
    t.tell(JobStarted{{1, 0}, 1, {NodeId{0}}});
    t.tell(JobSubmitted{{2, 0}, spec});
    t.tell(JobStarted{{2, 0}, 1, {NodeId{1}}});
    quarter();
    t.tell(JobProgressed{{1, 0}, 1, {100, 100, 0, 60'000, 0}});
    const IncidentId i = t.open(t.find(FindingKind::gpu_lost, NodeId{1}, 3));
    t.tell(JobEnded{{2, 0}, 1, JobEnd::node_failed, {}, "lost"});
    t.tell(OrderRefused{
        {.verb = Verb::drain_node, .node = NodeId{1}}, {.incident = i}, "harmful acts in the last hour: 6 of 6", {}});
    t.pass(minutes(30));
    t.drained(NodeId{1}, i);
    quarter();
    t.tell(IncidentClosed{i, "rebooted and tested"});
    const IncidentId again = t.open(t.find(FindingKind::gpu_lost, NodeId{1}, 3));
    t.command(CommandVerb::drain, "w1", NodeId{2});
    t.drained(NodeId{2}, {}, "w1");
    quarter();
    quarter();
    static_cast<void>(again);
  }
  Value goodput(std::size_t from, std::size_t to) const {
    Goodput g;
    g.cluster = std::string(kHostile);
    g.from = at[from];
    g.to = at[to];
    g.gpu_hour_price = 2;
    g.stretch = account::difference(closed[from], closed[to]);
    return parse_json(goodput_json(g, GoodputBy::cause)).value();
  }
  // Of the pieces from one closing to another.
  Weekly weekly(std::size_t from, std::size_t to, Duration asked, std::optional<std::size_t> before = {}) const {
    WeeklyAnswers a;
    for (std::size_t k = from; k < to; ++k) a.pieces.push_back(goodput(k, k + 1));
    a.goodput = goodput(from, to);
    a.story = parse_json(story.json(at[from], at[to])).value();
    if (before) {
      a.before = goodput(*before, from);
      a.story_before = parse_json(story.json(at[*before], at[from])).value();
    }
    Chain chain;
    chain.journal = "j";
    chain.events = 7;
    a.audit = parse_json(audit.json(chain)).value();
    a.asked = asked;
    a.record_from = at.front();
    const auto w = weekly_of(a);
    EXPECT_TRUE(w) << w.error().what;
    return w.value();
  }

  Story t{4};
  const Now start = t.now();
  account::JobBooks books;
  WeekStory story;
  AuditStory audit;
  std::vector<Time> at;
  std::vector<account::JobSums> closed;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(WeeklyReport, ClassesPiecesAndCausesSumToWhatIsInstalled) {
  eventful_days();
  const Weekly w = weekly(0, 4, at[4] - at[0]);
  const auto sum = [](const WasteClasses& c) { return std::accumulate(c.begin(), c.end(), std::int64_t{0}); };
  std::int64_t installed = 0;
  for (const Piece& p : w.pieces) {
    EXPECT_EQ(sum(p.classes), p.installed_us);
    installed += p.installed_us;
  }
  EXPECT_EQ(installed, w.all.installed_us);
  EXPECT_EQ(sum(w.all.classes), w.all.installed_us);
  EXPECT_EQ(w.all.installed_us, (at[4] - at[0]).ns / 1000 * 32);
  std::int64_t causes = 0;
  for (const CauseShare& c : w.all.causes) causes += c.gpu_us;
  EXPECT_EQ(causes, w.all.lost_us() + w.all.of(Waste::idle)) << "each hour that was not useful has a cause";
  EXPECT_GT(w.all.of_cause("gpu_lost"), 0);
}

TEST_F(WeeklyReport, AnIncidentIsToldWithItsCostAndWhoDidWhat) {
  eventful_days();
  const Weekly w = weekly(0, 4, at[4] - at[0]);
  ASSERT_EQ(w.incidents.size(), 2U);
  const WeeklyIncident& i = w.incidents[0].id == 1 ? w.incidents[0] : w.incidents[1];
  EXPECT_EQ(i.where, "n1, GPU 3");
  EXPECT_EQ(i.attempts_lost, 1U);
  EXPECT_GT(i.gpu_h, 8 * 5.0) << "six hours of eight GPUs without a checkpoint";
  EXPECT_EQ(i.outcome, "rebooted and tested");
  EXPECT_TRUE(has(i.done_by, "Muster: drain_node")) << i.done_by;
  EXPECT_EQ(w.reliability.incidents, 2U);
  EXPECT_EQ(w.reliability.interruptions, 1U);
  ASSERT_EQ(w.lemons.size(), 1U);
  EXPECT_EQ(w.lemons[0].node, "n1");
  ASSERT_EQ(w.held_back.size(), 1U);
  EXPECT_EQ(w.held_back[0].limit, "harmful acts in the last hour: N of N");
  ASSERT_EQ(w.queues.size(), 1U);
  EXPECT_EQ(w.queues[0].starts, 2U);
  EXPECT_EQ(w.queues[0].median_s, 0);
  EXPECT_EQ(w.queues[0].p95_s, 600);
}

TEST_F(WeeklyReport, WhatPeopleDidIsApartFromWhatMusterDidByItself) {
  eventful_days();
  const Weekly w = weekly(0, 4, at[4] - at[0]);
  std::uint64_t own = 0, persons = 0;
  for (const WeeklyAct& a : w.acts) {
    if (a.verb != "drain_node") continue;
    (a.who == "muster" ? own : persons) += a.done;
  }
  EXPECT_EQ(own, 1U);
  EXPECT_EQ(persons, 1U);
  ASSERT_EQ(w.words.size(), 2U) << "the policy and the drain";
  EXPECT_EQ(w.words[0].who, "ada");
}

TEST_F(WeeklyReport, NamesStayText) {
  eventful_days();
  const Weekly w = weekly(0, 4, at[4] - at[0]);
  const std::string page = weekly_page(w);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
  EXPECT_FALSE(has(page, "http://"));
  EXPECT_FALSE(has(page, "https://"));
  EXPECT_FALSE(has(page, "src="));
  const std::string markdown = weekly_markdown(w);
  EXPECT_TRUE(has(markdown, "\\<script\\>"));
  EXPECT_FALSE(has(markdown, "<script>"));
  EXPECT_EQ(text_of(parse_json(weekly_json(w)).value(), "cluster"), kHostile);
}

TEST_F(WeeklyReport, CommandsAreCodeOnThePageAndInMarkdown) {
  eventful_days();
  const Weekly w = weekly(0, 4, at[4] - at[0]);
  EXPECT_TRUE(has(weekly_page(w), "<code>muster incident ID</code>"));
  EXPECT_FALSE(has(weekly_page(w), "`muster incident ID`"));
  EXPECT_TRUE(has(weekly_markdown(w), "\n`muster incident ID` is the whole"));
  EXPECT_FALSE(has(weekly_markdown(w), "\\`muster"));
}

TEST_F(WeeklyReport, BarsOfHoursAreCalledSoAndNoTwoHaveTheSameLabel) {
  eventful_days();
  Weekly w = weekly(0, 4, at[4] - at[0]);
  EXPECT_EQ(days_section(w).title, "Hour by hour");
  EXPECT_TRUE(has(weekly_page(w), "hour by hour\""));
  // The first is the rest of a day on which the second begins as well.
  for (Piece& p : w.pieces) p.to = p.from + days(1);
  EXPECT_EQ(days_section(w).title, "Day by day");
  std::set<std::string> labels;
  for (const Piece& p : w.pieces) labels.insert(piece_label(w, p));
  EXPECT_EQ(labels.size(), w.pieces.size());
}

TEST_F(WeeklyReport, ATelephoneHasDrawingsOfItsOwn) {
  eventful_days();
  const std::string page = weekly_page(weekly(0, 4, at[4] - at[0]));
  for (const char* id : {"id=\"fall\"", "id=\"fall_narrow\"", "id=\"trend\"", "id=\"trend_narrow\""})
    EXPECT_TRUE(has(page, id)) << id;
  EXPECT_TRUE(has(page, "viewBox=\"0 0 380 ")) << "letters of 13 in it are read on 400 pixels";
}

TEST_F(WeeklyReport, TheStretchBeforeIsComparedWith) {
  eventful_days();
  const Weekly w = weekly(2, 4, at[4] - at[2], 0);
  ASSERT_TRUE(w.before && w.reliability_before);
  EXPECT_TRUE(has(headline_of(w)[0], "than in the stretch before")) << headline_of(w)[0];
  EXPECT_EQ(w.reliability_before->incidents, 1U);
  EXPECT_EQ(w.reliability.incidents, 1U);
  EXPECT_FALSE(w.is_short());
  const auto carried = std::count_if(w.incidents.begin(), w.incidents.end(), [](const auto& i) { return i.carried; });
  EXPECT_EQ(carried, 1) << "the first was closed after this stretch began";
}

TEST_F(WeeklyReport, ARecordThatIsTooShortIsSaidAndComparedWithNothing) {
  eventful_days();
  const Weekly w = weekly(0, 4, days(7));
  EXPECT_TRUE(w.is_short());
  EXPECT_FALSE(w.before.has_value());
  const std::string page = weekly_page(w);
  EXPECT_TRUE(has(page, "The record begins at"));
  EXPECT_FALSE(has(page, "before</small>"));
}

TEST_F(WeeklyReport, AWeekInWhichNothingHappenedIsAReportToo) {
  quarter();
  const Weekly w = weekly(0, 1, hours(6));
  EXPECT_TRUE(w.incidents.empty());
  EXPECT_EQ(w.all.of(Waste::idle), w.all.installed_us);
  const std::string page = weekly_page(w);
  EXPECT_TRUE(has(page, "No incident was open in this time."));
  EXPECT_TRUE(has(page, "Nothing was done."));
  EXPECT_TRUE(advice_of(w).empty());
}

TEST_F(WeeklyReport, EveryCauseThatCostsHasWordsAndAdvice) {
  eventful_days();
  const auto advice = advice_of(weekly(0, 4, at[4] - at[0]));
  ASSERT_FALSE(advice.empty());
  EXPECT_LE(advice.size(), 3U);
  for (const Advice& a : advice) {
    EXPECT_NE(a.words, a.cause);
    EXPECT_GT(a.what_to_do.size(), 10U);
    EXPECT_NE(a.cause, "idle");
  }
  for (const std::string_view end : names(JobEnd{})) EXPECT_NE(cause_words(end), end) << end;
  for (int why = 0; why <= static_cast<int>(account::Why::unknown); ++why) {
    const auto name = account::name_of({static_cast<account::Why>(why), 0});
    EXPECT_NE(cause_words(name), "") << name;
  }
}

TEST_F(WeeklyReport, MarkdownAndJsonTellTheSame) {
  eventful_days();
  const Weekly w = weekly(0, 4, at[4] - at[0]);
  const Value json = parse_json(weekly_json(w)).value();
  const std::string markdown = weekly_markdown(w);
  const double share = number_of(*json.find("all"), "useful_share").value();
  EXPECT_TRUE(has(markdown, render_percent(share)));
  EXPECT_EQ(list_of(json, "incidents").size(), w.incidents.size());
  EXPECT_EQ(list_of(json, "pieces").size(), 4U);
  EXPECT_TRUE(has(markdown, "n1, GPU 3"));
}

TEST_F(WeeklyReport, AChainThatIsBrokenIsAnAlarm) {
  quarter();
  Weekly w = weekly(0, 1, hours(6));
  EXPECT_FALSE(has(weekly_page(w), "class=\"alarm\""));
  w.chain.ok = false;
  w.chain.what = "the chain breaks at event 4";
  EXPECT_TRUE(has(weekly_page(w), "class=\"alarm\""));
  EXPECT_TRUE(has(weekly_markdown(w), "THE RECORD IS NOT WHOLE"));
}

}  // namespace
}  // namespace muster::report
