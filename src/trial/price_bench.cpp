#include "trial/price_bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "decide/energy/defer.h"

namespace muster::trial {
namespace {

using Hours = std::vector<std::int64_t>;
constexpr std::size_t kPlan_h = 120;  // how far the planner looks
constexpr std::size_t kDay = 24;

// Share of the mean that comes in an hour of the day, in tenths of a percent: few by night, most in the early afternoon.
constexpr std::array<int, kDay> kOffice = {700,  700,  700,  700,  700,  720,  780,  880,  1000, 1120, 1220, 1280,
                                           1300, 1300, 1300, 1290, 1260, 1200, 1130, 1050, 970,  890,  820,  790};

// A unit is one job of one GPU-hour. Work stops coming a deadline before the end, so that every job has its whole window.
struct Load {
  Hours comes;  // units per hour
  std::vector<decide::Batch> work;
  std::uint64_t units = 0;
};

Load make_load(Stream stream, double utilisation, const PriceBenchOptions& o) {
  const std::size_t n = o.prices.hours();
  Load l;
  l.comes.assign(n, 0);
  const double mean = utilisation * static_cast<double>(o.gpus);
  // Above a mean of 1000/1300 of the capacity the peak is cut, and no hour brings more than the GPUs could run at once.
  const double swing = std::min(1.0, (static_cast<double>(o.gpus) / mean - 1) / 0.3);
  const auto first = static_cast<std::size_t>(o.prices.begins.ns / hours(1).ns % static_cast<std::int64_t>(kDay));
  const auto whole_day = [&](std::size_t h) { return h + first >= (first > 0 ? kDay : 0) && h + kDay - (h + first) % kDay <= n; };
  for (std::size_t h = 0; h < n; ++h) {
    if (stream == Stream::daily ? !whole_day(h) : h + o.deadline_h > n) continue;
    double x = mean;
    if (stream == Stream::office) x *= 1 + swing * (kOffice[(h + first) % kDay] / 1000.0 - 1);
    l.comes[h] = std::llround(x);
  }
  for (std::size_t h = 0; h < n; ++h) {
    if (l.comes[h] == 0) continue;
    l.units += static_cast<std::uint64_t>(l.comes[h]);
    const std::size_t day = h - std::min(h, (h + first) % kDay);
    const std::size_t from = stream == Stream::daily ? day : h;
    const std::size_t due = stream == Stream::daily ? day + kDay - 1 : h + o.deadline_h - 1;
    if (!l.work.empty() && l.work.back().from == from) {
      l.work.back().units += l.comes[h];
    } else {
      l.work.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(due), l.comes[h]});
    }
  }
  return l;
}

struct Played {
  Hours run;
  std::uint64_t late = 0;
};

// The planner, hour by hour. Of the work to come it expects what came at the same hour of the day before.
Played play(const Load& load, const std::vector<std::vector<double>>& seen, const PriceBenchOptions& o) {
  const std::size_t n = load.comes.size();
  Played out;
  out.run.assign(n, 0);
  std::deque<std::pair<std::size_t, std::int64_t>> waiting;  // (due, units), soonest first
  std::vector<decide::Batch> last_day;                       // that came in the last 24 hours, by absolute hour
  std::size_t next = 0;
  for (std::size_t h = 0; h < n; ++h) {
    for (; next < load.work.size() && load.work[next].from == h; ++next) {
      const decide::Batch& b = load.work[next];
      waiting.emplace_back(b.due, b.units);
      last_day.push_back(b);
    }
    std::erase_if(last_day, [&](const decide::Batch& b) { return b.from + kDay <= h; });
    std::vector<decide::Batch> work;
    for (const auto& [due, units] : waiting) work.push_back({0, static_cast<std::uint32_t>(due - h), units});
    for (const decide::Batch& b : last_day) {
      for (std::size_t at = b.from + kDay; at < h + kPlan_h; at += kDay) {
        const auto from = static_cast<std::uint32_t>(at - h);
        work.push_back({from, from + b.due - b.from, b.units});
      }
    }
    std::int64_t run = decide::run_now(seen[h], work, o.gpus);
    out.run[h] = run;
    while (run > 0) {
      auto& [due, units] = waiting.front();
      const std::int64_t x = std::min(run, units);
      run -= x;
      units -= x;
      if (units == 0) waiting.pop_front();
    }
    while (!waiting.empty() && waiting.front().first <= h) {
      out.late += static_cast<std::uint64_t>(waiting.front().second);
      waiting.pop_front();  // given up: late is late
    }
  }
  for (const auto& [due, units] : waiting) out.late += static_cast<std::uint64_t>(units);
  return out;
}

double bill(const PriceSeries& p, const Hours& run, std::int64_t gpus, double idle) {
  double sum = 0;
  for (std::size_t h = 0; h < run.size(); ++h) {
    sum += p.actual[h] * (idle + (1 - idle) * static_cast<double>(run[h]) / static_cast<double>(gpus));
  }
  return sum;
}

PriceTable table_of(Stream stream, bool market, const std::vector<std::vector<double>>& seen, const PriceBenchOptions& o) {
  PriceTable t;
  t.stream = stream;
  t.market = market;
  for (const double u : o.utilisations) {
    const Load load = make_load(stream, u, o);
    const Played ours = play(load, seen, o);
    const Hours best = decide::cheapest_schedule(o.prices.actual, load.work, o.gpus);
    t.jobs += load.units;
    t.late += ours.late;
    for (const double idle : o.idle_shares) {
      PriceCell c;
      c.utilisation = u;
      c.idle_share = idle;
      c.immediate = bill(o.prices, load.comes, o.gpus, idle);
      c.muster = bill(o.prices, ours.run, o.gpus, idle);
      c.optimum = bill(o.prices, best, o.gpus, idle);
      c.saving_pct = 100 * (c.immediate - c.muster) / c.immediate;
      c.optimum_pct = 100 * (c.immediate - c.optimum) / c.immediate;
      c.of_optimum = c.immediate > c.optimum ? (c.immediate - c.muster) / (c.immediate - c.optimum) : 1;
      t.cells.push_back(c);
    }
  }
  return t;
}

}  // namespace

PriceReport bench_price(const PriceBenchOptions& o) {
  PriceReport r;
  const PriceSeries& p = o.prices;
  r.hours = p.hours();
  r.filled = p.filled;
  std::size_t forecasts = 0;
  for (std::size_t h = 0; h < p.hours(); ++h) {
    r.mean_price += p.actual[h] / static_cast<double>(p.hours());
    if (std::isnan(p.forecast[h])) continue;
    r.forecast_error += std::abs(p.actual[h] - p.forecast[h]);
    ++forecasts;
  }
  if (forecasts > 0) r.forecast_error /= static_cast<double>(forecasts);
  struct Part {
    Stream stream;
    bool market;
  };
  constexpr std::array<Part, 5> kParts = {
      {{Stream::daily, false}, {Stream::steady, false}, {Stream::office, false}, {Stream::steady, true}, {Stream::office, true}}};
  std::vector<std::vector<double>> seen;
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    if (i == 0 || kParts[i].market != kParts[i - 1].market) {
      seen.clear();
      for (std::size_t h = 0; h < p.hours(); ++h) {
        seen.push_back(decide::outlook(p, h, kPlan_h, {o.publish_hour, kParts[i].market}));
      }
    }
    r.tables.push_back(table_of(kParts[i].stream, kParts[i].market, seen, o));
    if (o.progress) o.progress(static_cast<double>(i + 1) / kParts.size());
  }
  return r;
}

}  // namespace muster::trial
