// What profiles say beside times: operators and their inputs, launches, exchanges, marks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "ingest/kineto.h"

namespace muster {
namespace {

Trace read(std::string_view text, std::size_t piece = 1 << 20) {
  KinetoReader r;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    if (auto ok = r.feed(text.substr(i, piece)); !ok) return {};
  }
  auto t = r.finish();
  return t ? std::move(*t) : Trace{};
}

std::string event(std::string_view cat, std::string_view name, std::string_view args, std::string_view ts = "10") {
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": 5, "args": {{{}}}}})", cat,
                     name, ts, args);
}
std::string events(std::initializer_list<std::string> all) {
  std::string out = "[";
  for (const std::string& e : all) out += (out.size() > 1 ? ",\n" : "") + e;
  return out + "]";
}

// No index points beyond what it is one of.
void expect_whole(const Trace& t) {
  const auto name = [&](std::uint32_t i) { ASSERT_LT(i, t.names.size()); };
  const auto thread = [&](std::uint32_t i) { ASSERT_LT(i, t.threads.size()); };
  for (const GpuEvent& e : t.gpu) {
    name(e.name);
    const std::size_t details = e.work == GpuWork::communication ? t.exchanges.size() : t.launches.size();
    ASSERT_TRUE(e.detail == kNone || e.detail < details);
    ASSERT_LE(e.span.start_ns, e.span.end_ns);
  }
  for (const RuntimeCall& c : t.calls) {
    name(c.name);
    thread(c.thread);
  }
  for (const auto* marks : {&t.steps, &t.marks}) {
    for (const Mark& m : *marks) {
      name(m.name);
      thread(m.thread);
    }
  }
  for (const HostOp& op : t.ops) {
    name(op.name);
    thread(op.thread);
    ASSERT_TRUE(op.inputs == kNone || op.inputs < t.inputs.size());
  }
  for (const ExchangeAsk& x : t.exchanges) {
    for (const std::uint32_t i : {x.op, x.group, x.dtype}) name(i == kNone ? 0 : i);
  }
  ASSERT_LE(t.gpu.size() + t.calls.size() + t.steps.size() + t.marks.size() + t.ops.size(), t.events);
}

const std::vector<OpInput>& inputs_of(const Trace& t, std::size_t op) { return t.inputs.at(t.ops.at(op).inputs); }

