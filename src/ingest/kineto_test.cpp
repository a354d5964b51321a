#include "ingest/kineto.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

Result<Trace> read(std::string_view text, std::size_t piece = 1 << 20) {
  KinetoReader r;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    if (auto ok = r.feed(text.substr(i, piece)); !ok) return tl::unexpected(ok.error());
  }
  return r.finish();
}

constexpr std::string_view kHead = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "traceEvents": [)";
constexpr std::string_view kStep =
    R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 9, "tid": 9, "ts": 100.001, "dur": 50})";
constexpr std::string_view kCall =
    R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 101, "dur": 2.5,
    "args": {"cbid": 211, "correlation": 77}})";
constexpr std::string_view kKernel =
    R"({"ph": "X", "cat": "kernel", "name": "sm90_gemm<\"a\">", "pid": 0, "tid": 7, "ts": 1712170298765432.123, "dur": 4.567,
    "args": {"device": 0, "stream": 7, "correlation": 77, "grid": [1, 2, 3], "External id": 4}})";

std::string profile(std::initializer_list<std::string_view> events, std::string_view tail = "], \"traceName\": \"x\"}") {
  std::string out(kHead);
  for (const std::string_view e : events) {
    if (out.back() == '}') out += ",\n";
    out += e;
  }
  return out += tail;
}

TEST(Kineto, WhatItIs) {
  const std::string text = profile({kStep, kCall, kKernel});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
    const auto t = read(text, piece);
    ASSERT_TRUE(t) << t.error().what;
    EXPECT_EQ(t->rank, 3U);
    EXPECT_EQ(t->ranks, 8U);
    EXPECT_EQ(t->gpus, std::vector<std::string>{"NVIDIA H100"});
    EXPECT_EQ(t->events, 3U);
    ASSERT_EQ(t->gpu.size(), 1U);
    EXPECT_EQ(t->gpu[0].span.start_ns, 1712170298765432123) << "no double holds this";
    EXPECT_EQ(t->gpu[0].span.length(), 4567);
    EXPECT_EQ(t->gpu[0].correlation, 77U);
    EXPECT_EQ(t->gpu[0].stream, 7U);
    EXPECT_EQ(t->names[t->gpu[0].name], "sm90_gemm<\"a\">");
    ASSERT_EQ(t->calls.size(), 1U);
    EXPECT_EQ(t->calls[0].span.end_ns, 103500);
    ASSERT_EQ(t->steps.size(), 1U);
    EXPECT_EQ(t->steps[0].span.start_ns, 100001);
    EXPECT_FALSE(t->cut);
  }
}

TEST(Kineto, EveryGenerationAndMaker) {
  const auto kind = [](std::string_view cat, std::string_view name) {
    const auto t = read(fmt::format(
        R"([{{"name": "{}", "cat": "{}", "ph": "X", "ts": 5, "dur": 1, "pid": "1", "tid": "stream 3"}}])", name, cat));
    EXPECT_TRUE(t) << cat;
    return t && t->gpu.size() == 1 ? static_cast<int>(t->gpu[0].work) : -1;
  };
  EXPECT_EQ(kind("Kernel", "volta_sgemm"), 0);
  EXPECT_EQ(kind("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)"), 1);
  EXPECT_EQ(kind("kernel", "void vllm::cross_device_reduce_1stage<half>"), 1);
  EXPECT_EQ(kind("kernel", "deep_ep::intranode::dispatch<8>"), 1);
  EXPECT_EQ(kind("Memcpy", "Memcpy HtoD (Pageable -> Device)"), 2);
  EXPECT_EQ(kind("gpu_memset", "Memset (Device)"), 3);
  EXPECT_EQ(kind("python_function", "x.py(3): f"), -1);
  EXPECT_EQ(kind("gpu_user_annotation", "ProfilerStep#3"), -1);
}

TEST(Kineto, TimesInAnyDecimalForm) {
  const auto start = [](std::string_view ts) {
    const auto t = read(fmt::format(R"([{{"ph": "X", "cat": "kernel", "name": "k", "ts": {}, "dur": 1}}])", ts));
    return t && t->gpu.size() == 1 ? t->gpu[0].span.start_ns : -1;
  };
  EXPECT_EQ(start("12"), 12000);
  EXPECT_EQ(start("12.3456789"), 12345);
  EXPECT_EQ(start("\"12.5\""), 12500);
  EXPECT_EQ(start("1.2e3"), 1'200'000);
  EXPECT_EQ(start("-2"), -2000);
  EXPECT_EQ(start("9223372036854775807"), -1) << "out of reach";
  EXPECT_EQ(start("true"), -1);
}

