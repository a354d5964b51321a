#include "diagnose/execution_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

using Kind = OperatorCost::Kind;
constexpr Rates kGpu{100e12, 1e12, 5e-6};

TraceOperand tensor(std::vector<std::int64_t> shape, std::uint64_t storage, const char* type = "Tensor(c10::BFloat16)") {
  return {{std::move(shape)}, {storage}, type, {}};
}

struct Builder {
  ExecutionTrace trace;
  std::uint32_t add(std::string name, std::uint32_t parent, std::vector<TraceOperand> in, std::vector<TraceOperand> out) {
    ExecutionNode n;
    n.id = trace.nodes.size() + 1;
    n.parent = parent;
    n.name = std::move(name);
    n.inputs = std::move(in);
    n.outputs = std::move(out);
    n.on_gpu = !n.inputs.empty() && !n.inputs[0].shapes.empty();
    trace.nodes.push_back(std::move(n));
    return static_cast<std::uint32_t>(trace.nodes.size() - 1);
  }
};

const OperatorSum& sum(const ExecutionDiagnosis& d, Kind k) { return d.by_kind[static_cast<std::size_t>(k)]; }

TEST(ExecutionDiagnosis, AnOperatorCountsOnce) {
  Builder b;
  const auto linear = b.add("aten::linear", kNoNode, {tensor({64, 128}, 1), tensor({256, 128}, 2)}, {tensor({64, 256}, 3)});
  b.add("aten::t", linear, {tensor({256, 128}, 2)}, {tensor({128, 256}, 2)});
  const auto addmm = b.add("aten::mm", linear, {tensor({64, 128}, 1), tensor({128, 256}, 2)}, {tensor({64, 256}, 3)});
  b.add("aten::copy_", addmm, {tensor({64, 256}, 3), tensor({64, 256}, 9)}, {tensor({64, 256}, 3)});
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_EQ(d.nodes, 4U);
  EXPECT_EQ(sum(d, Kind::product).operators, 1U);
  EXPECT_EQ(sum(d, Kind::product).flops, 2.0 * 64 * 128 * 256);
  EXPECT_EQ(sum(d, Kind::stream).operators, 1U);
  EXPECT_EQ(d.operators, 2U);
  EXPECT_EQ(d.unknown, 0U);
}

TEST(ExecutionDiagnosis, WhatDoesNothingCostsNothing) {
  Builder b;
  b.add("aten::to", kNoNode, {tensor({64, 128}, 1)}, {tensor({64, 128}, 1)});
  const auto cast = b.add("aten::to", kNoNode, {tensor({64, 128}, 1)}, {tensor({64, 128}, 2)});
  b.add("aten::copy_", cast, {tensor({64, 128}, 2), tensor({64, 128}, 1)}, {tensor({64, 128}, 2)});
  b.add("mine::op", kNoNode, {tensor({64, 128}, 2)}, {});
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_EQ(d.operators, 1U);
  EXPECT_EQ(d.unknown, 1U);
}

TEST(ExecutionDiagnosis, TheLongestChain) {
  Builder b;
  // Two that do not wait for each other, then one for both, in place.
  b.add("aten::relu", kNoNode, {tensor({1024}, 1)}, {tensor({1024}, 2)});
  b.add("aten::mm", kNoNode, {tensor({64, 64}, 3), tensor({64, 64}, 4)}, {tensor({64, 64}, 5)});
  b.add("aten::_foreach_add_", kNoNode, {{{{1024}, {64, 64}}, {2, 5}, "GenericList[Tensor(float),Tensor(float)]", {}}}, {});
  b.add("aten::relu", kNoNode, {tensor({1024}, 2)}, {tensor({1024}, 6)});
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_EQ(d.operators, 4U);
  EXPECT_EQ(d.chain.operators, 3U);
  EXPECT_EQ(d.chain.flops, 2.0 * 64 * 64 * 64 + 5120 + 1024);
  EXPECT_LT(d.chain.seconds, d.seconds);
}

TEST(ExecutionDiagnosis, TimesAtTheRoof) {
  Builder b;
  b.add("aten::mm", kNoNode, {tensor({8192, 8192}, 1), tensor({8192, 8192}, 2)}, {tensor({8192, 8192}, 3)});
  b.add("aten::relu", kNoNode, {tensor({8192, 8192}, 3)}, {tensor({8192, 8192}, 4)});
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_DOUBLE_EQ(sum(d, Kind::product).seconds, 2.0 * 8192 * 8192 * 8192 / 100e12);
  EXPECT_DOUBLE_EQ(sum(d, Kind::stream).seconds, 2.0 * 2 * 8192 * 8192 / 1e12);
  EXPECT_EQ(d.small, 0U);
  EXPECT_EQ(diagnose_execution(b.trace, {}).seconds, 0) << "without peaks there are no times";
}

