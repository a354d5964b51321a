#include "report/memory.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster::report {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// 1 GiB in use of 2 GiB, and 1.5 GiB asked for: in pieces of half a GiB.
MemorySnapshot full() {
  MemorySnapshot s;
  s.frames = {{"train.py", "step", 7}};
  s.stack_frames = {0};
  s.stack_ends = {0, 1};
  std::vector<MemoryEvent> events;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    const std::uint64_t at = i * 4 * kGiB;
    s.segments.push_back(
        {0,
         at,
         kGiB,
         0,
         0,
         true,
         false,
         {{at, kGiB / 2, kGiB / 2, BlockState::allocated, 1}, {at + kGiB / 2, kGiB / 2, 0, BlockState::inactive, 0}}});
    events.push_back({at, kGiB, 0, 1, 1, MemoryAction::segment_alloc});
    events.push_back({at, kGiB, 0, 1, 1, MemoryAction::alloc});
    events.push_back({at, kGiB, 0, 2, 1, MemoryAction::free_completed});
    events.push_back({at, kGiB / 2, 0, 3, 1, MemoryAction::alloc});
  }
  events.push_back({kGiB / 4, kGiB, 0, 9, 1, MemoryAction::oom});
  s.traces = {events};
  return s;
}

TEST(MemoryReport, Json) {
  const auto d = diagnose::diagnose_memory(full(), {{}, {}, "x.pickle"});
  JsonWriter w;
  write_memory(w, d);
  const auto memory = parse_json(w.take());
  ASSERT_TRUE(memory) << memory.error().what;
  ASSERT_TRUE(memory->find("advice") != nullptr);
  const Value& device = memory->find("devices")->array()->front();
  EXPECT_EQ(*device.find("oom")->find("cause")->string(), "fragmented");
  EXPECT_EQ(*device.find("oom")->find("asked_bytes")->integer(), static_cast<std::int64_t>(kGiB));
  EXPECT_EQ(*device.find("oom")->find("state")->find("allocated_bytes")->integer(), static_cast<std::int64_t>(kGiB));
  ASSERT_FALSE(memory->find("advice")->is_null());
  EXPECT_EQ(*memory->find("advice")->find("setting")->string(), "expandable_segments:True");
}

TEST(MemoryReport, Words) {
  const auto d = diagnose::diagnose_memory(full(), {{}, {}, "x.pickle"});
  EXPECT_FALSE(say_memory(d).empty());
  EXPECT_EQ(memory_sentence(d),
            "GPU 0 ran out of memory for 1.00 GiB, though 1.00 GiB that it had reserved lay free: in pieces too small");
  EXPECT_NE(d.findings.front().remedy.find("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"), std::string::npos);
  EXPECT_EQ(memory_sentence({}), "no GPU's memory is in use");
}

}  // namespace
}  // namespace muster::report
