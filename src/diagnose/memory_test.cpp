#include "diagnose/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace muster::diagnose {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = 1024 * kMiB;

// Records what a program does on GPU 0. Where blocks and segments lie is told by who calls: what the allocator did is known.
class Recording {
 public:
  std::uint32_t stack(const std::string& name, const std::string& library = {}) {
    const auto [it, fresh] = stacks_.emplace(name + library, static_cast<std::uint32_t>(s_.stack_ends.size()));
    if (!fresh) return it->second;
    if (!library.empty()) add({library, "inner", 1});
    add({"/data/job/train.py", name, static_cast<std::uint32_t>(it->second)});
    s_.stack_ends.push_back(static_cast<std::uint32_t>(s_.stack_frames.size()));
    return it->second;
  }
  void segment(std::uint64_t address, std::uint64_t size, std::uint64_t stream = 0, std::uint64_t pool = 0) {
    event(MemoryAction::segment_alloc, address, size, stream);
    segments_[address] = {0, address, size, stream, pool, size > 2 * kMiB, false, {}};
  }
  void segment_back(std::uint64_t address) {
    event(MemoryAction::segment_free, address, segments_[address].size);
    segments_.erase(address);
  }
  void alloc(std::uint64_t address, std::uint64_t size, std::uint32_t stack, std::uint64_t stream = 0) {
    event(MemoryAction::alloc, address, size, stream, stack);
    live_[address] = {address, size, size, BlockState::allocated, stack};
  }
  void free(std::uint64_t address) {
    event(MemoryAction::free_requested, address, live_[address].requested);
    event(MemoryAction::free_completed, address, live_[address].requested);
    live_.erase(address);
  }
  void oom(std::uint64_t size, std::uint64_t device_free, std::uint32_t stack) {
    event(MemoryAction::oom, device_free, size, 0, stack);
  }
  // What is recorded from here on comes last; what was before is forgotten, as a full buffer forgets it.
  void forget() { events_.clear(); }

  MemorySnapshot take() {
    for (auto& [address, segment] : segments_) {
      std::uint64_t at = address;
      for (auto it = live_.lower_bound(address); it != live_.end() && it->first < address + segment.size; ++it) {
        if (it->first > at) segment.blocks.push_back({at, it->first - at, 0, BlockState::inactive, 0});
        segment.blocks.push_back(it->second);
        at = it->first + it->second.size;
      }
      if (at < address + segment.size) segment.blocks.push_back({at, address + segment.size - at, 0, BlockState::inactive, 0});
      s_.segments.push_back(segment);
    }
    s_.traces = {events_};
    return s_;
  }

  MemorySnapshot s_;

 private:
  void add(const CallFrame& f) {
    s_.stack_frames.push_back(static_cast<std::uint32_t>(s_.frames.size()));
    s_.frames.push_back(f);
  }
  void event(MemoryAction a, std::uint64_t address, std::uint64_t size, std::uint64_t stream = 0, std::uint32_t stack = 0) {
    events_.push_back({address, size, stream, static_cast<std::int64_t>(1000 + events_.size()), stack, a});
  }
  std::map<std::string, std::uint32_t> stacks_;
  std::map<std::uint64_t, MemorySegment> segments_;
  std::map<std::uint64_t, MemoryBlock> live_;
  std::vector<MemoryEvent> events_;
};