TEST(Kineto, BrokenFilesSayWhatTheySay) {
  const std::string bad_name =
      R"({"ph": "X", "cat": "kernel", "name": "a)" + std::string("\x01\xff", 2) + R"(b", "ts": 5, "dur": 1})";
  const auto odd = read(profile({kStep, bad_name, kKernel}));
  ASSERT_TRUE(odd) << odd.error().what;
  EXPECT_EQ(odd->gpu.size(), 2U);
  EXPECT_EQ(odd->damaged, 0U);
  EXPECT_EQ(odd->events, 3U) << "none counted twice";
  const auto wrong = read(profile({kStep, R"({"ph": "X", "cat": "kernel", "name": 5, "ts": 1})", kKernel}));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->gpu.size(), 1U);
  EXPECT_EQ(wrong->damaged, 1U);
  const std::string text = profile({kStep, kCall, kKernel});
  for (std::size_t n = kHead.size() + 3; n < text.size(); n += 5) {
    const auto t = read(std::string_view(text).substr(0, n));
    EXPECT_TRUE(!t || t->cut || t->events == 3) << n;
  }
  const auto negative = read(R"([{"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": -1}])");
  EXPECT_EQ(negative->gpu[0].span.length(), 0);
}

TEST(Kineto, WhatIsNoneIsRefused) {
  EXPECT_EQ(read("").error().what, "there are no traceEvents in it");
  EXPECT_EQ(read("{\"traceEvents\": []}").error().what, "the profile has no events");
  EXPECT_EQ(read("{\"nodes\": [{\"id\": 1}]}").error().what, "there are no traceEvents in it");
  EXPECT_EQ(read("hello").error().what, "byte 0: neither an object nor an array of events begins here");
  EXPECT_EQ(read("{\"a\" 5}").error().what, "byte 5: a colon is expected here");
  EXPECT_FALSE(looks_like_kineto("{\"nodes\": []}"));
  EXPECT_TRUE(looks_like_kineto("  {\"schemaVersion\": 1"));
  // Nothing but brackets: an end is made before memory is gone.
  KinetoReader deep;
  Result<void> fed = deep.feed("{\"traceEvents\": [");
  const std::string brackets(std::size_t{1} << 20, '[');
  for (int i = 0; i < 200 && fed; ++i) fed = deep.feed(brackets);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().what, "an event of more than 64 MiB begins at byte 17");
}

TEST(Kineto, ManyEventsInWindows) {
  std::string text = "{\"traceEvents\": [\n";
  constexpr int kEvents = 60'000;  // some ten windows
  for (int i = 0; i < kEvents; ++i) {
    text += fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"op {}\", \"pid\": 0, \"tid\": 7,\n    \"ts\": {}.5, \"dur\": 1,\n"
        "    \"args\": {{\"External id\": {}, \"correlation\": {}, \"Input Dims\": [[{}, 4096], [], [\"a, {{\"]], \"pad\": "
        "\"{}\"}}\n  }}{}\n",
        i % 3 == 0   ? "kernel"
        : i % 3 == 1 ? "cuda_runtime"
                     : "cpu_op",
        i % 50, i, i, i, i, std::string(600, 'x'), i + 1 < kEvents ? "," : "");
  }
  text += "], \"distributedInfo\": {\"rank\": 1}}";
  const auto t = read(text, 65'536);
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(t->events, static_cast<std::uint64_t>(kEvents));
  EXPECT_EQ(t->gpu.size(), static_cast<std::size_t>(kEvents) / 3);
  EXPECT_EQ(t->calls.size(), static_cast<std::size_t>(kEvents) / 3);
  EXPECT_EQ(t->rank, 1U) << "what stands after the events counts too";
  EXPECT_EQ(t->damaged, 0U);
  for (std::size_t i = 1; i < t->gpu.size(); ++i) ASSERT_EQ(t->gpu[i].span.start_ns - t->gpu[i - 1].span.start_ns, 3000);
}

}  // namespace
}  // namespace muster
