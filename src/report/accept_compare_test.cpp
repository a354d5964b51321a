#include "report/accept_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "accept/sample.h"
#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Comparison;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Comparison sample() {
  Comparison c;
  c.name_a = "H200";
  c.name_b = "B200";
  c.rows = {{"hbm_read", 48, 40, 4693, 7600, 1.62, 1.61, 1.63, true, 1.157, 1.016, 0.978, 0.95},
            {"launch_us", 48, 40, 4.5, 4.9, 0.93, 0.91, 0.95, true, {}, {}, {}, {}},
            {"h2d_gb_s", 48, 40, 55.5, 55.6, 1.002, 0.99, 1.01, false, {}, {}, {}, {}},
            {"power_w", 48, 40, 691, 967, 1.4, 1.39, 1.41, true, {}, {}, 0.99, 0.97}};
  c.steps = {{"llama3-8b", "8 GPUs, tensor 2", 1.9, 0.95}, {"llama3-405b", "512 GPUs", 0, 11}};
  c.notes = {"H200: 3 GPUs: intervals lean on how much cards of a kind usually differ"};
  return c;
}

TEST(AcceptCompare, OneSentenceCountsWhatIsBetterWorseAndNotToldApart) {
  EXPECT_EQ(accept_compare_sentence(sample()), "B200 against H200: better in 1 of 3 figures, worse in 1, not told apart in 1");
}

TEST(AcceptCompare, ToDrawMorePowerIsNeitherBetterNorWorse) {
  Comparison c = sample();
  c.rows = {c.rows[3]};
  EXPECT_TRUE(has(accept_compare_sentence(c), "better in 0 of 0 figures"));
  const std::string text = render_accept_compare(c, false);
  EXPECT_TRUE(has(text, "a fact"));
  EXPECT_FALSE(has(text, "▲"));
}

TEST(AcceptCompare, TheTextHasRatiosIntervalsPerWattPerDollarShareOfTheSheetAndSteps) {
  const std::string text = render_accept_compare(sample(), false);
  for (const char* words : {"1.620", "1.610 to 1.630", "1.157", "1.016", "97.8 %", "95.0 %", "▼ worse", "≈ not told apart",
                            "llama3-8b", "950 ms", "2.000", "does not fit", "note: H200: 3 GPUs"})
    EXPECT_TRUE(has(text, words)) << words << "\n" << text;
}

TEST(AcceptCompare, ThePageDrawsEachIntervalAroundOneForWideAndNarrowScreens) {
  const std::string page = accept_compare_page(sample());
  EXPECT_TRUE(has(page, "id=\"ratios\""));
  EXPECT_TRUE(has(page, "id=\"ratios_narrow\""));
  EXPECT_TRUE(has(page, "<title>memory read: 1.620 (1.610 to 1.630), better</title>"));
  EXPECT_TRUE(has(page, "class=\"point open\"")) << "what is not told apart is hollow";
  EXPECT_TRUE(has(page, ">1.0</text>"));
  EXPECT_TRUE(has(page, "llama3-405b"));
  EXPECT_TRUE(has(page, "intervals lean on"));
  EXPECT_TRUE(has(page, "PER $-HOUR") || has(page, "per $-hour"));
}

TEST(AcceptCompare, NamesStayTextAndNothingIsAskedOfAnyNetwork) {
  Comparison c = sample();
  const std::string name(accept::kHostileName);
  c.name_a = c.name_b = c.steps[0].model = c.steps[0].plan = c.notes[0] = c.rows[0].metric = name;
  const std::string page = accept_compare_page(c);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
  for (const char* request : {"http://", "https://", "src=", "@import", "url("}) EXPECT_FALSE(has(page, request)) << request;
  EXPECT_EQ(render_accept_compare(c, false).find('\x1b'), std::string::npos);
  EXPECT_EQ(text_of(parse_json(accept_compare_json(c)).value(), "a"), name);
}

TEST(AcceptCompare, ProgramsGetTheSame) {
  const Value json = parse_json(accept_compare_json(sample())).value();
  const auto& figures = list_of(json, "figures");
  ASSERT_EQ(figures.size(), 4U);
  EXPECT_EQ(number_of(figures[0], "per_dollar_hour"), 1.016);
  EXPECT_EQ(text_of(figures[1], "better"), "lower");
  EXPECT_EQ(text_of(figures[2], "told_apart"), "false");
  EXPECT_EQ(text_of(figures[3], "outcome"), "a fact");
  EXPECT_EQ(number_of(list_of(json, "steps")[0], "times_as_fast"), 2);
  EXPECT_TRUE(list_of(json, "steps")[1].find("a_s")->is_null()) << "a model that does not fit takes no time";
}

TEST(AcceptCompare, RatiosThatAreNoNumbersDrawNothing) {
  Comparison c = sample();
  c.rows[0].ratio = c.rows[0].low = c.rows[0].high = std::nan("");
  c.rows[1].ratio = c.rows[1].high = std::numeric_limits<double>::infinity();
  c.rows[2].ratio = c.rows[2].low = 0;
  const std::string page = accept_compare_page(c);
  EXPECT_TRUE(has(page, "not known"));
  EXPECT_FALSE(has(page, "nan"));
  EXPECT_FALSE(has(page, "=\"inf"));
}

TEST(AcceptCompare, WithoutACommonFigureItSaysSo) {
  Comparison c;
  c.name_a = "A";
  c.name_b = "B";
  EXPECT_TRUE(has(accept_compare_page(c), "nothing can be compared"));
  EXPECT_TRUE(has(render_accept_compare(c, false), "no figure to compare"));
}

}  // namespace
}  // namespace muster::report
