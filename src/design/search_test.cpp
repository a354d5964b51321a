#include "design/search.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace muster::design {
namespace {

SearchAsk gpt3(std::uint32_t gpus) {
  SearchAsk a;
  Transformer& m = a.model;
  m.name = "gpt3-175b";
  m.layers = 96;
  m.hidden = 12288;
  m.heads = m.kv_heads = 96;
  m.head_dim = 128;
  m.ffn = 49152;
  m.vocab = 51200;
  GpuModel& g = a.gpu;
  g.name = "a100";
  g.bf16_tflops = 312;
  g.hbm_gb = 80;
  g.hbm_tb_s = 2.039;
  g.nvlink_gb_s = 300;
  g.domain = 8;
  g.sms = 108;
  g.nic_gb_s = 25;
  a.network = {8, 25};
  a.gpus = gpus;
  a.global_batch = 1536;
  a.seq = 2048;
  return a;
}

TEST(Search, WhatIsFoundIsPossible) {
  const SearchAsk ask = gpt3(1024);
  const auto found = search(ask);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->best.size(), 5U);
  EXPECT_GT(found->fit, 0U);
  EXPECT_LT(found->fit, found->candidates);
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> splits;
  double last = 0;
  for (const Candidate& c : found->best) {
    const TrainingPlan& p = c.plan;
    EXPECT_EQ(p.tp * p.cp * p.pp * p.dp, 1024U);
    EXPECT_EQ(1536 % (p.dp * p.micro_batch), 0U);
    EXPECT_EQ(96 % p.pp, 0U);
    EXPECT_EQ(96 / p.pp % p.vp, 0U);
    EXPECT_LE(c.memory_gb, 0.94 * 80);
    EXPECT_NEAR(predict::memory_use(ask.model, p, ask.habits).all(), c.memory_gb, 1e-9);
    EXPECT_NEAR(predict::step_time(ask.gpu, ask.calibration, ask.network, ask.model, p).all_s(), c.step_s, 1e-9 * c.step_s);
    EXPECT_GE(c.step_s * 1.002, last) << "fastest first";
    last = c.step_s;
    EXPECT_TRUE(splits.insert({p.tp, p.cp, p.pp, p.ep}).second);
    const double flops = ask.model.flops_per_token(2048) * p.tokens();
    EXPECT_LT(flops / (c.step_s * 1024 * 312e12), 1) << "no GPU does more than it can";
  }
}

// Nothing that a person could write down by hand is faster.
TEST(Search, NoPlanOfItsKindIsFaster) {
  const SearchAsk ask = gpt3(256);
  const double best = search(ask)->best.front().step_s / 1.002;  // of those that are alike the simplest is first
  for (const std::uint32_t tp : {2U, 4U, 8U}) {
    for (const std::uint32_t pp : {4U, 8U, 16U, 32U}) {
      for (const std::uint32_t micro : {1U, 2U, 3U}) {
        for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
          TrainingPlan p;
          p.gpus = 256;
          p.tp = tp;
          p.pp = pp;
          p.dp = 256 / tp / pp;
          p.micro_batch = micro;
          p.global_batch = 1536;
          p.seq = 2048;
          p.recompute = r;
          p.sequence_parallel = true;
          p.shard = Shard::optimizer;
          if (predict::memory_use(ask.model, p, ask.habits).all() > 0.94 * 80) continue;
          EXPECT_GE(predict::step_time(ask.gpu, ask.calibration, ask.network, ask.model, p).all_s(), best * (1 - 1e-12));
        }
      }
    }
  }
}

// One replica has nobody to share with; pieces of a copy go to equal groups, and context ranks stay together.
TEST(Search, PiecesAreSharedByThoseThatHaveTheSame) {
  SearchAsk ask = gpt3(1);
  ask.model.layers = 2;
  ask.model.hidden = 4096;
  ask.model.ffn = 16384;
  ask.keep = 1000;
  const auto alone = search(ask);
  ASSERT_TRUE(alone);
  ASSERT_FALSE(alone->best.empty());
  for (const Candidate& c : alone->best) EXPECT_EQ(c.plan.shard, Shard::none);
  ask = gpt3(96);
  ask.model.layers = 24;
  ask.model.hidden = 4096;
  ask.model.ffn = 16384;
  ask.seq = 65536;
  ask.keep = 1000;
  const auto found = search(ask);
  ASSERT_TRUE(found);
  bool few = false;
  for (const Candidate& c : found->best) {
    const TrainingPlan& p = c.plan;
    EXPECT_TRUE(p.dp * p.cp > 1 || p.shard == Shard::none);
    if (p.shard_ranks == 0) continue;
    few = true;
    EXPECT_EQ(p.dp * p.cp % p.shard_ranks, 0U);
    EXPECT_EQ(p.shard_ranks % p.cp, 0U);
  }
  EXPECT_TRUE(few) << "none of the best of each split keeps a copy in a few";
}

TEST(Search, WhatIsSettledStays) {
  SearchAsk ask = gpt3(1024);
  const Candidate free = search(ask)->best.front();
  ask.settled = {.tp = 8, .cp = 1, .pp = 16, .vp = 2, .micro_batch = 1, .recompute = Recompute::full, .shard = Shard::optimizer};
  const auto found = search(ask);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->best.size(), 1U);
  const TrainingPlan& p = found->best.front().plan;
  EXPECT_EQ(std::tuple(p.tp, p.cp, p.pp, p.vp, p.micro_batch), std::tuple(8U, 1U, 16U, 2U, 1U));
  EXPECT_EQ(p.recompute, Recompute::full);
  EXPECT_EQ(p.shard, Shard::optimizer);
  EXPECT_GE(found->best.front().step_s, free.step_s / 1.002);
}

