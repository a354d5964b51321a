#include "design/fabric_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/prng.h"
#include "model/fields.h"

namespace muster::design {
namespace {

using Change = FabricChangeKind;
using Kind = FabricFaultKind;

// Two leaves of two hosts each below two spines: 4xHDR.
Fabric small() {
  Fabric f;
  for (const char* name : {"leaf-0", "leaf-1", "spine-0", "spine-1"}) f.add({name, 100 + f.nodes.size(), true, {}});
  for (int h = 0; h < 4; ++h) {
    const std::uint32_t e = f.add({"gpu" + std::to_string(h) + " mlx5_0", 1U + static_cast<unsigned>(h), false, {}});
    f.connect(static_cast<std::uint32_t>(h / 2), static_cast<std::uint16_t>(1 + h % 2), e, 1, 25, 4);
  }
  for (std::uint16_t s = 0; s < 2; ++s) {
    f.connect(0, static_cast<std::uint16_t>(3 + s), 2U + s, 1, 25, 4);
    f.connect(1, static_cast<std::uint16_t>(3 + s), 2U + s, 2, 25, 4);
  }
  return f;
}

// Readings of one fabric, half a minute apart.
class Looks {
 public:
  explicit Looks(double window_s = FabricWatch::kWindow) : watch(small(), window_s) {}

  std::vector<FabricChange> look(const Fabric& found, double seconds = 30) {
    at_ += seconds;
    FabricReading r;
    r.at_s = at_;
    r.found.fabric = found;
    r.counters = counters();
    return watch.take(std::move(r));
  }
  std::vector<FabricChange> look() { return look(small()); }

  void count(int port, const std::string& counter, std::uint64_t more) { values_[{port, counter}] += more; }
  std::uint64_t& value(int port, const std::string& counter) { return values_[{port, counter}]; }

  FabricWatch watch;
  bool torn = false;  // the tool ends before it has told of any port

 private:
  CounterReading counters() const {
    CounterReading out;
    out.complete = !torn;
    if (torn) return out;
    for (const auto& [key, v] : values_) {
      if (out.ports.empty() || out.ports.back().port.port != key.first) out.ports.push_back({{100, "leaf-0", key.first}, {}});
      out.ports.back().values.emplace_back(key.second, v);
    }
    return out;
  }

  double at_ = 1000;
  std::map<std::pair<int, std::string>, std::uint64_t> values_;
};

Fabric without(std::uint32_t node, std::size_t port) {
  Fabric f = small();
  f.cut(f.out(node, port));
  return f;
}

std::size_t count(const std::vector<FabricChange>& all, Change k) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const FabricChange& c) { return c.kind == k; }));
}

const FabricChange* find(const std::vector<FabricChange>& all, Change k) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const FabricChange& c) { return c.kind == k; });
  return it == all.end() ? nullptr : &*it;
}

TEST(FabricWatch, a_sound_fabric_says_nothing) {
  Looks l;
  for (int i = 0; i < 50; ++i) {
    l.count(3, "SymbolErrorCounter", i % 25 == 0 ? 1 : 0);
    l.count(3, "PortXmitWait", 1000);
    EXPECT_TRUE(l.look().empty());
  }
}

TEST(FabricWatch, a_cable_that_is_gone_is_told_once_and_told_to_be_back) {
  Looks l(60);
  EXPECT_TRUE(l.look().empty());
  const auto gone = l.look(without(0, 3));
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].kind, Change::fault);
  EXPECT_EQ(gone[0].fault.kind, Kind::missing_cable);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(l.look(without(0, 3)).empty());
  ASSERT_EQ(l.watch.faults().size(), 1u);
  const auto back = l.look();
  ASSERT_EQ(back.size(), 1u);  // longer than the window: mended, not flapped
  EXPECT_EQ(back[0].kind, Change::over);
  EXPECT_DOUBLE_EQ(back[0].lasted_s, 180);
  EXPECT_TRUE(l.watch.faults().empty());
}

