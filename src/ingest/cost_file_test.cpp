#include "ingest/cost_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kSmall =
    "name: small\n"
    "as_of: 2026-11-01\n"
    "gpus: 16\n"
    "gpu_price: {low: 30000, likely: 35000, high: 45000}\n"
    "years: 4\n"
    "use: {availability: 0.95, utilisation: 0.7}\n"
    "power: {idle_kw: 3, busy_kw: 8, cooling: liquid, usd_per_kwh: 0.1}\n"
    "facility: {usd_per_kw_month: 150, includes_power: true}\n"
    "capital:\n"
    "  - {name: switches, for: network, usd: 36000, quantity: 2, years: 6}\n";

std::string refused(const std::string& text) {
  const auto r = parse_cost_site(text, "s.yaml");
  EXPECT_FALSE(r) << text;
  return r ? "" : r.error().what;
}
std::string with(const std::string& line) { return kSmall + line + "\n"; }

TEST(CostFile, ReadsNumbersAndRanges) {
  const auto s = parse_cost_site(kSmall, "s.yaml");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->gpu_price, Estimate(30'000, 35'000, 45'000));
  EXPECT_TRUE(s->years.certain());
  EXPECT_EQ(s->utilisation.likely, 0.7);
  EXPECT_EQ(s->cooling, Cooling::liquid);
  EXPECT_FALSE(s->pue) << "what is usual with that cooling";
  EXPECT_TRUE(s->hall_includes_power);
  ASSERT_EQ(s->capital.size(), 1U);
  EXPECT_EQ(s->capital[0].quantity.likely, 2);
  EXPECT_EQ(s->capital[0].years.likely, 6);
}

TEST(CostFile, WhatIsWrongIsToldWithItsLine) {
  EXPECT_EQ(refused(with("interst: 0.08")), "s.yaml:11: unknown key \"interst\"; did you mean interest?");
  EXPECT_EQ(refused(with("people: {fte: 3}")), "s.yaml:11: unknown key \"people.fte\"");
  EXPECT_EQ(refused(with("interest: 8")), "s.yaml:11: interest must be 0 to 0.5, is 8");
  EXPECT_EQ(refused(with("residual: much")), "s.yaml:11: residual must be a number, is text");
  EXPECT_EQ(refused(with("spares: {low: 0.1, likely: 0.05, high: 0.2}")), "s.yaml:11: spares: low, likely and high must rise");
  EXPECT_EQ(refused(with("spares: {low: 0.1, likely: 0.2}")), "s.yaml:11: spares.high is missing");
  EXPECT_EQ(refused(with("  - {name: switches, for: network, usd: 1}")), "s.yaml:11: capital: \"switches\" is there twice");
  EXPECT_EQ(refused(with("  - {name: x, for: people, usd: 1}")),
            "s.yaml:11: capital[2].for must be network, storage or facility: gpu_price buys the GPUs");
  EXPECT_EQ(refused(with("  - {name: y, for: network, usd: 1, qty: 2}")), "s.yaml:11: unknown key \"capital[2].qty\"");
  EXPECT_EQ(refused("name: a\nas_of: soon\ngpus: 8\ngpu_price: 1\n"),
            "s.yaml:2: as_of must be a day such as 2026-11-01, is \"soon\"");
  EXPECT_EQ(refused("name: a\nas_of: 2026-11-01\ngpu_price: 1\n"), "s.yaml:1: gpus is missing");
  EXPECT_NE(refused(with("currency: euro")).find("three letters such as EUR"), std::string::npos);
  EXPECT_NE(refused("name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 1\npower: {nameplate_kw: 10200}\n").find("are these watts?"),
            std::string::npos);
  EXPECT_NE(refused("name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 1\npower: {busy_kw: 9, nameplate_kw: 8}\n")
                .find("below power.busy_kw"),
            std::string::npos);
  EXPECT_NE(refused("name: a\nas_of: 2026-11-01\ngpus: 8.5\ngpu_price: 1\n").find("gpus must be a whole number"),
            std::string::npos);
  EXPECT_NE(refused("name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 1\nuse: {availability: 0.5, utilisation: 0.6}\n")
                .find("utilisation 0.6 is above use.availability 0.5"),
            std::string::npos);
  EXPECT_NE(
      refused("name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 1\npower: {idle_kw: 9, busy_kw: 8}\n").find("below power.idle_kw"),
      std::string::npos);
  EXPECT_NE(refused("[1, 2]").find("must be a mapping"), std::string::npos);
}

TEST(CostFile, SettingsAreKeysOrTheirLastWord) {
  const auto s = parse_cost_site(kSmall, "s.yaml");
  ASSERT_TRUE(s);
  const auto c = change_cost_site(*s, {{"gpu_price", "20000"},
                                       {"utilisation", "0.5/0.6/0.7"},
                                       {"power.usd_per_kwh", "0.2"},
                                       {"capital.switches.usd", "50000"},
                                       {"pue", "1.2"}});
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->gpu_price, Estimate(20'000));
  EXPECT_EQ(c->utilisation, Estimate(0.5, 0.6, 0.7));
  EXPECT_EQ(c->usd_per_kwh.likely, 0.2);
  EXPECT_EQ(c->capital[0].usd.likely, 50'000);
  EXPECT_EQ(c->pue->likely, 1.2);
  EXPECT_EQ(s->gpu_price.likely, 35'000) << "the first one is as it was";
}

TEST(CostFile, APueBelongsToItsCooling) {
  const auto s =
      parse_cost_site("name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 1\npower: {cooling: air, pue: 1.6}\n", "s.yaml");
  ASSERT_TRUE(s);
  EXPECT_FALSE(change_cost_site(*s, {{"cooling", "liquid"}})->pue);
  EXPECT_TRUE(change_cost_site(*s, {{"cooling", "air"}})->pue) << "nothing changed";
  EXPECT_EQ(change_cost_site(*s, {{"cooling", "liquid"}, {"pue", "1.25"}})->pue->likely, 1.25);
}

TEST(CostFile, WrongSettingsAreRefused) {
  const auto s = parse_cost_site(kSmall, "s.yaml");
  ASSERT_TRUE(s);
  const auto why = [&](const char* key, const char* value) {
    const auto r = change_cost_site(*s, {{key, value}});
    EXPECT_FALSE(r) << key << "=" << value;
    return r ? std::string() : r.error().what + " | " + r.error().next;
  };
  EXPECT_EQ(why("utilization", "1"), "no number of the site is called \"utilization\" | did you mean utilisation?");
  EXPECT_NE(why("pue", "0.5").find("power.pue must be 1 to 4, is 0.5"), std::string::npos);
  EXPECT_NE(why("years", "many").find("years must be a number"), std::string::npos);
  EXPECT_NE(why("years", "1/2").find("one number or three"), std::string::npos);
  EXPECT_NE(why("years", "3/2/1").find("must rise"), std::string::npos);
  EXPECT_NE(why("cooling", "fan").find("air, rear_door, liquid"), std::string::npos);
  EXPECT_NE(why("utilisation", "0.99").find("above use.availability"), std::string::npos);
  EXPECT_NE(why("idle_kw", "9").find("below power.idle_kw"), std::string::npos)
      << "what a file may not say, --set may not either";
  EXPECT_FALSE(change_cost_site(*s, {{"pue", "1.2"}, {"power.pue", "1.3"}})) << "twice, by two names";
}

constexpr const char* kEuros =
    "name: here\nas_of: 2026-11-01\ncurrency: EUR\nexchange: {usd: 1.25, as_of: 2026-10-30}\n"
    "gpus: 8\ngpu_price: {low: 20000, likely: 24000, high: 28000}\n"
    "power: {busy_kw: 8, eur_per_kwh: 0.2}\nfacility: {eur_per_kw_month: 160}\n"
    "people: {count: 1, eur_per_person: 80000}\nrepairs: {part_eur: 24000, failures_a_year: 0.04}\n"
    "capital:\n  - {name: usd switches, for: network, eur: 1000, quantity: 2}\n";

TEST(CostFile, AnotherCurrencyIsConvertedAtTheRateOfTheFile) {
  const auto s = parse_cost_site(kEuros, "e.yaml");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->gpu_price, Estimate(25'000, 30'000, 35'000));
  EXPECT_DOUBLE_EQ(s->usd_per_kwh.likely, 0.25);
  EXPECT_DOUBLE_EQ(s->hall_usd_per_kw_month.likely, 200);
  EXPECT_DOUBLE_EQ(s->usd_per_person.likely, 100'000);
  EXPECT_DOUBLE_EQ(s->part_usd.likely, 30'000);
  EXPECT_DOUBLE_EQ(s->capital[0].usd.likely, 1250);
  EXPECT_EQ(s->capital[0].quantity.likely, 2) << "only money is converted";
  EXPECT_EQ(s->people.likely, 1);
  EXPECT_EQ(s->failures_a_year.likely, 0.04);
  EXPECT_EQ(s->busy_kw.likely, 8);
  const auto c = change_cost_site(*s, {{"gpu_price", "20000"}, {"eur_per_kwh", "0.4"}, {"capital.usd switches.eur", "2000"}});
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->gpu_price, Estimate(25'000)) << "--set is in the file's money too";
  EXPECT_DOUBLE_EQ(c->usd_per_kwh.likely, 0.5);
  EXPECT_DOUBLE_EQ(c->capital[0].usd.likely, 2500);
  EXPECT_FALSE(change_cost_site(*s, {{"usd_per_kwh", "0.4"}}));
}

TEST(CostFile, CurrenciesAreNotMixedAndNoRateIsInvented) {
  const std::string head = "name: a\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 1\n";
  EXPECT_NE(refused(head + "currency: EUR\n").find("a file in EUR needs `exchange:"), std::string::npos);
  EXPECT_NE(refused(head + "exchange: {usd: 1.1, as_of: 2026-10-30}\n").find("the file is in USD"), std::string::npos);
  EXPECT_NE(refused(head + "currency: EUR\nexchange: {usd: 1.1}\n").find("exchange.as_of is missing"), std::string::npos);
  EXPECT_NE(refused(head + "currency: EUR\nexchange: {usd: 0, as_of: 2026-10-30}\n").find("exchange.usd must be"),
            std::string::npos);
  EXPECT_EQ(refused(head + "currency: EUR\nexchange: {usd: 1.1, as_of: 2026-10-30}\npower: {usd_per_kwh: 0.1}\n"),
            "s.yaml:7: power.usd_per_kwh is in USD, and the file in EUR: power.eur_per_kwh");
  EXPECT_EQ(refused(head + "power: {eur_per_kwh: 0.1}\n"),
            "s.yaml:5: unknown key \"power.eur_per_kwh\"; did you mean usd_per_kwh?");
}

TEST(CostFile, ThoseThatShipAreRight) {
  const auto names = shipped_cost_site_names();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto s = shipped_cost_site(name);
    ASSERT_TRUE(s) << s.error().what;
    EXPECT_FALSE(s->assumptions.empty()) << name << " names what it rests upon";
  }
  const auto none = shipped_cost_site("h200-1024-color");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().next.find("did you mean h200-1024-colo?"), std::string::npos);
}

}  // namespace
}  // namespace muster
