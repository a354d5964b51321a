#include "ingest/charge_files.h"

#include <gtest/gtest.h>

#include "base/civil.h"

namespace muster {
namespace {

constexpr const char* kRates =
    "# what the board decided\n"
    "id,valid_from,valid_to,gpu_type,partition,account,price_per_gpu_hour,discount_pct,currency\n"
    "all-2026,2026-01-01,,*,*,*,2.50,,USD\n"
    "h200-2026,2026-01-01,2026-07-01,H200,*,,3.125001,,USD\n"
    "physics,2026-03-01T06:00Z,,,,physics,,12.5,\n";

TEST(RateFile, ReadsPricesAndDiscounts) {
  const auto r = parse_rates(kRates, "rates.csv");
  ASSERT_TRUE(r) << r.error().what;
  ASSERT_EQ(r->size(), 3U);
  EXPECT_EQ((*r)[0].price_micro, 2'500'000);
  EXPECT_EQ((*r)[0].gpu_type, "") << "* is any";
  EXPECT_EQ((*r)[0].to, kNever);
  EXPECT_EQ((*r)[1].gpu_type, "h200");
  EXPECT_EQ((*r)[1].price_micro, 3'125'001);
  EXPECT_EQ((*r)[1].line, 4);
  EXPECT_FALSE((*r)[2].price_micro);
  EXPECT_EQ((*r)[2].discount_ppm, 125'000);
  EXPECT_EQ((*r)[2].from, *parse_moment_utc("2026-03-01T06:00Z"));
}

std::string refused(const std::string& rows) {
  const auto r =
      parse_rates("id,valid_from,valid_to,gpu_type,account,price_per_gpu_hour,discount_pct,currency\n" + rows, "r.csv");
  return r ? "" : r.error().what;
}

TEST(RateFile, RefusesWhatCouldBeReadInTwoWays) {
  EXPECT_EQ(refused("a,2026-01-01,,,,2,,USD\na,2026-02-01,,,,2,,USD\n"), "r.csv:3: id 'a' is that of line 2 already");
  EXPECT_EQ(refused("a,2026-01-01,,,,2,,USD\nb,2026-01-01,,,,3,,USD\n"),
            "r.csv:3: line 2 is for the same account, GPU type and partition from the same moment on");
  EXPECT_EQ(refused("a,01.02.2026,,,,2,,USD\n"),
            "r.csv:2: valid_from is '01.02.2026', not a moment in UTC such as 2026-11-01 or 2026-11-01T06:00:00Z");
  EXPECT_EQ(refused("a,2026-01-01,,,,\"2,50\",,USD\n"),
            "r.csv:2: price_per_gpu_hour is '2,50', not a number from 0 to 1000000 with at most six decimals");
  EXPECT_EQ(refused("a,2026-01-01,,,,-1,,USD\n").find("r.csv:2: price_per_gpu_hour"), 0U);
  EXPECT_EQ(refused("a,2026-01-01,,,,2,,usd\n"), "r.csv:2: currency is 'usd', not three capital letters such as USD");
  EXPECT_EQ(refused("a,2026-01-01,,,,2,10,USD\n"), "r.csv:2: it has a price and a discount: a discount is a row of its own");
  EXPECT_EQ(refused("a,2026-01-01,,,,,10,\n"), "r.csv:2: a discount must name its account");
  EXPECT_EQ(refused("a,2026-01-01,,,,,,USD\n"), "r.csv:2: it has no price_per_gpu_hour, and no discount_pct");
  EXPECT_EQ(refused("a,2026-02-01,2026-01-01,,,2,,USD\n"), "r.csv:2: valid_to is not after valid_from");
  EXPECT_EQ(refused(",2026-02-01,,,,2,,USD\n"), "r.csv:2: it has no id");
  EXPECT_EQ(refused(""), "r.csv:1: it has no rows");
  const auto typo = parse_rates("id,valid_from,price_per_gpu_hour,currency,acount\na,2026-01-01,2,USD,x\n", "r.csv");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().what, "r.csv:1: column 'acount' is not known");
}

TEST(AllocationFile, ReadsHoursAndMoney) {
  const auto a = parse_allocations(
      "account,from,to,gpu_hours,money,currency\nphys,2026-01-01,2027-01-01,100000.5,,\n"
      "bio,2026-01-01,2027-01-01,,25000,EUR\n",
      "a.csv");
  ASSERT_TRUE(a) << a.error().what;
  EXPECT_EQ((*a)[0].gpu_milli_ms, 1'000'005 * kMilliMsOfHour / 10);
  EXPECT_EQ((*a)[1].money_micro, 25'000 * kMicro);
  EXPECT_EQ((*a)[1].currency, "EUR");
}

TEST(AllocationFile, RefusesOverlapsAndBoth) {
  const auto what = [](const std::string& rows) {
    const auto a = parse_allocations("account,from,to,gpu_hours,money,currency\n" + rows, "a.csv");
    return a ? "" : a.error().what;
  };
  EXPECT_EQ(what("p,2026-01-01,2026-03-01,5,,\np,2026-02-01,2026-04-01,5,,\n"),
            "a.csv:3: it overlaps with line 2, which is of the same account");
  EXPECT_EQ(what("p,2026-01-01,2026-03-01,5,,\np,2026-03-01,2026-04-01,5,,\n"), "") << "one may follow another";
  EXPECT_EQ(what("p,2026-01-01,2026-03-01,5,5,USD\n"), "a.csv:2: it grants gpu_hours and money: one of the two");
  EXPECT_EQ(what("p,2026-01-01,2026-03-01,,,\n"), "a.csv:2: it grants neither gpu_hours nor money");
  EXPECT_EQ(what("p,2026-01-01,2026-03-01,0,,\n"), "a.csv:2: it grants nothing");
  EXPECT_EQ(what("p,2026-03-01,2026-03-01,1,,\n"), "a.csv:2: to is not after from");
}

Charge some_charge(std::uint64_t seq) {
  Charge c;
  c.seq = seq;
  c.cluster = "c1";
  c.job = "12_" + std::to_string(seq);
  c.started = begin_of(20'000);
  c.from = c.started;
  c.to = c.from + hours(2);
  c.account = "phys \"x\",\n=1+1";
  c.user = "ada";
  c.partition = "gpu";
  c.gpu_type = "h200";
  c.gpus_milli = 8000;
  c.rate = "all";
  c.price_micro = 2'500'000;
  c.currency = "USD";
  c.amount_micro = 40'000'000;
  c.charged = begin_of(20'001);
  return c;
}

std::string three_lines(Digest* head_out = nullptr) {
  Digest head{};
  std::string text = render_ledger_lines({some_charge(1), some_charge(2)}, head);
  text += render_ledger_lines({some_charge(3)}, head);
  if (head_out != nullptr) *head_out = head;
  return text;
}

TEST(Ledger, IsReadBackAsItWasWritten) {
  Digest head{};
  const std::string text = three_lines(&head);
  const auto l = parse_ledger(text, "ledger");
  ASSERT_TRUE(l) << l.error().what;
  ASSERT_EQ(l->charges.size(), 3U);
  EXPECT_EQ(l->head, head);
  EXPECT_EQ(l->bytes, text.size());
  EXPECT_FALSE(l->torn);
  EXPECT_EQ(l->charges[1].job, "12_2");
  EXPECT_EQ(l->charges[1].account, "phys \"x\",\n=1+1");
  EXPECT_EQ(l->charges[1].to - l->charges[1].from, hours(2));
  EXPECT_EQ(l->charges[2].amount_micro, 40'000'000);
  Digest again{};
  EXPECT_EQ(render_ledger_lines(l->charges, again), text);
  EXPECT_TRUE(parse_ledger("", "ledger")) << "a new one";
}

TEST(Ledger, EveryByteThatIsChangedIsNoticed) {
  const std::string text = three_lines();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'x' ? 'y' : 'x';
    const auto l = parse_ledger(other, "ledger");
    const bool last_break = i + 1 == text.size();  // then the last line was not written to its end
    EXPECT_TRUE(last_break ? l && l->torn && l->charges.size() == 2 : !l) << i;
  }
}

TEST(Ledger, LinesThatAreMissingMovedOrAddedAreNoticed) {
  const std::string text = three_lines();
  const std::size_t a = text.find('\n') + 1, b = text.find('\n', a) + 1;
  const std::string one = text.substr(0, a), two = text.substr(a, b - a), three = text.substr(b);
  EXPECT_TRUE(parse_ledger(one + two, "l")) << "what is missing at the end only the head tells";
  EXPECT_EQ(parse_ledger(one + three, "l").error().what,
            "l:2: its hash does not follow from the lines before it: it, or one before it, was changed");
  EXPECT_FALSE(parse_ledger(two + three, "l"));
  EXPECT_FALSE(parse_ledger(two + one + three, "l"));
  EXPECT_FALSE(parse_ledger(one + one + two, "l"));
  EXPECT_EQ(parse_ledger("hello\n", "l").error().what, "l:1: this is no line of a ledger");
  EXPECT_EQ(parse_ledger("hello\n", "l").error().code, Code::corrupt);
}

TEST(Ledger, WhatWasNotWrittenToItsEndIsNotRead) {
  const std::string text = three_lines();
  const std::size_t b = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t n = b + 1; n < text.size(); ++n) {
    const auto l = parse_ledger(std::string_view(text).substr(0, n), "l");
    ASSERT_TRUE(l);
    EXPECT_TRUE(l->torn);
    EXPECT_EQ(l->charges.size(), 2U);
    EXPECT_EQ(l->bytes, b);
  }
}

TEST(Micro, ReadsAndWritesMoney) {
  EXPECT_EQ(parse_micro("2.5"), 2'500'000);
  EXPECT_EQ(parse_micro("0.000001"), 1);
  EXPECT_EQ(parse_micro("12"), 12'000'000);
  for (const char* bad : {"", ".5", "1.", "1.0000001", "-1", "1e3", "1,5", "0x1", " 1", "1234567890123"})
    EXPECT_FALSE(parse_micro(bad)) << bad;
  EXPECT_EQ(render_micro(2'500'000), "2.5");
  EXPECT_EQ(render_micro(-1), "-0.000001");
  EXPECT_EQ(render_micro(12'000'000), "12");
}

}  // namespace
}  // namespace muster
