#include "report/month.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::string_view kHostile = "<script>alert('x')</script>|`\"";
constexpr std::int64_t kHour_us = 3'600'000'000;

Time utc(std::string_view text) { return parse_utc(text).value(); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A day of ten GPUs, with so many hours useful and the others of those allocated held idle.
MonthPiece day_of_ten(Time from, std::int64_t useful_h, std::int64_t held_h) {
  MonthPiece p{from, from + days(1), {}, true};
  p.sum[SiteClass::useful] = useful_h * kHour_us;
  p.sum[SiteClass::held_idle] = held_h * kHour_us;
  p.sum[SiteClass::down] = 10 * kHour_us;
  p.sum[SiteClass::idle_no_demand] = (240 - 10 - useful_h - held_h) * kHour_us;
  return p;
}

Month october() {
  Month m;
  m.cluster = std::string(kHostile);
  m.source = "a test";
  m.gpus = 10;
  const MonthBounds b = month_of(utc("2026-10-15T12:00:00Z"));
  m.begin = b.begin;
  m.end = b.end;
  for (int d = 0; d < 31; ++d) {
    const bool good = d != 20;  // the 21st is below target
    m.days.push_back(day_of_ten(b.begin + days(d), good ? 190 : 100, good ? 10 : 100));
  }
  m.all = {b.begin, b.end, {}, true};
  for (const MonthPiece& d : m.days) m.all.sum += d.sum;
  m.cost = MonthCost{7440 * 3.0, "EUR", "a price of 3.00 EUR", {{"energy", 2320}, {"gpus", 20000}}, {}};
  MonthRow ada{"ada's group", 3, {}, {{"EUR", 100.0}}}, other{std::string(kHostile), 1, {}, {}};
  ada.sum[SiteClass::useful] = m.all.sum[SiteClass::useful];
  other.sum[SiteClass::held_idle] = m.all.sum[SiteClass::held_idle];
  MonthTable t{"account", {ada, other}, m.all.sum};
  t.nobody[SiteClass::useful] = t.nobody[SiteClass::held_idle] = 0;
  m.tables.push_back(t);
  m.charged_by = "rates.csv";
  return m;
}

TEST(MonthReport, AMonthIsOneOfTheCalendar) {
  const MonthBounds oct = month_of(utc("2026-10-31T23:59:59Z")), dec = month_of(utc("2026-12-01T00:00:00Z"));
  EXPECT_EQ(render_utc(oct.begin), "2026-10-01T00:00:00Z");
  EXPECT_EQ(render_utc(oct.end), "2026-11-01T00:00:00Z");
  EXPECT_EQ(render_utc(dec.begin), "2026-12-01T00:00:00Z");
  EXPECT_EQ(render_utc(dec.end), "2027-01-01T00:00:00Z");
  EXPECT_EQ(render_utc(month_of(utc("2028-02-10T00:00:00Z")).end), "2028-03-01T00:00:00Z") << "a leap year";
  EXPECT_EQ(month_name(dec.begin), "December 2026");
}

TEST(MonthReport, AMonthOfAZoneIsAnHourShorterOrLongerWhereTheClocksChange) {
  const ZoneOffsets berlin = {{Time{0}, 3600}, {utc("2026-03-29T01:00:00Z"), 7200}, {utc("2026-10-25T01:00:00Z"), 3600}};
  const MonthBounds mar = month_of(utc("2026-03-15T12:00:00Z"), berlin), oct = month_of(utc("2026-10-15T12:00:00Z"), berlin);
  EXPECT_EQ(render_utc(mar.begin), "2026-02-28T23:00:00Z");
  EXPECT_EQ(render_utc(mar.end), "2026-03-31T22:00:00Z");
  EXPECT_EQ(mar.end - mar.begin, hours(31 * 24 - 1));
  EXPECT_EQ(oct.end - oct.begin, hours(31 * 24 + 1));
  EXPECT_EQ(render_utc(month_of(utc("2026-02-28T23:00:00Z"), berlin).begin), "2026-02-28T23:00:00Z") << "March there";
  EXPECT_EQ(render_utc(month_of(utc("2026-02-28T22:59:59Z"), berlin).end), "2026-02-28T23:00:00Z") << "still February";
  const ZoneOffsets west = {{Time{0}, -12 * 3600}}, east = {{Time{0}, 14 * 3600}};
  EXPECT_EQ(render_utc(month_of(utc("2026-07-15T00:00:00Z"), west).begin), "2026-07-01T12:00:00Z");
  EXPECT_EQ(render_utc(month_of(utc("2026-07-15T00:00:00Z"), east).begin), "2026-06-30T10:00:00Z");
  EXPECT_EQ(month_name(wall_of(oct.begin, berlin)), "October 2026");
}

TEST(MonthReport, EachHourCostsMoreTheLessOfThemAreLeft) {
  const Month m = october();
  const MonthRates r = rates_of(m.all, m.cost->total);
  ASSERT_TRUE(r.owned && r.delivered && r.allocated && r.useful);
  EXPECT_DOUBLE_EQ(*r.owned, 3);
  EXPECT_DOUBLE_EQ(*r.delivered, 3 * 240.0 / 230);
  EXPECT_DOUBLE_EQ(*r.allocated, 3 * 240.0 / 200);
  EXPECT_DOUBLE_EQ(*r.useful, 3 * 7440.0 / (30 * 190 + 100));
  EXPECT_FALSE(rates_of({m.begin, m.end, {}, true}, 5).owned) << "no hours, no price of one";
}

TEST(MonthReport, MoneyOfTheClassesSumsToWhatEverythingCostAndSoDoShares) {
  const Month m = october();
  double classes = 0, shares = 0;
  for (const std::int64_t us : m.all.sum.milli_ms) classes += money_of(m, us).value();
  EXPECT_NEAR(classes, m.cost->total, 1e-6);
  for (const MonthRow& r : m.tables[0].rows) shares += share_of_cost(m, r.sum).value();
  EXPECT_NEAR(shares, m.cost->total, 1e-6);
}

TEST(MonthReport, AStreakIsOfWholeDaysUpToTheLast) {
  Month m = october();
  EXPECT_EQ(streak_of(m).days, 10U) << "the 22nd to the 31st";
  EXPECT_EQ(streak_of(m).reached, 30U);
  m.days.back().whole = false;
  EXPECT_EQ(streak_of(m).days, 9U) << "a day that is cut does not count";
  m.days[25].sum = {};
  EXPECT_EQ(streak_of(m).days, 4U) << "nor one of which nothing is known, which ends it";
  m.days[29] = day_of_ten(m.days[29].from, 1, 199);
  EXPECT_EQ(streak_of(m).days, 0U);
}

TEST(MonthReport, TheFirstSentencesSayHoursMoneyAndTarget) {
  Month m = october();
  const auto lines = headline_of(m);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "In October 2026, 78.0 % of 7,440 GPU-hours owned came to use.");
  EXPECT_EQ(lines[1],
            "All of it cost 22,320 EUR: an hour of a GPU 3.00 EUR to own and 3.85 EUR by the time it was useful; 1,640 GPU-hours "
            "(4,920 EUR) came to "
            "nothing, 930 of them idle with nobody waiting.");
  EXPECT_TRUE(has(lines[2], "against a target of 94.0 %: 30 of 31 whole days reached it, the last 10 in a row")) << lines[2];
  m.before = MonthPiece{utc("2026-09-01T00:00:00Z"), m.begin, day_of_ten({}, 180, 20).sum, true};
  EXPECT_TRUE(has(headline_of(m)[0], "3.0 points more than in September 2026")) << headline_of(m)[0];
}

