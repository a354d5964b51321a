#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "diagnose/trace_builder.h"
#include "report/diagnosis_draw.h"

namespace muster::report {
namespace {

using diagnose::ms;
using diagnose::TraceBuilder;
using diagnose::us;

constexpr std::string_view kHostile = "</title></script><img src=x onerror=\"alert(1)\">";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::size_t times(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Two steps of 10 ms: a kernel each of 6 ms, then one of 1 ms on a second stream, then nothing.
Trace two_steps(std::string_view kernel = "nvjet_tst_128x256") {
  TraceBuilder b;
  for (std::int64_t s = 0; s < 2; ++s) {
    const std::int64_t at = s * 10 * ms;
    b.step({at, at + 10 * ms});
    b.kernel({at + 10 * us, at + 20 * us}, {at + 100 * us, at + 6'100 * us}, 7, kernel);
    b.kernel({at + 30 * us, at + 40 * us}, {at + 7 * ms, at + 8 * ms}, 9, "vectorized_elementwise_kernel");
  }
  return b.t;
}

Diagnosis diagnosis_of(const Trace& t, std::string file = "profile.json") {
  Diagnosis d;
  d.profiles.push_back(diagnose::take_apart(t, std::move(file), d.peaks));
  d.verdict = diagnose::verdict_of(d.profiles);
  return d;
}

diagnose::Finding some_finding() {
  diagnose::Finding f;
  f.title = "Copies from memory that is not pinned";
  f.evidence = {"Memcpy HtoD: 303 ms a step"};
  f.expected = "55 GB/s";
  f.achieved = "7 GB/s";
  f.remedy = "DataLoader(pin_memory=True)";
  f.gain = diagnose::Gain{10, 20};
  f.verify = "profile it again";
  return f;
}

// Of all that is drawn in the first lane of that name: width times height, as a share of the lane.
double area(std::string_view page, std::string_view lane) {
  auto at = page.find(fmt::format("aria-label=\"{}\"", lane));
  if (at == page.npos) return -1;
  const std::string_view svg = page.substr(at, page.find("</svg>", at) - at);
  const auto number = [&](std::size_t from, std::string_view key) {
    const auto begin = svg.find(key, from) + key.size();
    return parse_double(svg.substr(begin, svg.find('"', begin) - begin)).value_or(-1);
  };
  double sum = 0;
  for (at = svg.find("<rect"); at != svg.npos; at = svg.find("<rect", at + 1))
    sum += number(at, " width=\"") * number(at, " height=\"");
  return sum / 100 / 1500;
}

TEST(DiagnosisPage, TellsInThisOrderWhatBoundsAStepWhereItsTimeGoesWhatToDoAndHowAStepRuns) {
  const Trace t = two_steps();
  Diagnosis d = diagnosis_of(t);
  d.findings = {some_finding()};
  d.parts = {{"nccl", "What NCCL's log says", {"4 of 8 ports", "  ring 0"}, "{}"}};
  d.cannot = {"no shapes"};
  const std::string page = diagnosis_page(d);
  std::size_t before = 0;
  for (const std::string_view part :
       {"id=\"verdict\"", "confidence: ", "id=\"waterfall\"", "id=\"findings\"", "id=\"timeline\"", "id=\"kernels\"",
        "What NCCL's log says", "  ring 0\n", "What these files cannot say", "no shapes"}) {
    const auto at = page.find(part, before);
    ASSERT_NE(at, page.npos) << part;
    before = at;
  }
  EXPECT_TRUE(has(page, "DataLoader(pin_memory=True)"));
  EXPECT_TRUE(has(page, "achieved <b>7 GB/s</b>, expected <b>55 GB/s</b>"));
}

TEST(DiagnosisPage, AsksNothingOfAnyNetworkAndRunsNoScript) {
  const Trace t = two_steps();
  const std::string page = diagnosis_page(diagnosis_of(t));
  EXPECT_TRUE(has(page, "default-src 'none'; style-src 'unsafe-inline'"));
  for (const std::string_view outside : {"http:", "https:", "src=", "href=", "url(", "@import", "<link", "<script", "<iframe"})
    EXPECT_FALSE(has(page, outside)) << outside;
}

TEST(DiagnosisPage, ShowsHostileTextLetterByLetter) {
  Trace t = two_steps(kHostile);
  t.gpus = {std::string(kHostile)};
  for (const Mark& m : t.steps) t.names[m.name] += kHostile;
  Diagnosis d = diagnosis_of(t, std::string(kHostile));
  diagnose::Finding f = some_finding();
  for (std::string* s : {&f.title, &f.expected, &f.achieved, &f.remedy, &f.verify}) *s = kHostile;
  f.evidence = {std::string(kHostile), "\x1b[31m\xff"};
  d.findings = {f};
  d.verdict.sentence = kHostile;
  d.peaks.gpu = kHostile;
  d.parts = {{std::string(kHostile), std::string(kHostile), {std::string(kHostile)}, "{}"}};
  d.cannot = {std::string(kHostile)};
  const std::string page = diagnosis_page(d);
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "</script"));
  EXPECT_FALSE(has(page, "onerror=\"alert"));
  EXPECT_FALSE(has(page, "\x1b"));
  EXPECT_GT(times(page, "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"), 10U);
  EXPECT_TRUE(valid_utf8(page));
}

TEST(DiagnosisPage, TheClassesOfTheWaterfallSumToTheStep) {
  const Trace t = two_steps();
  const std::string page = diagnosis_page(diagnosis_of(t));
  const auto begin = page.find("id=\"waterfall\"");
  const std::string_view fall = std::string_view(page).substr(begin, page.find("</section>", begin) - begin);
  double sum = 0;
  for (auto at = fall.find("%;width:"); at != fall.npos; at = fall.find("%;width:", at + 1))
    sum += parse_double(fall.substr(at + 8, fall.find('%', at + 8) - at - 8)).value_or(1000);
  EXPECT_NEAR(sum, 100, 0.01);
  EXPECT_TRUE(has(fall, "<span class=\"n sum\">100.0</span>"));
}

TEST(DiagnosisPage, TheTimeLineDrawsAllTimeOfEachStream) {
  const Trace t = two_steps();
  const Diagnosis d = diagnosis_of(t);
  const std::string page = diagnosis_page(d);
  const auto length = static_cast<double>(d.profiles[0].line.steps[typical_step(d.profiles[0].line)].span.length());
  EXPECT_NEAR(area(page, "stream 7"), 6e6 / length, 0.001);
  EXPECT_NEAR(area(page, "stream 9"), 1e6 / length, 0.001);
  EXPECT_NEAR(area(page, "idle: why"), 1 - 7e6 / length, 0.001);
}

// A step of 25,000 kernels of two colours in turn, on three streams, with names that must be escaped.
Trace many_kernels() {
  TraceBuilder b;
  b.t.rank = 0;
  const std::string names[] = {std::string(300, '"'), "nvjet_" + std::string(kHostile), "elementwise" + std::string(1000, '&')};
  for (std::int64_t s = 0; s < 8; ++s) {
    const std::int64_t at = s * 200 * ms;
    b.step({at, at + 200 * ms});
    for (std::int64_t i = 0; i < 25'000; ++i) {
      const std::int64_t from = at + i * 8 * us;
      b.kernel({from, from + us}, {from + us, from + 5 * us}, static_cast<std::uint32_t>(i % 3), names[i % 2 + (i % 5 == 0)]);
    }
  }
  return b.t;
}

TEST(DiagnosisPage, IsBoundedForEightRanksOfTwoHundredThousandEventsAndStillDrawsAllTime) {
  const Trace t = many_kernels();
  ASSERT_EQ(t.gpu.size(), 200'000U);
  Diagnosis d = diagnosis_of(t);
  d.profiles.resize(10, d.profiles[0]);
  const std::string page = diagnosis_page(d);
  EXPECT_LT(page.size(), 3'000'000U);
  EXPECT_EQ(times(page, "class=\"rank\""), 8U);
  EXPECT_LE(times(page, "<rect"), 8 * 1500U);
  EXPECT_TRUE(has(page, "2 more ranks are not drawn."));
  for (const std::string_view lane : {"stream 0", "stream 1", "stream 2"}) EXPECT_NEAR(area(page, lane), 0.5 / 3, 0.01) << lane;
}

TEST(DiagnosisPage, CountsWhatAFindingSavesInGpuHoursAndDollars) {
  Diagnosis d;
  d.findings = {some_finding()};
  d.gpus = 64;
  d.price = 2.5;
  const std::string page = diagnosis_page(d);
  EXPECT_TRUE(has(page, "10 – 20 %"));
  EXPECT_TRUE(has(page, "154 – 307"));
  EXPECT_TRUE(has(page, "$384 – $768"));
  d.gpus = 0;
  EXPECT_FALSE(has(diagnosis_page(d), "GPU-hours"));
}

TEST(DiagnosisPage, WithoutAProfileThereAreFindingsAndPartsAlone) {
  Diagnosis d;
  d.findings = {some_finding()};
  d.parts = {{"hang", "A hang", {"rank 3 is missing"}, "{}"}};
  const std::string page = diagnosis_page(d);
  EXPECT_TRUE(has(page, "<h1>1 finding</h1>"));
  EXPECT_TRUE(has(page, "rank 3 is missing"));
  for (const std::string_view absent : {"id=\"waterfall\"", "id=\"timeline\"", "id=\"kernels\"", "id=\"waits\"", "id=\"cannot\""})
    EXPECT_FALSE(has(page, absent)) << absent;
  EXPECT_TRUE(has(diagnosis_page({}), "Nothing found to change"));
}

TEST(DiagnosisPage, AProfileInWhichNoGpuDidAnythingIsNotDrawn) {
  Trace t;
  t.names = {"ProfilerStep#1"};
  t.steps = {{{0, 10}, 0, 0}};
  const std::string page = diagnosis_page(diagnosis_of(t));
  EXPECT_TRUE(has(page, "Nothing ran on a GPU"));
  EXPECT_FALSE(has(page, "id=\"timeline\""));
}

TEST(DiagnosisPage, DrawsTheRoofOnlyWhereItIsKnownAndShapesTellWhatKernelsDo) {
  Trace t = two_steps();
  TraceBuilder b;
  b.t = t;
  b.op({0, 50 * us}, "aten::mm", 1, {{{{4096, 4096}}, "c10::BFloat16", ""}, {{{4096, 4096}}, "c10::BFloat16", ""}});
  for (GpuEvent& e : b.t.gpu) e.external = e.stream == 7 ? 1 : kNone;
  Diagnosis d;
  EXPECT_FALSE(has(diagnosis_page(diagnosis_of(b.t)), "class=\"roofline\""));
  d.peaks = {"h200", 57e12, 378e12, 757e12, 0, 4.2e12, 55e9, true};
  d.profiles.push_back(diagnose::take_apart(b.t, "p", d.peaks));
  const std::string page = diagnosis_page(d);
  EXPECT_TRUE(has(page, "class=\"roofline\""));
  EXPECT_TRUE(has(page, "BF16 757"));
  EXPECT_FALSE(has(page, "FP8 "));
}

TEST(DiagnosisPage, RingsTheRankThatTheOthersWaitFor) {
  TraceBuilder x, y;
  for (std::int64_t s = 0; s < 3; ++s) {
    const std::int64_t at = s * 10 * ms;
    for (TraceBuilder* b : {&x, &y}) b->step({at, at + 10 * ms});
    x.exchange({at, at + us}, {at + ms, at + 9 * ms});
    y.exchange({at, at + us}, {at + 8 * ms, at + 9 * ms});
  }
  x.t.rank = 0;
  y.t.rank = 1;
  Diagnosis d;
  const std::vector<const Trace*> both = {&x.t, &y.t};
  d.waits = diagnose::match_ranks(both);
  for (std::size_t i = 0; i < 2; ++i)
    d.profiles.push_back(diagnose::take_apart(*both[i], "r" + std::to_string(i), d.peaks, d.waits->by_event[i]));
  const std::string page = diagnosis_page(d);
  ASSERT_TRUE(has(page, "id=\"waits\""));
  EXPECT_EQ(times(page, "class=\"heat last\""), 3U);
  EXPECT_TRUE(has(page, "class=\"heat\" style=\"--w:1.00\" title=\"rank 0, ProfilerStep#5: waited 7 ms"));
  EXPECT_TRUE(has(page, "class=\"heat last\" style=\"--w:0.00\" title=\"rank 1, ProfilerStep#5: waited 0 ms"));
}

TEST(DiagnosisPage, CutsTextWithinNoCharacterAndNoEntity) {
  EXPECT_EQ(brief("short", 10), "short");
  EXPECT_EQ(brief("0123456789a", 10), "0123456789…");
  EXPECT_EQ(brief("012345678µ", 10), "012345678…");
  EXPECT_EQ(brief("<<<<", 4), "&lt;&lt;…");
  EXPECT_LE(brief(std::string(1'000'000, '"'), 60).size(), 130U);
  EXPECT_EQ(render_thousands(1234567.4), "1,234,567");
  EXPECT_EQ(render_thousands(-1234), "-1,234");
  EXPECT_EQ(render_thousands(-123), "-123");
  EXPECT_EQ(render_thousands(12.34), "12.3");
  EXPECT_EQ(render_length(999), "999 ns");
  EXPECT_EQ(render_length(12'340), "12.34 µs");
}

}  // namespace
}  // namespace muster::report
