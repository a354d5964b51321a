#include "report/goodput.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

// Two accounts on four nodes for an hour: vision works and checkpoints, speech loses its steps with a GPU.
class GoodputReport : public ::testing::Test {
 protected:
  GoodputReport() {
    Event e;
    e.utc = t.now().utc;
    e.body = SiteDeclared{t.s.site};
    books.take(e, t.s);
    t.heard = [this](const Event& x) { books.take(x, t.s); };
    g.cluster = t.s.site.name;
    g.from = t.now().utc;
    const JobId good = start(1, "vision", NodeId{0});
    const JobId bad = start(2, "speech", NodeId{1});
    t.pass(minutes(30));
    t.tell(JobProgressed{good, 1, {10, 10, 0, 6 * 60'000, 0}});
    t.open(t.find(FindingKind::gpu_lost, NodeId{1}, 3));
    t.tell(JobEnded{bad, 1, JobEnd::node_failed, {}, {}});
    t.pass(minutes(30));
    g.to = t.now().utc;
    g.stretch = account::difference({}, books.close(t.s, t.s.mono()));
  }
  JobId start(std::uint32_t number, std::string account, NodeId n) {
    JobSpec spec;
    spec.name = "run-" + account;
    spec.user = "ada";
    spec.account = std::move(account);
    spec.queue = "batch";
    t.tell(JobSubmitted{{number, 0}, spec});
    t.tell(JobStarted{{number, 0}, 1, {n}});
    return {number, 0};
  }
  Value report(GoodputBy by, std::optional<Waste> most = {}) const { return parse_json(goodput_json(g, by, most)).value(); }
  static double h(const Value& object, std::string_view name) { return number_of(*object.find("classes"), name).value_or(0); }
  static const Value* row(const Value& r, std::string_view name) {
    for (const Value& x : list_of(r, "rows")) {
      if (text_of(x, "name") == name) return &x;
    }
    return nullptr;
  }

  Story t{4};
  account::JobBooks books;
  Goodput g;
};

TEST_F(GoodputReport, TheClassesSumToWhatIsInstalled) {
  const Value r = report(GoodputBy::cause);
  EXPECT_DOUBLE_EQ(*number_of(r, "installed_gpu_h"), 32);
  EXPECT_DOUBLE_EQ(h(r, "useful"), 8 * 0.4);
  EXPECT_DOUBLE_EQ(h(r, "checkpoint"), 8 * 0.1);
  EXPECT_DOUBLE_EQ(h(r, "unsettled"), 4);
  EXPECT_DOUBLE_EQ(h(r, "lost_restart"), 4);
  EXPECT_DOUBLE_EQ(h(r, "down"), 4);
  EXPECT_DOUBLE_EQ(h(r, "idle"), 16);
  EXPECT_DOUBLE_EQ(*number_of(r, "goodput"), 3.2 / (32 - 16 - 4));
  EXPECT_EQ(text_of(r, "from_utc"), render_utc(g.from));
  EXPECT_EQ(text_of(r, "most"), "waste");
}

TEST_F(GoodputReport, ACauseHasAllThatItCost) {
  const Value r = report(GoodputBy::cause);
  const Value* lost = row(r, "gpu_lost");
  ASSERT_NE(lost, nullptr);
  EXPECT_DOUBLE_EQ(h(*lost, "lost_restart"), 4);
  EXPECT_DOUBLE_EQ(h(*lost, "down"), 4);
  EXPECT_EQ(text_of(*lost, "losses"), "1");
  EXPECT_EQ(lost->find("jobs"), nullptr) << "how many jobs a fault met is not counted";
  EXPECT_EQ(text_of(*row(r, "checkpoint"), "jobs"), "1");
  EXPECT_EQ(text_of(list_of(r, "rows")[0], "name"), "idle") << "the most waste first";
}

TEST_F(GoodputReport, AccountsAndQueuesHaveTheirJobsTimeAndNobodyTheRest) {
  const Value r = report(GoodputBy::account);
  ASSERT_EQ(list_of(r, "rows").size(), 2u);
  EXPECT_EQ(text_of(list_of(r, "rows")[0], "name"), "speech");
  EXPECT_DOUBLE_EQ(*number_of(*row(r, "vision"), "gpu_h"), 8);
  EXPECT_EQ(text_of(*row(r, "vision"), "jobs"), "1");
  EXPECT_DOUBLE_EQ(*number_of(*r.find("nobody"), "gpu_h"), 20);
  const Value q = report(GoodputBy::queue);
  ASSERT_EQ(list_of(q, "rows").size(), 1u);
  EXPECT_EQ(text_of(*row(q, "batch"), "jobs"), "2");
  EXPECT_DOUBLE_EQ(*number_of(*row(q, "batch"), "gpu_h"), 12);
}

TEST_F(GoodputReport, JobsComeByTheirWasteOrByWhatIsAskedFor) {
  const Value r = report(GoodputBy::job);
  ASSERT_EQ(list_of(r, "jobs").size(), 2u);
  const Value& worst = list_of(r, "jobs")[0];
  EXPECT_EQ(text_of(worst, "id"), "2");
  EXPECT_EQ(text_of(worst, "name"), "run-speech");
  EXPECT_EQ(text_of(worst, "queue"), "batch");
  EXPECT_DOUBLE_EQ(*number_of(worst, "gpu_h"), 4);
  EXPECT_DOUBLE_EQ(*number_of(worst, "waste_gpu_h"), 4);
  EXPECT_EQ(worst.find("classes")->find("useful"), nullptr) << "what it has nothing of is left out";
  EXPECT_EQ(text_of(list_of(r, "rows")[0], "name"), "2");
  const Value c = report(GoodputBy::cause, Waste::checkpoint);
  ASSERT_EQ(list_of(c, "jobs").size(), 1u);
  EXPECT_EQ(text_of(list_of(c, "jobs")[0], "id"), "1");
  EXPECT_EQ(text_of(list_of(c, "rows")[0], "name"), "checkpoint");
}

TEST_F(GoodputReport, OfManyJobsTheWorstAreNamedAndTheRestCounted) {
  account::JobSum one = g.stretch.jobs[0];
  g.stretch.jobs.clear();
  for (std::uint32_t i = 1; i <= kGoodputJobs + 7; ++i) {
    one.id = {i, 0};
    one.amount[static_cast<std::size_t>(Waste::slow)] = i;
    g.stretch.jobs.push_back(one);
  }
  const Value r = report(GoodputBy::account);
  EXPECT_EQ(list_of(r, "jobs").size(), kGoodputJobs);
  EXPECT_EQ(text_of(r, "jobs_left_out"), "7");
  EXPECT_EQ(text_of(list_of(r, "jobs")[0], "id"), "207");
}

TEST_F(GoodputReport, NothingSettledIsNoGoodput) {
  g.stretch = {};
  EXPECT_TRUE(report(GoodputBy::cause).find("goodput")->is_null());
}

TEST_F(GoodputReport, OfOneJobItIsWhatWasGivenToIt) {
  g.job = "2";
  g.stretch = account::difference({}, account::only(books.close(t.s, t.s.mono()), JobId{2, 0}));
  const Value r = report(GoodputBy::cause);
  EXPECT_EQ(text_of(r, "job"), "2");
  EXPECT_DOUBLE_EQ(*number_of(r, "installed_gpu_h"), 4);
  EXPECT_DOUBLE_EQ(h(r, "lost_restart"), 4);
  EXPECT_DOUBLE_EQ(h(*row(r, "gpu_lost"), "lost_restart"), 4);
  EXPECT_EQ(list_of(r, "rows").size(), 1u);
  const std::string text = render_goodput_text(r, {});
  EXPECT_NE(text.find("Job 2, from"), std::string::npos) << text;
  EXPECT_NE(text.find("given to it"), std::string::npos) << text;
  EXPECT_EQ(text.find("\nidle"), std::string::npos) << text;
}

TEST_F(GoodputReport, TheTextTellsTheSame) {
  g.gpu_hour_price = 2;
  const std::string text = render_goodput_text(report(GoodputBy::account), {});
  EXPECT_NE(text.find("32.0 GPU-hours installed, goodput 26.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("COST USD"), std::string::npos) << text;
  EXPECT_EQ(text.find("assumed"), std::string::npos) << text;
  EXPECT_NE(text.find("(no job)"), std::string::npos) << text;
  EXPECT_EQ(text.find("were unsettled when"), std::string::npos) << text;
  g.currency = "EUR";
  g.price_assumed = "H100 2.50 EUR, a list";
  const std::string assumed = render_goodput_text(report(GoodputBy::account), {});
  EXPECT_NE(assumed.find("COST EUR"), std::string::npos) << assumed;
  EXPECT_NE(assumed.find("is assumed: H100 2.50 EUR, a list."), std::string::npos) << assumed;
  g.stretch.unsettled_before = 3'600'000'000;
  g.gpu_hour_price = 0;
  const std::string later = render_goodput_text(report(GoodputBy::cause), {});
  EXPECT_NE(later.find("1.0 GPU-hours were unsettled when this stretch began"), std::string::npos) << later;
  EXPECT_EQ(later.find("COST"), std::string::npos) << later;
}

}  // namespace
}  // namespace muster::report