TEST(MonthReport, WhatIsNotKnownIsNotCalledWaste) {
  Month m = october();
  m.all.sum = {};
  m.all.sum[SiteClass::unseen] = 100 * kHour_us;
  m.cost.reset();
  const auto lines = headline_of(m);
  EXPECT_EQ(lines[0], "In October 2026, 100.0 % of 100 GPU-hours owned were had by jobs; what they did with them is not known.");
  EXPECT_TRUE(has(lines[1], "0 GPU-hours came to nothing; what they cost is not known")) << lines[1];
  EXPECT_TRUE(has(lines[2], "is not known")) << lines[2];
}

TEST(MonthReport, PageAndJsonAndCsvTellTheSame) {
  const Month m = october();
  const std::string page = month_page(m), csv = month_csv(m);
  const Value json = parse_json(month_json(m)).value();
  for (const std::string& line : headline_of(m)) EXPECT_TRUE(has(page, line)) << line;
  EXPECT_EQ(text_of(json, "month"), "2026-10");
  EXPECT_EQ(number_of(*json.find("money_per_gpu_hour"), "owned"), 3.0);
  const Value& all = *json.find("all");
  double sum = 0;
  for (const auto& [name, us] : *all.find("classes_gpu_us")->object()) {
    double d = 0;
    EXPECT_TRUE(us.number(d));
    sum += d;
  }
  EXPECT_EQ(sum, number_of(all, "installed_gpu_us"));
  EXPECT_EQ(list_of(json, "days").size(), 31U);
  EXPECT_TRUE(has(csv, "section,name,class,gpu_us,gpu_hours,money,currency,value,unit\n")) << csv.substr(0, 100);
  EXPECT_TRUE(has(csv, "month,2026-10,down,1116000000000,310,930,EUR,,\n"));
  EXPECT_TRUE(has(csv, "rate,2026-10,owned,,,3,EUR,,\n"));
}

TEST(MonthReport, NamesStayTextAndNothingIsAskedFromOutside) {
  const Month m = october();
  const std::string page = month_page(m);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
  for (const char* part : {"http://", "https://", "src=", "url("}) EXPECT_FALSE(has(page, part)) << part;
  EXPECT_EQ(text_of(parse_json(month_json(m)).value(), "cluster"), kHostile);
}

TEST(MonthReport, APartThatIsMissingSaysHowToGetIt) {
  Month m = october();
  m.gaps.push_back(
      {"energy and carbon", "no readings of power were given", "muster energy -o json > e.json, then --energy e.json"});
  EXPECT_FALSE(has(month_page(m), "id=\"energy\""));
  EXPECT_TRUE(has(month_page(m), "then --energy e.json"));
  m.energy = MonthEnergy{1000, 1300, 130, "EUR", 400, "measured", {}};
  EXPECT_TRUE(has(month_page(m), "id=\"energy\""));
}

TEST(MonthReport, AMonthThatIsNotOverSaysSo) {
  Month m = october();
  EXPECT_FALSE(has(month_page(m), "Not the whole of"));
  m.days.pop_back();
  m.all.to = m.days.back().to;
  EXPECT_TRUE(has(month_page(m), "Not the whole of October 2026"));
  EXPECT_TRUE(has(headline_of(m)[0], "as far as it is known"));
}

TEST(Month, WhatNobodyMeasuredIsNotCalledNothing) {
  Month m = october();
  m.activity_known = false;
  EXPECT_TRUE(has(month_page(m), ">not seen<"));
  m.activity_known = true;
  EXPECT_FALSE(has(month_page(m), ">not seen<"));
}

}  // namespace
}  // namespace muster::report