// Sequences that grow by 32 MiB, from 256 MiB; of each, 11 MiB are kept in its segment. Of 3 GiB.
Recording growing(int from_step = 0) {
  Recording r;
  const auto wide = r.stack("forward", "/usr/lib/python3/site-packages/torch/nn/linear.py"), narrow = r.stack("backward_pass"),
             keep = r.stack("keep"), load = r.stack("load");
  r.segment(kGiB, 64 * kMiB);
  r.alloc(kGiB, 64 * kMiB, load);
  std::uint64_t at = 2 * kGiB, size = 256 * kMiB, reserved = 64 * kMiB;
  for (int step = 0;; ++step, at += kGiB, size += 32 * kMiB) {
    if (step == from_step && step > 0) r.forget();
    if (reserved + size > 3 * kGiB) break;
    r.segment(at, size);
    reserved += size;
    r.alloc(at, size, wide);
    r.free(at);
    r.alloc(at, size - 12 * kMiB, narrow);
    r.alloc(at + size - 12 * kMiB, 11 * kMiB, keep);
    r.free(at);
  }
  r.oom(size, 3 * kGiB - reserved, wide);
  return r;
}

TEST(Memory, PiecesTooSmall) {
  Recording r = growing();
  const auto d = diagnose_memory(r.take(), {{}, {}, "x.pickle"});
  ASSERT_EQ(d.devices.size(), 1U);
  const DeviceMemory& gpu = d.devices[0];
  ASSERT_TRUE(gpu.oom);
  EXPECT_EQ(gpu.oom->cause, OomCause::fragmented);
  EXPECT_EQ(gpu.oom->limit, 3 * kGiB);
  EXPECT_EQ(gpu.oom->asked, 512 * kMiB);
  EXPECT_EQ(gpu.oom->state.allocated, (64 + 8 * 11) * kMiB);
  EXPECT_EQ(gpu.oom->state.inactive, gpu.oom->state.reserved - gpu.oom->state.allocated);
  EXPECT_EQ(gpu.oom->largest_own, (480 - 12) * kMiB);
  EXPECT_EQ(gpu.oom->where, "forward at job/train.py:1");
  EXPECT_EQ(gpu.steps, 8U);
  ASSERT_TRUE(gpu.replay_off);
  EXPECT_NEAR(*gpu.replay_off, 0, 1e-9) << "the model does what was done";
  EXPECT_TRUE(gpu.replay_fails_alike);
  ASSERT_TRUE(gpu.advice);
  EXPECT_EQ(gpu.advice->setting, "expandable_segments:True");
  EXPECT_EQ(gpu.advice->confidence, Confidence::high);
  EXPECT_LT(gpu.advice->reserved_peak, kGiB) << "of 3 GiB";
  ASSERT_FALSE(d.findings.empty());
  EXPECT_NE(d.findings[0].remedy.find("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"), std::string::npos);
  EXPECT_EQ(gpu.classes[static_cast<std::size_t>(MemoryClass::kept)], 8 * 11 * kMiB);
  ASSERT_TRUE(gpu.growth);
  EXPECT_EQ(gpu.growth->bytes_per_step, 11 * kMiB);
  EXPECT_EQ(gpu.growth->where, "keep at job/train.py:3");
}

TEST(Memory, WhatWasForgottenIsFoundAgain) {
  Recording r = growing(4);
  const auto d = diagnose_memory(r.take(), {});
  const DeviceMemory& gpu = d.devices[0];
  ASSERT_TRUE(gpu.oom);
  EXPECT_EQ(gpu.oom->cause, OomCause::fragmented);
  EXPECT_EQ(gpu.oom->state.allocated, (64 + 8 * 11) * kMiB);
  EXPECT_EQ(gpu.reserved_peak.bytes, gpu.now.reserved);
  EXPECT_NEAR(*gpu.replay_off, 0, 1e-9);
  EXPECT_TRUE(gpu.replay_fails_alike);
  ASSERT_TRUE(gpu.advice);
  EXPECT_EQ(gpu.advice->setting, "expandable_segments:True");
  EXPECT_EQ(gpu.advice->confidence, Confidence::medium) << "how the rest would lie is not known";
}