TEST(ExecutionDiagnosis, ManySmallOperators) {
  Builder b;
  for (int i = 0; i < 200; ++i) b.add("aten::add", kNoNode, {tensor({1000}, 1), tensor({1000}, 1)}, {tensor({1000}, 1)});
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_EQ(d.small, 200U);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].title, "Most operators are too small to keep the GPU busy while the next is launched");
  EXPECT_GT(d.findings[0].cost_pct, 90);
}

TEST(ExecutionDiagnosis, ProductsInSinglePrecision) {
  Builder b;
  const char* kFloat = "Tensor(float)";
  b.add("aten::mm", kNoNode, {tensor({4096, 4096}, 1, kFloat), tensor({4096, 4096}, 2, kFloat)}, {});
  ASSERT_EQ(diagnose_execution(b.trace, kGpu).findings.size(), 1U);
  EXPECT_EQ(diagnose_execution(b.trace, kGpu).findings[0].title, "Products and convolutions are done in 32 bits");
}

TEST(ExecutionDiagnosis, TypesThatTheGpuMayNotHaveAreNotAdvised) {
  Builder b;
  const char* kFloat = "Tensor(float)";
  b.add("aten::mm", kNoNode, {tensor({4096, 4096}, 1, kFloat), tensor({4096, 4096}, 2, kFloat)}, {});
  const Finding unknown = diagnose_execution(b.trace, {}).findings.at(0);
  EXPECT_TRUE(unknown.remedy.starts_with("BF16 or TF32 on GPUs from Ampere on: ")) << unknown.remedy;
  EXPECT_NE(unknown.remedy.find("FP16 on those before: torch.autocast(\"cuda\", dtype=torch.float16)"), std::string::npos);
  EXPECT_EQ(unknown.expected.find("bf16"), std::string::npos);
  EXPECT_FALSE(unknown.gain) << "without a GPU it is not known what it takes";
  const Finding known = diagnose_execution(b.trace, {100e12, 1e12, 5e-6, true}).findings.at(0);
  EXPECT_TRUE(known.remedy.starts_with("torch.autocast(\"cuda\", dtype=torch.bfloat16)")) << known.remedy;
  ASSERT_TRUE(known.gain);
  EXPECT_GT(known.gain->high_pct, 0);
}

TEST(ExecutionDiagnosis, AnOptimizerOfManyOperators) {
  Builder b;
  b.add("ProfilerStep#3", kNoNode, {}, {});
  const auto step = b.add("Optimizer.step#Adam.step", 0, {}, {});
  for (int i = 0; i < 300; ++i)
    b.add("aten::mul_", step, {tensor({1 << 24}, 1), {{}, {}, "Double", "0.9"}}, {tensor({1 << 24}, 1)});
  b.add("aten::_local_scalar_dense", 0, {tensor({}, 7)}, {});
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_EQ(d.steps, 1U);
  EXPECT_EQ(d.optimizer_operators, 300U);
  EXPECT_EQ(d.syncs, 1U);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].remedy, "fused=True (Adam, AdamW, SGD, Adagrad), or foreach=True");
}

TEST(ExecutionDiagnosis, Exchanges) {
  Builder b;
  for (int i = 0; i < 40; ++i) {
    const auto n = b.add("record_param_comms", kNoNode, {tensor({1000}, 1)}, {tensor({1000}, 1)});
    b.trace.nodes[n].exchange = TraceExchange{"allreduce", "0", "Float", 1000, 1000, 8};
  }
  const auto d = diagnose_execution(b.trace, kGpu);
  ASSERT_EQ(d.exchanges.size(), 1U);
  EXPECT_EQ(d.exchanges[0].calls, 40U);
  EXPECT_EQ(d.exchanges[0].bytes, 160'000);
  EXPECT_EQ(d.exchanges[0].ranks, 8U);
  EXPECT_EQ(d.chain.operators, 40U) << "each waits for the one before";
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].title, "Exchanges are many and small");
}

ExecutionNode chakra(NodeWork work, double us, std::vector<std::uint32_t> waits_for) {
  ExecutionNode n;
  n.work = work;
  n.on_gpu = true;
  n.duration_us = us;
  n.waits_for = std::move(waits_for);
  if (!n.waits_for.empty()) n.parent = n.waits_for.back();
  if (work == NodeWork::exchange) {
    n.exchange = TraceExchange{"all_reduce", "0", "", 0, 0, 0, 64e6};
  } else if (work == NodeWork::compute) {
    n.operations = 1e9;
    n.bytes = 1e6;
  }
  return n;
}

