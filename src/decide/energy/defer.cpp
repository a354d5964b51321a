#include "decide/energy/defer.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace muster::decide {
namespace {

using Units = std::vector<std::int64_t>;

std::vector<std::uint32_t> by_price(std::span<const double> price, bool dearest_first) {
  std::vector<std::uint32_t> order(price.size());
  std::iota(order.begin(), order.end(), 0U);
  // Of equally dear hours the later one is given up first: work that is done cannot be late.
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (price[a] != price[b]) return dearest_first ? price[a] > price[b] : price[a] < price[b];
    return dearest_first ? a > b : a < b;
  });
  return order;
}

// Cumulative units that may have been run, and that must have been run, by the end of each hour.
struct Bounds {
  Units arrived, due;
  Bounds(std::span<const Batch> work, std::size_t n) : arrived(n, 0), due(n, 0) {
    for (const Batch& b : work) {
      MUSTER_CHECK(b.units >= 0);
      if (b.from >= n) continue;
      arrived[b.from] += b.units;
      if (b.due < n) due[b.due] += b.units;
    }
    std::partial_sum(arrived.begin(), arrived.end(), arrived.begin());
    std::partial_sum(due.begin(), due.end(), due.begin());
  }
};

bool in_order(std::span<const Batch> work) {
  std::vector<Batch> w(work.begin(), work.end());
  std::sort(w.begin(), w.end(),
            [](const Batch& a, const Batch& b) { return a.from != b.from ? a.from < b.from : a.due < b.due; });
  std::uint32_t latest = 0;  // due, of those that came strictly earlier
  std::uint32_t here = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (i > 0 && w[i].from != w[i - 1].from) latest = std::max(latest, here);
    if (w[i].units > 0 && w[i].due < latest) return false;
    if (w[i].units > 0) here = std::max(here, w[i].due);
  }
  return true;
}

// Places left in each hour when the dearest have been dropped, down to hour 0, which is all that is asked.
std::int64_t drop_in_order(std::span<const std::uint32_t> order, const Bounds& w, std::int64_t capacity) {
  const std::size_t n = w.due.size();
  Units places(n + 1, 0);  // cumulative
  for (std::size_t i = 0; i < n; ++i) places[i + 1] = places[i] + capacity;
  for (const std::uint32_t h : order) {
    // Over intervals i..j around h: places in it less units that lie inside it, D(j) - A(i-1).
    std::int64_t end = INT64_MAX;
    for (std::size_t j = h; j < n; ++j) end = std::min(end, places[j + 1] - w.due[j]);
    std::int64_t begin = INT64_MIN;
    for (std::size_t i = 0; i <= h; ++i) begin = std::max(begin, places[i] - (i > 0 ? w.arrived[i - 1] : 0));
    const std::int64_t here = places[h + 1] - places[h];
    const std::int64_t drop = std::clamp<std::int64_t>(end - begin, 0, here);
    if (h == 0) return here - drop;
    for (std::size_t j = h + 1; drop > 0 && j <= n; ++j) places[j] -= drop;
  }
  return capacity;
}

// The same for windows in any order.
std::int64_t drop_any(std::span<const std::uint32_t> order, std::span<const Batch> work, std::int64_t capacity) {
  const std::size_t n = order.size();
  Units slack(n * n, 0);  // [i * n + j]: places in i..j less units inside
  for (const Batch& b : work) {
    if (b.from <= b.due && b.due < n) slack[b.from * n + b.due] -= b.units;
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i; j < n; ++j) {
      if (j > i) slack[i * n + j] += slack[i * n + j - 1];
      if (j > i) slack[i * n + j] += slack[(i + 1) * n + j] - (j > i + 1 ? slack[(i + 1) * n + j - 1] : 0);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) slack[i * n + j] += static_cast<std::int64_t>(j - i + 1) * capacity;
  }
  for (const std::uint32_t h : order) {
    std::int64_t drop = capacity;
    for (std::size_t i = 0; i <= h; ++i) {
      for (std::size_t j = h; j < n; ++j) drop = std::min(drop, std::max<std::int64_t>(0, slack[i * n + j]));
    }
    if (h == 0) return capacity - drop;
    for (std::size_t i = 0; drop > 0 && i <= h; ++i) {
      for (std::size_t j = h; j < n; ++j) slack[i * n + j] -= drop;
    }
  }
  return capacity;
}

}  // namespace

std::int64_t run_now(std::span<const double> price, std::span<const Batch> work, std::int64_t capacity) {
  MUSTER_CHECK(!price.empty() && capacity >= 0);
  std::int64_t waiting = 0;
  for (const Batch& b : work) waiting += b.from == 0 ? b.units : 0;
  const auto order = by_price(price, true);
  const std::int64_t run =
      in_order(work) ? drop_in_order(order, Bounds(work, price.size()), capacity) : drop_any(order, work, capacity);
  return std::min(run, waiting);
}

std::vector<std::int64_t> cheapest_schedule(std::span<const double> price, std::span<const Batch> work, std::int64_t capacity) {
  MUSTER_CHECK(in_order(work));
  const std::size_t n = price.size();
  const Bounds w(work, n);
  Units run(n, 0);
  Units done(n + 1, 0);  // cumulative
  for (const std::uint32_t h : by_price(price, false)) {
    // Over intervals i..j around h: units that could use it, A(j) - D(i-1), less places taken in it.
    std::int64_t end = INT64_MAX;
    for (std::size_t j = h; j < n; ++j) end = std::min(end, w.arrived[j] - done[j + 1]);
    std::int64_t begin = 0;
    for (std::size_t i = 1; i <= h; ++i) begin = std::min(begin, done[i] - w.due[i - 1]);
    const std::int64_t take = std::clamp<std::int64_t>(end + begin, 0, capacity);
    run[h] = take;
    for (std::size_t j = h + 1; take > 0 && j <= n; ++j) done[j] += take;
  }
  return run;
}

bool worth_running(double value_per_gpu_h, double price_per_mwh, double gpu_kw) {
  return value_per_gpu_h >= price_per_mwh / 1000 * gpu_kw;
}

}  // namespace muster::decide