TEST(Memory, TooLarge) {
  Recording r;
  r.segment(kGiB, kGiB);
  r.alloc(kGiB, kGiB, r.stack("build"));
  r.oom(800 * kMiB, 500 * kMiB, r.stack("forward"));
  const auto s = r.take();
  EXPECT_EQ(diagnose_memory(s, {}).devices[0].oom->cause, OomCause::too_large);
  const auto d = diagnose_memory(s, {{}, 4 * kGiB, "x"});
  ASSERT_TRUE(d.devices[0].oom);
  EXPECT_EQ(d.devices[0].oom->cause, OomCause::elsewhere);
  EXPECT_EQ(d.devices[0].oom->elsewhere, 4 * kGiB - kGiB - 500 * kMiB);
  EXPECT_FALSE(d.devices[0].advice) << "no setting helps";
  EXPECT_NE(d.findings[0].remedy.find("end the other processes"), std::string::npos) << d.findings[0].remedy;
}

// Weights and states of so many GiB of 10; then 3 GiB are asked for.
MemorySnapshot beside(std::uint64_t weights, std::uint64_t states) {
  Recording r;
  for (std::uint64_t i = 1; i <= weights + states; ++i) {
    r.segment(4 * i * kGiB, kGiB);
    r.alloc(4 * i * kGiB, kGiB,
            i <= weights ? r.stack("build") : r.stack("update", "/usr/lib/python3/site-packages/torch/optim/adam.py"));
  }
  r.oom(3 * kGiB, (10 - weights - states) * kGiB, r.stack("forward"));
  return r.take();
}

TEST(Memory, WhereTheModelItselfLeavesNoRoomNoBatchIsAdvised) {
  const auto d = diagnose_memory(beside(10, 0), {{}, {}, "x"});
  ASSERT_TRUE(d.devices[0].batch);
  EXPECT_TRUE(d.devices[0].batch->no_room);
  ASSERT_FALSE(d.findings.empty());
  const Finding& f = d.findings[0];
  EXPECT_NE(f.title.find("leaves no room, whatever the batch"), std::string::npos) << f.title;
  for (const char* words : {"ZeRO stage 3", "8 bits", "offload"}) EXPECT_NE(f.remedy.find(words), std::string::npos) << f.remedy;
  EXPECT_EQ(f.remedy.find("times today's"), std::string::npos) << f.remedy;
  const auto states = diagnose_memory(beside(3, 7), {{}, {}, "x"});
  EXPECT_NE(states.findings[0].remedy.find("ZeRO stage 1"), std::string::npos) << "most is the optimizer's";
}

TEST(Memory, TheBatchIsToldWithItsArithmeticAndTheReserve) {
  const auto roomy = diagnose_memory(beside(8, 0), {{}, {}, "x"});
  ASSERT_TRUE(roomy.devices[0].batch && !roomy.devices[0].batch->no_room);
  const std::string words = say_batch(*roomy.devices[0].batch);
  EXPECT_EQ(
      words,
      "0.50 = (10.00 GiB that it could have, less 512.0 MiB (5 %) in reserve for what no snapshot shows, less 8.00 GiB that "
      "stay) / 3.00 GiB that grow with the batch");
  const auto& evidence = roomy.findings[0].evidence;
  EXPECT_NE(std::find(evidence.begin(), evidence.end(), "the batch: " + words), evidence.end());
}

TEST(Memory, AStepOfOneSampleThatDoesNotFitHasNoSmallerBatch) {
  const auto s = beside(8, 0);
  const auto one = diagnose_memory(s, {1, {}, "x"});
  EXPECT_TRUE(one.findings[0].remedy.starts_with("not even one sample fits")) << one.findings[0].remedy;
  const auto four = diagnose_memory(s, {4, {}, "x"});
  EXPECT_NE(four.findings[0].remedy.find("0.50 times today's (2)"), std::string::npos) << four.findings[0].remedy;
}