TEST(ExecutionDiagnosis, WhatChakrasNodesSayOfWorkAndTime) {
  ExecutionTrace t;
  for (std::uint32_t i = 0; i < 50; ++i) {
    t.nodes.push_back(
        chakra(NodeWork::compute, 500, i > 0 ? std::vector<std::uint32_t>{2 * i - 1} : std::vector<std::uint32_t>{}));
    t.nodes.push_back(chakra(NodeWork::exchange, 250, {2 * i}));
  }
  const auto d = diagnose_execution(t, kGpu);
  EXPECT_EQ(d.operators, 50U) << "one that waits for another does not call it";
  EXPECT_DOUBLE_EQ(d.flops, 50e9);
  EXPECT_DOUBLE_EQ(d.bytes, 50e6);
  EXPECT_NEAR(d.seconds, 50 * 1e9 / 100e12, 1e-12);
  EXPECT_EQ(d.chain.operators, 100U);
  ASSERT_TRUE(d.traced);
  EXPECT_NEAR(d.traced->compute_s, 25e-3, 1e-12);
  EXPECT_NEAR(d.traced->exchange_s, 12.5e-3, 1e-12);
  EXPECT_NEAR(d.traced->row_s, 37.5e-3, 1e-12);
  ASSERT_EQ(d.exchanges.size(), 1U);
  EXPECT_DOUBLE_EQ(d.exchanges[0].bytes, 50 * 64e6);
  EXPECT_NEAR(d.exchanges[0].seconds, 12.5e-3, 1e-12);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].title, "Exchanges wait for operators and operators for exchanges: 33 % of the longest row is theirs");
  EXPECT_NEAR(d.findings[0].gain->high_pct, 100.0 / 3, 1e-9);
}

TEST(ExecutionDiagnosis, ExchangesBesideOperatorsAreNotInTheRow) {
  ExecutionTrace t;
  t.nodes.push_back(chakra(NodeWork::compute, 500, {}));
  t.nodes.push_back(chakra(NodeWork::exchange, 300, {0}));
  t.nodes.push_back(chakra(NodeWork::compute, 500, {0}));
  const auto d = diagnose_execution(t, kGpu);
  EXPECT_NEAR(d.traced->sum_s(), 1300e-6, 1e-12);
  EXPECT_NEAR(d.traced->row_s, 1000e-6, 1e-12);
  EXPECT_EQ(d.traced->row_exchange_s, 0);
  EXPECT_EQ(d.chain.operators, 2U);
  EXPECT_TRUE(d.findings.empty());
}

TEST(ExecutionDiagnosis, AKernelOfAnOperatorIsNoOperatorOfItsOwn) {
  Builder b;
  const auto op = b.add("aten::mm", kNoNode, {tensor({64, 64}, 1), tensor({64, 64}, 2)}, {tensor({64, 64}, 3)});
  b.trace.nodes[op].work = NodeWork::compute;
  b.trace.nodes[op].on_host = true;
  b.trace.nodes[op].duration_us = 20;
  for (const std::uint32_t parent : {op, kNoNode}) {
    ExecutionNode kernel = chakra(NodeWork::compute, 40, {});
    kernel.operations = kernel.bytes = 0;
    kernel.parent = parent;
    if (parent != kNoNode) kernel.waits_for = {parent};
    b.trace.nodes.push_back(kernel);
  }
  const auto d = diagnose_execution(b.trace, kGpu);
  EXPECT_EQ(d.operators, 2U) << "the product, and what ran by itself";
  EXPECT_EQ(d.flops, 2.0 * 64 * 64 * 64);
  EXPECT_NEAR(d.traced->sum_s(), 80e-6, 1e-12) << "on the GPU";
  EXPECT_NEAR(d.traced->row_s, 60e-6, 1e-12) << "the kernel waits for the host";
}

TEST(ExecutionDiagnosis, NodesThatWaitForEachOtherInACircleAreLeftOut) {
  ExecutionTrace t;
  t.nodes.push_back(chakra(NodeWork::compute, 500, {1}));
  t.nodes.push_back(chakra(NodeWork::compute, 500, {0}));
  t.nodes.push_back(chakra(NodeWork::compute, 100, {}));
  const auto d = diagnose_execution(t, {});
  EXPECT_NEAR(d.traced->row_s, 100e-6, 1e-12);
  EXPECT_EQ(d.operators, 3U);
}

TEST(ExecutionDiagnosis, Nothing) {
  const auto d = diagnose_execution({}, kGpu);
  EXPECT_EQ(d.operators, 0U);
  EXPECT_TRUE(d.findings.empty());
}

}  // namespace
}  // namespace muster::diagnose
