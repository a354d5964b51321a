#include "report/checkpoint_note.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::report {
namespace {

bool has(const std::string& s, std::string_view part) { return s.find(part) != std::string::npos; }

std::string json(const State& s, const Job& j) {
  JsonWriter w;
  CheckpointNotes(s).write(w, j);
  return w.take();
}

TEST(CheckpointNote, AJobThatTellsNothingIsCalledUnknown) {
  Story t;
  const JobId id = t.running({NodeId{0}});
  t.s.jobs.at(id).spec.checkpoint_every_s = -1;
  EXPECT_TRUE(has(CheckpointNotes(t.s).of(t.s.jobs.at(id)), "nobody knows"));
  EXPECT_TRUE(has(json(t.s, t.s.jobs.at(id)), R"({"known":false,)"));
  t.tell(JobProgressed{id, 1, {100, 100, 0, 0, 0, 0}});
  EXPECT_TRUE(has(json(t.s, t.s.jobs.at(id)), R"({"known":true,"age_s":0)"));
}

TEST(CheckpointNote, MeasuredItSaysWhatIsBestAndWhatThatWins) {
  Story t;
  const JobId id = t.running({NodeId{0}, NodeId{1}});
  t.pass(hours(2));
  t.tell(JobProgressed{id, 1, {700, 700, 60'000, 90'000, 0, 3}});
  t.pass(minutes(10));
  const std::string words = CheckpointNotes(t.s).of(t.s.jobs.at(id));
  EXPECT_TRUE(has(words, "Its last checkpoint is 10m 00s old. One stops it for 30.0 s (mean of 3). Best is one every ")) << words;
  EXPECT_TRUE(has(words, "GPU-hours a day more")) << words;
  EXPECT_TRUE(has(words, "by the published rate")) << words;
  EXPECT_TRUE(has(json(t.s, t.s.jobs.at(id)), R"("stall_s":30,"measured":3,"every_s":1800,"advised_every_s":)"))
      << json(t.s, t.s.jobs.at(id));
  EXPECT_EQ(json(t.s, t.s.jobs.at(t.submit(1))), "null");
}

TEST(CheckpointNote, TheAgentIsToldWhatItsJobsShouldDo) {
  Story t;
  const JobId id = t.running({NodeId{0}, NodeId{1}});
  const auto paces = [&](std::uint32_t node) {
    JsonWriter w;
    write_paces(w, t.s, NodeId{node});
    return w.take();
  };
  EXPECT_EQ(paces(0), "[]");
  t.pass(hours(1));
  t.tell(JobProgressed{id, 1, {300, 300, 60'000, 60'000, 0, 2}});
  EXPECT_TRUE(has(paces(1), R"([{"job":"1","checkpoint_every_s":)")) << paces(1);
  EXPECT_FALSE(has(paces(1), "next_checkpoint_at")) << "it did not ask to be paced";
  EXPECT_EQ(paces(2), "[]");
  Job& j = t.s.jobs.at(id);
  j.paced_every = seconds(1920);
  j.paced_next = t.now().utc - seconds(20);
  const double next = static_cast<double>(t.now().utc.ns) / 1e9 + 1900;
  EXPECT_TRUE(has(paces(0), R"("next_checkpoint_at":)" + std::to_string(static_cast<std::int64_t>(next)))) << paces(0);
}

}  // namespace
}  // namespace muster::report