TEST(FabricWatch, a_cable_that_goes_and_comes_has_flapped) {
  Looks l;
  l.look();
  for (std::uint32_t times = 1; times <= 3; ++times) {
    EXPECT_EQ(count(l.look(without(0, 3)), Change::fault), 1u);
    const auto back = l.look();
    const FabricChange* flap = find(back, Change::flap);
    ASSERT_NE(flap, nullptr);
    EXPECT_EQ(flap->times, times);
    EXPECT_DOUBLE_EQ(flap->lasted_s, 30);
    EXPECT_EQ(flap->fault.ends.size(), 2u);
    EXPECT_EQ(l.watch.flapping().size(), times >= 2 ? 1u : 0u);  // once may be somebody who plugs
  }
  const FabricFault f = l.watch.flapping().at(0);
  EXPECT_EQ(f.kind, Kind::flapping_link);
  EXPECT_EQ(f.ends, (std::vector<std::string>{"leaf-0[3]", "spine-0[1]"}));
  EXPECT_NE(f.detail.find("3 times in 600 s"), std::string::npos) << f.detail;
  EXPECT_TRUE(l.watch.faults().empty());  // now it is up
  for (int i = 0; i < 25; ++i) l.look();
  EXPECT_TRUE(l.watch.flapping().empty());  // longer ago than the window
}

TEST(FabricWatch, a_cable_that_goes_with_its_switch_has_not_flapped) {
  Looks l;
  l.look();
  l.look(without(0, 3));
  Fabric dead = small();
  for (std::size_t port = 1; port <= 2; ++port) dead.cut(dead.out(2, port));
  // spine-0 does not answer: it is not in what was found.
  Fabric found;
  std::vector<std::uint32_t> now(dead.nodes.size(), UINT32_MAX);
  for (std::uint32_t n = 0; n < dead.nodes.size(); ++n) {
    if (n != 2) now[n] = found.add({dead.nodes[n].name, dead.nodes[n].guid, dead.nodes[n].is_switch, {}});
  }
  for (std::uint32_t i = 0; i < dead.links.size(); i += 2) {
    const FabricLink &a = dead.links[i], &b = dead.links[i + 1];
    if (a.from != 2 && a.to != 2) found.connect(now[a.from], a.port, now[b.from], b.port, a.gb_s, a.lanes);
  }
  const auto said = l.look(found);
  EXPECT_EQ(count(said, Change::flap), 0u);
  ASSERT_NE(find(said, Change::fault), nullptr);
  EXPECT_EQ(find(said, Change::fault)->fault.kind, Kind::dead_switch);
}

TEST(FabricWatch, a_link_that_went_down_between_readings_has_flapped) {
  Looks l;
  l.value(3, "LinkDownedCounter") = 7;
  l.look();
  l.count(3, "LinkDownedCounter", 1);
  const auto said = l.look();
  const FabricChange* flap = find(said, Change::flap);
  ASSERT_NE(flap, nullptr);
  EXPECT_EQ(flap->fault.ends, (std::vector<std::string>{"leaf-0[3]", "spine-0[1]"}));
  EXPECT_EQ(flap->times, 1u);
  EXPECT_EQ(flap->lasted_s, 0);
  ASSERT_NE(find(said, Change::fault), nullptr);  // and a sound link does not train again
  EXPECT_EQ(find(said, Change::fault)->fault.kind, Kind::error_rate);
  EXPECT_EQ(count(l.look(), Change::flap), 0u);
}

TEST(FabricWatch, errors_that_stop_are_over_after_a_while_and_not_at_once) {
  Looks l;
  l.look();
  l.count(1, "SymbolErrorCounter", 5000);
  EXPECT_EQ(count(l.look(), Change::fault), 1u);
  int readings = 0;
  for (; readings < 100 && count(l.look(), Change::over) == 0; ++readings) {
  }
  EXPECT_GE(readings, 9);   // half a window of peace
  EXPECT_LE(readings, 45);  // and not for ever
}