TEST(Search, SequenceParallelismAndSomeLayersAgainAsSettled) {
  SearchAsk a = gpt3(1024);
  a.settled.tp = 8;
  a.settled.sequence_parallel = false;
  a.settled.recompute = Recompute::full;
  a.settled.recompute_layers = 2;
  const auto found = search(a);
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->best.empty());
  for (const Candidate& c : found->best) {
    EXPECT_FALSE(c.plan.sequence_parallel);
    EXPECT_EQ(c.plan.recompute_layers, c.plan.stage_layers(96) <= 2 ? 0U : 2U);
  }
  a.settled.sequence_parallel.reset();
  a.seq = 2052;  // no multiple of eight
  const auto odd = search(a);
  ASSERT_TRUE(odd);
  for (const Candidate& c : odd->best) EXPECT_FALSE(c.plan.sequence_parallel);
  a.settled.sequence_parallel = true;
  EXPECT_EQ(search(a).error().what, "2052 tokens do not split among 8 tensor and 1 context ranks");
  a = gpt3(1024);
  a.settled.pp = 8;
  a.settled.shard = Shard::weights;
  EXPECT_EQ(search(a).error().next, "--shard optimizer or none, or --pp 1");
}

TEST(Search, WhatCannotBeSettledSoIsSaid) {
  const auto why = [](const Settled& s) {
    SearchAsk ask = gpt3(1024);
    ask.settled = s;
    const auto found = search(ask);
    return found ? "" : found.error().what;
  };
  EXPECT_EQ(why({.tp = 7}), "96 heads (96 of keys and values) do not split among 7 tensor ranks");
  EXPECT_EQ(why({.tp = 3}), "3 tensor, context and pipeline ranks do not divide 1024 GPUs");
  EXPECT_EQ(why({.pp = 64}), "96 layers do not make 64 stages of which only the first and the last are shorter");
  EXPECT_EQ(why({.ep = 2}), "0 experts do not split into 2 groups");
  EXPECT_EQ(why({.tp = 1, .cp = 1, .pp = 1, .micro_batch = 512}),
            "a batch of 1536 is no multiple of 1024 replicas with micro-batches of 512");
}

TEST(Search, OrdersOfPassesAsAsked) {
  SearchAsk ask = gpt3(1024);
  ask.settled = {.tp = 8, .cp = 1, .pp = 16};
  const auto best = [&](std::optional<Schedule> s) {
    ask.settled.schedule = s;
    return search(ask)->best.at(0);
  };
  EXPECT_NE(best({}).plan.schedule(), Schedule::zero_bubble) << "few frameworks have it";
  EXPECT_EQ(best(Schedule::one_f_one_b).plan.vp, 1U);
  EXPECT_GT(best(Schedule::interleaved).plan.vp, 1U);
  EXPECT_TRUE(best(Schedule::zero_bubble).plan.zero_bubble);
  EXPECT_LT(best(Schedule::zero_bubble).step_s, best(Schedule::interleaved).step_s);
}

TEST(Search, SequencesMayBeOdd) {
  SearchAsk ask = gpt3(1024);
  ask.seq = 2047;
  EXPECT_FALSE(search(ask)->best.empty()) << "only context ranks want even sequences";
}

TEST(Search, TheEmbeddingAndTheHeadMayCountAsLayers) {
  SearchAsk ask = gpt3(1024);
  ask.model.layers = 94;
  ask.settled = {.tp = 8, .pp = 8, .vp = 6};
  const auto found = search(ask);
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->best.empty());
  EXPECT_EQ(found->best.front().plan.stage_layers(94), 12U);
  ask.settled.vp = 5;
  EXPECT_EQ(search(ask).error().what, "94 layers do not make 8 stages of 5 equal pieces");
  ask.settled = {.pp = 1, .schedule = Schedule::zero_bubble};
  EXPECT_EQ(search(ask).error().what, "one stage has neither pieces nor an order of passes");
}

TEST(Search, LayersThatDoNotDivideLeaveTheEndsShorter) {
  SearchAsk ask = gpt3(1024);
  ask.model.layers = 61;
  ask.settled = {.tp = 8, .pp = 16};
  const auto found = search(ask);
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->best.empty());
  EXPECT_EQ(found->best.front().plan.stage_layers(61), 4U);
}

TEST(Search, WhatDoesNotFitIsToldWithTheLeastThatWouldDo) {
  const auto found = search(gpt3(8));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->best.empty());
  ASSERT_TRUE(found->smallest);
  EXPECT_GT(found->smallest->memory_gb, 80);
}

TEST(Search, ContradictionsAreSaid) {
  SearchAsk a = gpt3(1024);
  a.dtype = Dtype::fp8;
  EXPECT_EQ(search(a).error().what, "a100 has no fp8");
  EXPECT_EQ(search(gpt3(1020)).error().what, "1020 GPUs are no whole nodes of 8");
  a = gpt3(1024);
  a.global_batch = 0;
  EXPECT_EQ(search(a).error().what, "a step of no tokens");
  EXPECT_EQ(search(gpt3(0)).error().what, "a run on no GPUs");
}

TEST(Search, ItIsGivenUpWhenTold) {
  SearchAsk ask = gpt3(1024);
  int asked = 0;
  ask.give_up = [&] { return ++asked > 10; };
  const auto found = search(ask);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::refused);
  EXPECT_EQ(asked, 11) << "and not worked on";
  ask.give_up = [] { return false; };
  EXPECT_EQ(search(ask)->candidates, search(gpt3(1024))->candidates);
}

}  // namespace
}  // namespace muster::design