TEST(Memory, WhoseFreeMemoryItIs) {
  for (const bool graph : {false, true}) {
    Recording r;
    r.segment(kGiB, 100 * kMiB);
    r.alloc(kGiB, 100 * kMiB, r.stack("build"));
    r.segment(2 * kGiB, 600 * kMiB, graph ? 0 : 5, graph ? 9 : 0);
    r.alloc(2 * kGiB, 20 * kMiB, r.stack("side"), graph ? 0 : 5);
    r.oom(400 * kMiB, 100 * kMiB, r.stack("forward"));
    const auto d = diagnose_memory(r.take(), {});
    ASSERT_TRUE(d.devices[0].oom);
    EXPECT_EQ(d.devices[0].oom->cause, graph ? OomCause::private_pools : OomCause::other_streams);
    EXPECT_EQ(graph ? d.devices[0].oom->free_private : d.devices[0].oom->free_other_streams, 580 * kMiB);
  }
}

TEST(Memory, ALimitOfTheProgramItself) {
  Recording r;
  r.segment(kGiB, 100 * kMiB);
  r.alloc(kGiB, 100 * kMiB, r.stack("build"));
  r.oom(400 * kMiB, 100 * kGiB, r.stack("forward"));
  const auto d = diagnose_memory(r.take(), {});
  ASSERT_TRUE(d.devices[0].oom);
  EXPECT_TRUE(d.devices[0].oom->by_fraction);
  EXPECT_EQ(d.devices[0].oom->cause, OomCause::too_large);
  EXPECT_FALSE(d.devices[0].batch) << "how much it may have is not known";
  EXPECT_NE(d.findings[0].remedy.find("set_per_process_memory_fraction"), std::string::npos) << d.findings[0].remedy;
}

// Parameters and the optimizer's state of 100 MiB each, gradients too; two activations of 200 MiB, given back in each step.
MemorySnapshot training(int steps) {
  Recording r;
  const auto build = r.stack("build"), load = r.stack("load"), layer = r.stack("layer"),
             state = r.stack("update", "/usr/lib/python3/site-packages/torch/optim/adam.py");
  const auto at = [](std::uint64_t n) { return n * kGiB; };
  r.segment(at(1), 100 * kMiB);
  r.alloc(at(1), 100 * kMiB, build);
  for (int i = 0; i < steps; ++i) {
    if (i == 0) {
      r.segment(at(2), 20 * kMiB);
      r.segment(at(3), 200 * kMiB);
      r.segment(at(4), 200 * kMiB);
      r.segment(at(5), 100 * kMiB);
    }
    r.alloc(at(2), 4 * kMiB, load);
    r.alloc(at(3), 200 * kMiB, layer);
    r.alloc(at(4), 200 * kMiB, layer);
    r.free(at(4));
    r.alloc(at(5), 100 * kMiB, 0);
    r.free(at(3));
    if (i == 0) r.segment(at(6), 100 * kMiB);
    if (i == 0) r.alloc(at(6), 100 * kMiB, state);
    r.free(at(5));
    r.free(at(2));
  }
  return r.take();
}

TEST(Memory, WhatHoldsIt) {
  const auto d = diagnose_memory(training(6), {32, 2 * kGiB, "x"});
  const DeviceMemory& gpu = d.devices[0];
  EXPECT_EQ(gpu.steps, 6U);
  EXPECT_EQ(gpu.allocated_peak.bytes, 604 * kMiB);
  const auto of = [&](MemoryClass c) { return gpu.classes[static_cast<std::size_t>(c)]; };
  EXPECT_EQ(of(MemoryClass::parameters), 100 * kMiB);
  EXPECT_EQ(of(MemoryClass::optimizer), 100 * kMiB);
  EXPECT_EQ(of(MemoryClass::activations), 404 * kMiB);
  ASSERT_TRUE(gpu.batch);
  // Both activations and the input, beside what stays, of 95 % of 2 GiB.
  EXPECT_NEAR(gpu.batch->factor, (2048 * 0.95 - 200) / 404, 1e-3);
  EXPECT_EQ(gpu.batch->fits, 138U);
  EXPECT_FALSE(gpu.growth);
  for (const Finding& f : d.findings) EXPECT_EQ(f.title.find("grows"), std::string::npos);
  ASSERT_TRUE(gpu.replay_off);
  EXPECT_NEAR(*gpu.replay_off, 0, 0.02);
}