TEST(FabricWatch, what_is_slow_and_steady_is_seen_over_the_window) {
  Looks l;
  std::size_t faults = 0;
  // Four in half a minute: within what chance gives a single reading, and not what a corrected link shows in ten minutes.
  for (int i = 0; i < 40; ++i) {
    l.count(1, "SymbolErrorCounter", 4);
    faults += count(l.look(), Change::fault);
  }
  EXPECT_EQ(faults, 1u);
}

TEST(FabricWatch, a_rate_that_rises_and_falls_is_told) {
  Looks l;
  std::vector<ErrorTrend> said;
  const auto run = [&](int readings, std::uint64_t each) {
    for (int i = 0; i < readings; ++i) {
      l.count(1, "SymbolErrorCounter", each);
      for (const FabricChange& c : l.look()) {
        if (c.kind != Change::rate) continue;
        EXPECT_EQ(c.counter, "SymbolErrorCounter");
        EXPECT_EQ(c.fault.ends.front(), "leaf-0[1]");
        said.push_back(c.trend);
      }
    }
  };
  run(25, 60);
  EXPECT_LE(said.size(), 2u);  // that it began, and that it goes on
  said.clear();
  run(15, 600);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front(), ErrorTrend::rising);
  run(25, 600);
  EXPECT_EQ(said.back(), ErrorTrend::steady);
  run(15, 30);
  EXPECT_EQ(said.back(), ErrorTrend::falling);
}

TEST(FabricWatch, a_rate_that_was_not_read_does_not_fall) {
  Looks l;
  const auto rates = [&](int readings) {
    std::size_t out = 0;
    for (int i = 0; i < readings; ++i) {
      l.count(1, "SymbolErrorCounter", 600);
      out += count(l.look(), Change::rate);
    }
    return out;
  };
  rates(30);
  l.torn = true;
  EXPECT_EQ(rates(8), 0u);
  l.torn = false;
  EXPECT_EQ(rates(2), 0u);
}

TEST(FabricWatch, times_in_texts_are_short) {
  Looks l;
  l.look();
  l.look(without(0, 3));
  const auto changes = l.look(small(), 4.020036656998855);
  const FabricChange* flap = find(changes, Change::flap);
  ASSERT_NE(flap, nullptr);
  EXPECT_NE(flap->fault.detail.find("up to 4.02 s and"), std::string::npos) << flap->fault.detail;
}

TEST(FabricWatch, chance_is_no_trend) {
  Prng prng(7, "errors");
  std::size_t told = 0;
  Looks l;
  for (int i = 0; i < 400; ++i) {
    for (int port = 1; port <= 4; ++port) {
      std::uint64_t n = 0;
      for (int k = 0; k < 40; ++k) n += prng.chance(0.25) ? 1 : 0;
      l.count(port, "PortRcvErrors", n);
    }
    for (const FabricChange& c : l.look()) told += i > 25 && c.kind == Change::rate ? 1 : 0;
  }
  EXPECT_EQ(told, 0u);
}

TEST(FabricWatch, nothing_is_over_where_answers_were_lost) {
  Looks l;
  l.look();
  l.look(without(0, 3));
  FabricReading r;
  r.at_s = 5000;
  r.found.fabric = small();
  r.found.cut_short = true;
  for (std::uint32_t n = 0; n < 2; ++n) r.found.oddities.push_back({SurveyMark::nameless, n, 0});
  EXPECT_EQ(count(l.watch.take(std::move(r)), Change::over), 0u);
  EXPECT_FALSE(l.watch.compared().complete);
}