TEST(KinetoDetail, InputsOfOperators) {
  const Trace t = read(events({event("cpu_op", "aten::addmm",
                                     R"("External id": 17, "Input type": ["float", "c10::BFloat16", "Scalar", ""],
                                        "Concrete Inputs": ["", "", "1", ""], "Input Dims": [[8], [4, 8], [], []])")}));
  ASSERT_EQ(t.ops.size(), 1U);
  EXPECT_EQ(t.names[t.ops[0].name], "aten::addmm");
  EXPECT_EQ(t.ops[0].external, 17U);
  EXPECT_EQ(t.ops[0].span.length(), 5000);
  const auto& in = inputs_of(t, 0);
  ASSERT_EQ(in.size(), 4U);
  EXPECT_EQ(in[0].shapes, (std::vector<std::vector<std::int64_t>>{{8}}));
  EXPECT_EQ(in[1].shapes, (std::vector<std::vector<std::int64_t>>{{4, 8}}));
  EXPECT_EQ(in[1].type, "c10::BFloat16");
  EXPECT_TRUE(in[2].shapes.empty()) << "a number";
  EXPECT_TRUE(in[3].shapes.empty());
  EXPECT_EQ(in[2].value, "") << "values are kept only where an operator's cost depends on them";
}

TEST(KinetoDetail, ListsOfTensorsAndNumbersOnTheGpu) {
  const Trace t = read(events({event("cpu_op", "aten::_foreach_add_",
                                     R"("Input Dims": [[[4, 8], [8], []], [[2]], [], [[[1]], 5]],
                                        "Input type": ["GenericList[Tensor(float)]", "TensorList", "double", "x"])")}));
  const auto& in = inputs_of(t, 0);
  ASSERT_EQ(in.size(), 4U);
  EXPECT_EQ(in[0].shapes, (std::vector<std::vector<std::int64_t>>{{4, 8}, {8}, {}}));
  EXPECT_EQ(in[1].shapes, (std::vector<std::vector<std::int64_t>>{{2}}));
  EXPECT_EQ(in[2].shapes, (std::vector<std::vector<std::int64_t>>{{}})) << "a tensor of one number has no dimensions";
  EXPECT_TRUE(in[3].shapes.empty()) << "nothing that makes sense";
}

TEST(KinetoDetail, ShapesThatAreNone) {
  for (const std::string_view dims :
       {"[[-1, 4]]", "[[99999999999999999999, 4]]", "[[1.5]]", R"([["a"]])", "[[null]]", "[true]"}) {
    const Trace t = read(events({event("cpu_op", "aten::mm", fmt::format(R"("Input Dims": {})", dims))}));
    ASSERT_EQ(t.ops.size(), 1U) << dims;
    EXPECT_EQ(t.damaged, 0U) << dims;
    for (const OpInput& in : inputs_of(t, 0)) EXPECT_TRUE(in.shapes.empty()) << dims;
    expect_whole(t);
  }
  for (const std::string_view dims : {"5", "\"[[4]]\"", "{}", "null"}) {
    const Trace t = read(events({event("cpu_op", "aten::mm", fmt::format(R"("Input Dims": {}, "External id": 3)", dims))}));
    ASSERT_EQ(t.ops.size(), 1U) << dims;
    EXPECT_EQ(t.ops[0].inputs, kNone) << dims;
    EXPECT_EQ(t.ops[0].external, 3U) << dims << ": what follows it is read";
  }
}

TEST(KinetoDetail, InputsThatAreHugeAreNotKept) {
  std::string dims = "[";
  for (int i = 0; i < 5000; ++i) dims += fmt::format("{}[{}, 4096]", i > 0 ? ", " : "", i);
  const Trace t =
      read(events({event("cpu_op", "aten::_foreach_mul_", "\"Input Dims\": [" + dims + "]], \"External id\": 9"),
                   event("cpu_op", "aten::mm", "\"Input Dims\": " + std::string(9000, '[') + std::string(9000, ']'))}));
  ASSERT_EQ(t.ops.size() + t.damaged, 2U);
  EXPECT_EQ(t.ops[0].external, 9U) << "the operator itself is";
  EXPECT_TRUE(t.inputs.empty());
  const Trace deep = read(events({event("cpu_op", "aten::mm", "\"Input Dims\": " + std::string(900, '[') + std::string(900, ']')),
                                  event("cpu_op", "aten::add", "")}));
  ASSERT_EQ(deep.ops.size(), 2U);
  EXPECT_EQ(deep.damaged, 0U);
  expect_whole(deep);
}

TEST(KinetoDetail, InputsAlikeAreKeptOnce) {
  const std::string dims = R"("Input Dims": [[4, 8]], "Input type": ["float"], "Concrete Inputs": ["{}"])";
  const Trace t = read(events({event("cpu_op", "aten::mul", dims), event("cpu_op", "aten::add", dims),
                               event("cpu_op", "aten::mul", R"("Input Dims": [[4, 8]], "Input type": ["double"])"),
                               event("cpu_op", "aten::convolution", dims)}));
  ASSERT_EQ(t.ops.size(), 4U);
  EXPECT_EQ(t.ops[0].inputs, t.ops[1].inputs);
  EXPECT_NE(t.ops[0].inputs, t.ops[2].inputs) << "of another type";
  EXPECT_NE(t.ops[0].inputs, t.ops[3].inputs) << "with values";
  EXPECT_EQ(inputs_of(t, 3)[0].value, "{}");
}

TEST(KinetoDetail, IdsInAnyForm) {
  const auto external = [](std::string_view id) {
    return read(events({event("cpu_op", "aten::mm", fmt::format(R"("External id": {})", id))})).ops.at(0).external;
  };
  EXPECT_EQ(external("17"), 17U);
  EXPECT_EQ(external("\"17\""), 17U);
  EXPECT_EQ(external("-1"), kNone);
  EXPECT_EQ(external("1099511627781"), 5U) << "the half that tells them apart";
  EXPECT_EQ(external("\"x\""), kNone);
  EXPECT_EQ(external("null"), kNone);
  EXPECT_EQ(read(events({event("kernel", "k", R"("external id": 4)")})).gpu.at(0).external, 4U) << "of older profiles";
  EXPECT_EQ(read(events({R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1})"})).ops.at(0).external, kNone);
  EXPECT_EQ(read(events({R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "args": 5})"})).gpu.at(0).detail, kNone);
}

TEST(KinetoDetail, LaunchesOfKernels) {
  const std::string args = R"("grid": [64, 2, 1], "block": [128, 1, 1], "registers per thread": 32, "shared memory": 49152,
                              "est. achieved occupancy %": 43)";
  const Trace t =
      read(events({event("kernel", "a", args), event("kernel", "b", args), event("kernel", "c", R"("grid": [1, 1, 1])"),
                   event("kernel", "d", ""), event("kernel", "e", R"("grid": [4294967295, 4294967295, 4294967295])"),
                   event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", R"("bytes": 4096, "grid": [1])")}));
  ASSERT_EQ(t.gpu.size(), 6U);
  EXPECT_EQ(t.launches.size(), 3U) << "those alike once";
  EXPECT_EQ(t.launches[t.gpu[1].detail], (Launch{128, 128, 32, 49152, 43}));
  EXPECT_EQ(t.launches[t.gpu[2].detail].blocks, 1U);
  EXPECT_EQ(t.gpu[3].detail, kNone);
  EXPECT_EQ(t.launches[t.gpu[4].detail].blocks, 0U) << "no GPU has so many";
  EXPECT_EQ(t.gpu[5].detail, kNone);
  EXPECT_EQ(t.gpu[5].bytes, 4096U);
}

constexpr std::string_view kAsk =
    R"("Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1000, "Out msg nelems": 2000, "Group size": 8,
       "Process Group Name": "7", "Process Group Ranks": [0, 1], "Seq": 41)";

TEST(KinetoDetail, ExchangesSayWhatTheyCarry) {
  const Trace t = read(events({event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", kAsk)}));
  ASSERT_EQ(t.exchanges.size(), 1U);
  const ExchangeAsk& x = t.exchanges[t.gpu.at(0).detail];
  EXPECT_EQ(t.names[x.op], "allreduce");
  EXPECT_EQ(t.names[x.group], "7");
  EXPECT_EQ(t.names[x.dtype], "BFloat16");
  EXPECT_EQ(x.ranks, 8U);
  EXPECT_EQ(x.in_elements, 1000U);
  EXPECT_EQ(x.out_elements, 2000U);
  EXPECT_EQ(x.seq, 41U);
  EXPECT_EQ(x.lowest, 0U);
  EXPECT_EQ(x.highest, 1U);
  const Trace none = read(events({event("kernel", "ncclDevKernel_AllReduce(x)", R"("stream": 20)"),
                                  event("kernel", "ncclDevKernel_Broadcast(x)", R"("Collective name": "br\"oad\u0063ast")")}));
  EXPECT_EQ(none.gpu.at(0).detail, kNone);
  EXPECT_EQ(none.names[none.exchanges[none.gpu.at(1).detail].op], "br\"oadcast");
  EXPECT_EQ(none.exchanges[0].seq, UINT64_MAX);
  EXPECT_EQ(none.exchanges[0].group, kNone);
  EXPECT_EQ(none.exchanges[0].lowest, kNone);
  const Trace quoted = read(events({event(
      "kernel", "ncclDevKernel_X(x)", R"("Collective name": "allreduce", "Process Group Ranks": "[16, 8, 99999999999]")")}));
  EXPECT_EQ(quoted.exchanges[0].lowest, 8U);
  EXPECT_EQ(quoted.exchanges[0].highest, 16U);
}

TEST(KinetoDetail, ExchangesThatOnlyTheirOperatorTellsOf) {
  // Kernels may stand before the operators that launched them.
  const Trace t = read(
      events({event("kernel", "ncclDevKernel_Generic(x)", R"("External id": 5)"),
              event("kernel", "ncclDevKernel_Generic(x)", R"("External id": 6)"), event("kernel", "gemm", R"("External id": 5)"),
              event("cpu_op", "record_param_comms", fmt::format(R"({}, "External id": 5)", kAsk)),
              event("cpu_op", "record_param_comms", kAsk)}));
  ASSERT_EQ(t.gpu.size(), 3U);
  ASSERT_NE(t.gpu[0].detail, kNone);
  EXPECT_EQ(t.names[t.exchanges[t.gpu[0].detail].op], "allreduce");
  EXPECT_EQ(t.gpu[1].detail, kNone) << "nobody told of this one";
  EXPECT_EQ(t.gpu[2].detail, kNone) << "this is no exchange";
  expect_whole(t);
}

TEST(KinetoDetail, MarksAndStepsOfAllGenerations) {
  const Trace t =
      read(events({event("Operator", "ProfilerStep#2", "", "50"), event("user_annotation", "ProfilerStep#1", "", "20"),
                   event("Operator", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ""),
                   event("user_annotation", "Optimizer.step#\\u0041dam.step", ""), event("Operator", "aten::mm", "")}));
  ASSERT_EQ(t.steps.size(), 2U);
  EXPECT_EQ(t.names[t.steps[0].name], "ProfilerStep#1") << "in their order";
  ASSERT_EQ(t.marks.size(), 2U);
  EXPECT_EQ(t.names[t.marks[1].name], "Optimizer.step#Adam.step");
  EXPECT_EQ(t.ops.size(), 1U);
  EXPECT_EQ(t.host_events, 5U);
}

TEST(KinetoDetail, ViewsAreCountedAndNotKept) {
  const Trace t =
      read(events({event("cpu_op", "aten::view", ""), event("cpu_op", "aten::t", ""), event("cpu_op", "aten::mm", ""),
                   event("cpu_op", "autograd::engine::evaluate_function: X", ""),
                   R"({"name": "aten::view", "ph": "X", "ts": 1, "cat": "cpu_op"})", event("cuda_runtime", "cudaMalloc", "")}));
  EXPECT_EQ(t.ops.size(), 1U);
  EXPECT_EQ(t.events, 6U);
  EXPECT_EQ(t.host_events, 6U);
  EXPECT_EQ(t.left_out, 0U);
}

TEST(KinetoDetail, MarksBeyondWhatIsKeptAreCounted) {
  KinetoReader r;
  std::string piece;
  for (int i = 0; i < 10'000; ++i) piece += R"({"ph":"X","cat":"user_annotation","name":"m","ts":1},)";
  ASSERT_TRUE(r.feed("["));
  for (int i = 0; i < 101; ++i) ASSERT_TRUE(r.feed(piece));
  ASSERT_TRUE(r.feed(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","ts":1}])"));
  const auto t = r.finish();
  ASSERT_TRUE(t);
  EXPECT_EQ(t->marks.size(), 1'000'000U);
  EXPECT_EQ(t->left_out, 10'000U);
  EXPECT_EQ(t->steps.size(), 1U) << "steps are always kept";
  EXPECT_EQ(t->events, 1'010'001U);
}

TEST(KinetoDetail, MultiprocessorsOfTheDevices) {
  const Trace t = read(R"({"deviceProperties": [{"name": "A", "numSms": 132}, {"name": "B"}, {"numSms": -5}, {"numSms": "x"}],
    "traceEvents": [)" +
                       event("kernel", "k", "") + "]}");
  EXPECT_EQ(t.units, (std::vector<std::uint32_t>{132, 0, 0, 0}));
  EXPECT_EQ(t.gpus.size(), 4U);
}

std::string mixed(std::string_view broken) {
  std::string out = "[";
  for (int i = 0; i < 30; ++i) {
    out += event("cpu_op", "aten::mm", fmt::format(R"("External id": {}, "Input Dims": [[{}, 4]])", i, i % 5)) + ",";
    out += event("cpu_op", "record_param_comms", fmt::format(R"("External id": {}, {})", 100 + i, kAsk)) + ",";
    out += event("kernel", fmt::format("k{}", i), fmt::format(R"("grid": [{}, 1, 1])", i)) + ",";
    out += event("kernel", "ncclDevKernel_X(x)", fmt::format(R"("External id": {})", 100 + i)) + ",";
    out += event("kernel", "ncclDevKernel_X(x)", kAsk) + ",";
    out += event("user_annotation", "m", "") + ",";
    if (i == 20) out += broken;
  }
  return out + event("cuda_runtime", "cudaLaunchKernel", "") + "]";
}

TEST(KinetoDetail, AWindowThatIsTakenBackLeavesNothingBehind) {
  const Trace good = read(mixed(""));
  for (const std::string_view broken :
       {R"({"ph": "X", "cat": "kernel", "name": 5, "ts": 1},)",
        R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "args": {"Input Dims" [1]}},)"}) {
    const Trace t = read(mixed(broken));
    expect_whole(t);
    EXPECT_EQ(t.damaged, 1U) << broken;
    EXPECT_EQ(t.gpu.size(), good.gpu.size());
    EXPECT_EQ(t.ops.size(), good.ops.size());
    EXPECT_EQ(t.marks.size(), 30U);
    EXPECT_EQ(t.exchanges.size(), good.exchanges.size()) << "none twice";
    EXPECT_EQ(t.inputs.size(), good.inputs.size());
    EXPECT_EQ(t.launches.size(), good.launches.size());
    EXPECT_EQ(t.events, good.events);
    EXPECT_EQ(t.host_events, good.host_events);
    for (std::size_t i = 0; i < t.gpu.size(); ++i) EXPECT_EQ(t.gpu[i].detail, good.gpu[i].detail);
  }
}

TEST(KinetoDetail, DamageIsCountedOnce) {
  const Trace t = read(mixed(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": "never"},
                                {"ph": "X", "cat": "kernel", "name": 5, "ts": 1},)"));
  EXPECT_EQ(t.damaged, 2U) << "one without a time, one without a name";
}

TEST(KinetoDetail, WhateverIsDamagedIndicesHold) {
  const std::string good = mixed("");
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Prng r(seed, "kineto");
    std::string bad = good;
    for (std::uint64_t n = 1 + r.below(6); n > 0; --n) {
      const std::size_t at = r.below(bad.size());
      switch (r.below(4)) {
        case 0: bad[at] = static_cast<char>(r.below(256)); break;
        case 1: bad.erase(at, 1 + r.below(40)); break;
        case 2: bad.insert(at, 1, "{}[]\",:\\"[r.below(8)]); break;
        default: bad.insert(at, good.substr(r.below(good.size()), r.below(300))); break;
      }
    }
    SCOPED_TRACE(seed);
    expect_whole(read(bad, 1 + r.below(5000)));
  }
}

}  // namespace
}  // namespace muster
