#include "predict/burst.h"

#include <algorithm>
#include <cmath>

#include "predict/ownership.h"

namespace muster::predict {
namespace {

constexpr double kGbATb = 1000;
constexpr double kDataMax_tb = 1e7, kPriceMax_usd = 1e4;

struct Link {
  double gb_s = 0, share = 0;
  bool by_window = false;
};

// What a transfer gets: the link's rate less its frames and headers, or as many windows a round trip as there are streams.
Link link_of(const BurstAsk& a) {
  Link out;
  const double wire = a.link_gbit_s / 8 * a.protocol;
  const double windows = a.rtt_ms > 0 ? a.streams * a.window_mib * 1048576 / 1e9 / (a.rtt_ms / 1000) : wire;
  out.gb_s = std::min(wire, windows);
  out.by_window = windows < wire;
  out.share = a.link_gbit_s > 0 ? out.gb_s / (a.link_gbit_s / 8) : 0;
  return out;
}

void sum_up(BurstOption& o, const BurstAsk& a) {
  for (const BurstPart& p : o.parts) {
    o.usd += p.usd;
    o.hours += p.hours;
  }
  if (a.late_usd_per_day > 0) {
    o.late_usd = a.late_usd_per_day * o.hours / 24;
    o.usd += o.late_usd;
  }
  o.in_time = !a.by_hours || o.hours <= *a.by_hours;
}

BurstOption renting(const BurstAsk& a) {
  const Link link = link_of(a);
  const auto over = [&](double tb) { return tb > 0 ? tb * kGbATb / link.gb_s / 3600 : 0; };
  BurstOption o{BurstWay::rent, {}, 0, 0, 0, true};
  const double hours = a.gpu_hours * (1 + a.slower);
  o.parts.push_back({"GPUs start", 0, a.start_hours});
  if (a.data_tb > 0) o.parts.push_back({"data there", a.data_tb * kGbATb * a.leaving_usd_per_gb, over(a.data_tb)});
  o.parts.push_back({"GPU-hours", hours * a.usd_per_gpu_hour, hours / a.gpus});
  if (a.results_tb > 0) o.parts.push_back({"results back", a.results_tb * kGbATb * a.egress_usd_per_gb, over(a.results_tb)});
  double stays = 0;
  for (const BurstPart& p : o.parts) stays += p.hours;
  const double held = (a.data_tb + a.results_tb) * kGbATb * a.storage_usd_per_gb_month * stays / kHoursAMonth;
  if (held > 0) o.parts.push_back({"storage meanwhile", held, 0});
  sum_up(o, a);
  return o;
}

BurstOption waiting(const BurstAsk& a) {
  BurstOption o{BurstWay::wait, {}, 0, 0, 0, true};
  o.parts.push_back({"in the queue", 0, a.queue_hours});
  o.parts.push_back({"GPU-hours", a.gpu_hours * a.own_usd_per_gpu_hour, a.gpu_hours / a.own_gpus});
  sum_up(o, a);
  return o;
}

// As many GPUs as would be rented, owned for a year and shared by the peaks of it.
BurstOption buying(const BurstAsk& a) {
  BurstOption o{BurstWay::buy, {}, 0, 0, 0, true};
  o.parts.push_back({"delivered", 0, a.lead_days * 24});
  o.parts.push_back({"a year of GPUs", a.gpus * kHoursAYear * a.buy_usd_per_gpu_hour / a.peaks_a_year, a.gpu_hours / a.gpus});
  sum_up(o, a);
  return o;
}

std::vector<BurstOption> options_of(const BurstAsk& a) {
  std::vector<BurstOption> out = {renting(a)};
  if (a.own_gpus > 0) out.push_back(waiting(a));
  if (a.buy_usd_per_gpu_hour > 0) out.push_back(buying(a));
  std::stable_sort(out.begin(), out.end(),
                   [](const BurstOption& x, const BurstOption& y) { return x.in_time != y.in_time ? x.in_time : x.usd < y.usd; });
  return out;
}

// Everything is monotone in the data and in the price, so that the first turn is found by halving.
void find_turn(const BurstAsk& a, double BurstAsk::*what, const char* name, double max, Burst& out) {
  const auto at = [&](double x) {
    BurstAsk other = a;
    // What comes back grows with what goes there.
    if (what == &BurstAsk::data_tb && a.data_tb > 0) other.results_tb = a.results_tb * x / a.data_tb;
    other.*what = x;
    return options_of(other);
  };
  const BurstWay now = out.options.front().way;
  const double from = a.*what;
  // Away from now, where renting wins upwards, where another does downwards.
  double keeps = from, turns = now == BurstWay::rent ? max : 0;
  if (at(turns).front().way == now) return;
  for (int i = 0; i < 100; ++i) {
    const double middle = (keeps + turns) / 2;
    (at(middle).front().way == now ? keeps : turns) = middle;
  }
  const auto then = at(turns);
  const auto was = std::find_if(then.begin(), then.end(), [&](const BurstOption& o) { return o.way == now; });
  out.turns.push_back({name, from, turns, then.front().way, was != then.end() && !was->in_time});
}

}  // namespace

Result<Burst> burst(const BurstAsk& a) {
  const auto bad = [](const char* what, const char* next) { return fail(Code::bad_input, what, next); };
  if (!(a.gpu_hours > 0)) return bad("a peak of no GPU-hours", "--gpu-hours N");
  if (!(a.gpus > 0) || !(a.usd_per_gpu_hour > 0))
    return bad("renting needs a number of GPUs and a price", "--gpus N --price USD");
  if (a.data_tb + a.results_tb > 0 && !(a.link_gbit_s > 0))
    return bad("data must move, and there is no link to move them over", "--link 10Gbit/s");
  Burst out;
  const Link link = link_of(a);
  out.link_gb_s = link.gb_s;
  out.link_share = link.share;
  out.by_window = link.by_window;
  out.options = options_of(a);
  if (out.options.size() > 1) {
    find_turn(a, &BurstAsk::usd_per_gpu_hour, "usd_per_gpu_hour", kPriceMax_usd, out);
    if (a.link_gbit_s > 0) find_turn(a, &BurstAsk::data_tb, "data_tb", kDataMax_tb, out);
  }
  return out;
}

}  // namespace muster::predict