// What is said, added up, is what stands.
TEST(FabricWatch, what_needs_two_readings_or_a_window_is_not_judged_before) {
  Looks l(60);
  l.look();
  EXPECT_FALSE(l.watch.rates_judged());
  EXPECT_FALSE(l.watch.flaps_judged());
  l.look();
  EXPECT_TRUE(l.watch.rates_judged());
  EXPECT_FALSE(l.watch.flaps_judged());
  l.look();
  EXPECT_TRUE(l.watch.flaps_judged());
  FabricReading r;
  r.at_s = 1120;
  r.found.fabric = small();
  l.watch.take(r);
  EXPECT_FALSE(l.watch.rates_judged());  // no counters
  r.at_s = 1150;
  r.counters.emplace();
  l.watch.take(r);
  EXPECT_FALSE(l.watch.rates_judged());  // not all of them
  EXPECT_TRUE(l.watch.flaps_judged());
}

TEST(FabricWatch, errors_that_are_slow_are_not_judged_by_a_watch_that_has_just_started) {
  Looks l;
  const auto stands = [&] {
    const auto all = l.watch.faults();
    return std::any_of(all.begin(), all.end(), [](const FabricFault& f) { return f.kind == Kind::error_rate; });
  };
  for (int i = 0; i <= 10; ++i) {  // two a minute: five are too many at this rate, and half a minute has one
    l.count(3, "SymbolErrorCounter", 1);
    l.look();
    EXPECT_EQ(l.watch.rates_judged(), i == 10);
  }
  EXPECT_TRUE(stands()) << "whoever is told that rates were judged would end it otherwise";
}

TEST(FabricWatch, errors_of_a_cable_whose_ends_answer_are_over_though_others_never_do) {
  for (const bool both : {false, true}) {
    FabricWatch watch(small());
    std::size_t faults = 0, over = 0;
    for (int i = 0; i < 40; ++i) {  // they are gone from the window after 20, and have paused for half of it after 30
      FabricReading r;
      r.at_s = 30.0 * i;
      r.found.fabric = small();
      r.counters.emplace().ports.push_back({{100, "leaf-0", 3}, {{"SymbolErrorCounter", i == 0 ? 0U : 5000U}}});
      if (both || i < 2) r.counters->ports.push_back({{102, "spine-0", 1}, {{"SymbolErrorCounter", 0}}});
      const auto said = watch.take(std::move(r));
      faults += count(said, Change::fault);
      over += count(said, Change::over);
    }
    EXPECT_EQ(faults, 1u);
    EXPECT_EQ(over, both ? 1u : 0u);
  }
}

TEST(FabricWatch, who_is_not_heard_by_lldp_has_no_timeout) {
  for (const bool ethernet : {false, true}) {
    FabricWatch watch(small());
    FabricReading r;
    r.found.fabric = small();
    r.found.cut_short = true;
    for (std::uint32_t n = 0; n < 2; ++n) r.found.oddities.push_back({SurveyMark::nameless, n, 0});
    r.ethernet = ethernet;
    watch.take(std::move(r));
    ASSERT_FALSE(watch.faults().empty());
    EXPECT_EQ(watch.faults()[0].kind, Kind::incomplete_discovery);
    EXPECT_EQ(watch.faults()[0].fix.find("lldpd") != std::string::npos, ethernet);
  }
  std::vector<FabricFault> other = {{Kind::incomplete_discovery, {}, "nothing can be compared", 0.95, "give the design"}};
  advise_for_lldp(other);
  EXPECT_EQ(other[0].fix, "give the design");
}

TEST(FabricWatch, changes_add_up_to_what_stands) {
  Prng prng(11, "cables");
  Looks l;
  std::size_t open = 0;
  for (int i = 0; i < 200; ++i) {
    Fabric f = small();
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
      for (std::size_t port = 1; port <= 4; ++port) {
        if (prng.chance(0.1) && f.out(leaf, port) != Fabric::kNoLink) f.cut(f.out(leaf, port));
      }
    }
    if (prng.chance(0.2)) l.count(1 + static_cast<int>(prng.below(4)), "LinkDownedCounter", 1);
    const auto said = l.look(f);
    open += count(said, Change::fault);
    ASSERT_GE(open, count(said, Change::over));
    open -= count(said, Change::over);
    ASSERT_EQ(open, l.watch.faults().size());
  }
}

}  // namespace
}  // namespace muster::design