TEST(Memory, GradientsAreOfTheSizeOfParameters) {
  Recording r;
  const auto build = r.stack("build"), layer = r.stack("layer");
  r.segment(kGiB, 64 * kMiB);
  r.segment(2 * kGiB, 64 * kMiB);
  r.segment(3 * kGiB, 32 * kMiB);
  r.alloc(kGiB, 64 * kMiB, build);
  for (int i = 0; i < 4; ++i) {
    r.alloc(3 * kGiB, 32 * kMiB, layer);
    r.alloc(2 * kGiB, 64 * kMiB, 0);  // by the engine's thread, which has no Python calls
    r.free(2 * kGiB);
    r.free(3 * kGiB);
  }
  const auto d = diagnose_memory(r.take(), {});
  EXPECT_EQ(d.devices[0].classes[static_cast<std::size_t>(MemoryClass::gradients)], 64 * kMiB);
  EXPECT_EQ(d.devices[0].classes[static_cast<std::size_t>(MemoryClass::activations)], 32 * kMiB);
}

TEST(Memory, SegmentsThatComeAndGo) {
  Recording r;
  const auto layer = r.stack("layer");
  r.segment(kGiB, 400 * kMiB);
  r.alloc(kGiB, 400 * kMiB, r.stack("build"));
  for (std::uint64_t i = 0; i < 8; ++i) {  // 100 MiB and 120 MiB in turn, with room for one
    const std::uint64_t size = (i % 2 == 0 ? 100 : 120) * kMiB, at = (2 + i) * kGiB;
    if (i > 0) r.segment_back(at - kGiB);
    r.segment(at, size);
    r.alloc(at, size, layer);
    r.free(at);
  }
  const auto d = diagnose_memory(r.take(), {});
  ASSERT_TRUE(d.devices[0].churn);
  EXPECT_NEAR(d.devices[0].churn->frees_per_step, 1, 0.2);
  bool told = false;
  for (const Finding& f : d.findings) told = told || f.title.find("given back in every step") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST(Memory, NothingRecorded) {
  MemorySnapshot s;
  s.segments.push_back({3, kGiB, 20 * kMiB, 0, 0, true, false, {{kGiB, 8 * kMiB, 4 * kMiB, BlockState::allocated, 0}}});
  const auto d = diagnose_memory(s, {});
  ASSERT_EQ(d.devices.size(), 1U);
  EXPECT_EQ(d.devices[0].device, 3U);
  EXPECT_EQ(d.devices[0].now.inactive, 12 * kMiB);
  EXPECT_EQ(d.devices[0].now.pinned, 12 * kMiB);
  EXPECT_EQ(d.devices[0].classes[0], 8 * kMiB);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_NE(d.findings[0].title.find("rounding"), std::string::npos);
  EXPECT_TRUE(diagnose_memory({}, {}).devices.empty());
}

TEST(Memory, SettingsArePutTogether) {
  EXPECT_EQ(with_setting("", "expandable_segments:True"), "expandable_segments:True");
  EXPECT_EQ(with_setting("expandable_segments:False,roundup_power2_divisions:[256:1,>:2]", "expandable_segments:True"),
            "roundup_power2_divisions:[256:1,>:2],expandable_segments:True");
  EXPECT_EQ(with_setting("max_split_size_mb:64, garbage_collection_threshold:0.6", "max_split_size_mb:128"),
            "garbage_collection_threshold:0.6,max_split_size_mb:128");
  EXPECT_EQ(with_setting("max_split_size_mb:64", "expandable_segments:True"), "expandable_segments:True");
}

}  // namespace
}  // namespace muster::diagnose
