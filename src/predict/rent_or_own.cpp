#include "predict/rent_or_own.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/prng.h"

namespace muster::predict {
namespace {

constexpr double kDaysAMonth = 365.0 / 12;
constexpr std::size_t kBlock = 3;  // months whose changes are drawn together: a cut is often followed by others
constexpr double kMonthsMax = 360;
constexpr double kNever = std::numeric_limits<double>::infinity();

// What has been spent on owning until the end of a month, in today's money.
class Owning {
 public:
  Owning(const CostSite& site, Resale resale) : resale_(resale), life_(site.years.likely * 12) {
    const YearlyCost year = yearly_cost(site);
    own_ = ownership(year);
    later_ = det_pow(1 + site.interest.likely, -1.0 / 12);
  }

  const Ownership& own() const { return own_; }
  double later() const { return later_; }
  std::vector<double> spent(std::size_t months) const {
    std::vector<double> out = {own_.capital_usd - left(0)};
    double running = 0, worth = 1;
    for (std::size_t m = 1; m <= months; ++m) {
      worth *= later_;
      running += own_.monthly_usd * worth;
      out.push_back(own_.capital_usd + running - left(static_cast<double>(m)) * worth);
    }
    return out;
  }

 private:
  double left(double month) const {
    if (resale_ == Resale::none) return 0;
    if (resale_ == Resale::at_end) return own_.residual_usd;
    const double share = std::min(1.0, month / life_);
    return own_.capital_usd + (own_.residual_usd - own_.capital_usd) * share;
  }

  Resale resale_;
  double life_;
  Ownership own_;
  double later_ = 1;
};

// The first month, with a part of it, from which what was spent on renting is not below what was spent on owning. In the
// beginning nobody has spent anything, where what is bought can be sold for its price: that is no month.
double crossing(const std::vector<double>& own, const std::vector<double>& rent) {
  for (std::size_t m = 1; m < own.size(); ++m) {
    if (rent[m] < own[m]) continue;
    const double before = std::max(0.0, own[m - 1] - rent[m - 1]), after = rent[m] - own[m];
    return static_cast<double>(m - 1) + (before + after > 0 ? before / (before + after) : 1);
  }
  return kNever;
}

std::vector<double> rented(std::span<const double> price, double gpu_hours_a_month, double later) {
  std::vector<double> out = {0};
  double worth = 1;
  for (const double usd : price) {
    worth *= later;
    out.push_back(out.back() + usd * gpu_hours_a_month * worth);
  }
  return out;
}

// As far as a constant price takes: in closed form, and the same as the sum where money keeps its worth and nothing is sold.
double at_constant(const CostSite& site, Resale resale, double usd, double hours) {
  const Owning owning(site, resale);
  if (resale != Resale::straight && owning.later() == 1) {
    Ownership own = owning.own();
    if (resale == Resale::at_end) own.capital_usd -= own.residual_usd;
    return break_even_months(own, usd, hours);
  }
  const std::vector<double> price(static_cast<std::size_t>(kMonthsMax), usd);
  return crossing(owning.spent(price.size()), rented(price, hours, owning.later()));
}

// The walk of a price over so many months: blocks of changes as one of the series had them, in a circle.
std::vector<double> walk(const PriceMoves& moves, double from, std::size_t months, Prng& chance) {
  std::vector<double> out;
  double usd = from;
  while (out.size() < months) {
    // A series is chosen as often as it has months.
    std::uint64_t at = chance.below(months_of(moves));
    std::size_t which = 0;
    while (at >= moves[which].size()) at -= moves[which++].size();
    const std::vector<double>& one = moves[which];
    for (std::size_t k = 0; k < std::min(kBlock, one.size()) && out.size() < months; ++k) {
      out.push_back(usd);  // this month is still at the price it begins with
      usd *= det_exp(one[(at + k) % one.size()]);
    }
  }
  return out;
}

double hours_of(const RentOrOwnAsk& ask, const CostSite& site) {
  const double most = site.gpus.likely * kHoursAMonth * site.availability.likely;
  return std::min(most,
                  ask.gpu_hours_a_month > 0 ? ask.gpu_hours_a_month : site.gpus.likely * kHoursAMonth * site.utilisation.likely);
}

void draw_all(const RentOrOwnAsk& ask, std::size_t months, RentOrOwn& out) {
  const bool fixed = all_certain(ask.site);
  out.draws = ask.draws;
  std::vector<double> at;
  std::vector<std::vector<double>> rents(months + 1);
  std::size_t never = 0;
  const std::vector<double> likely_own = Owning(ask.site, ask.resale).spent(months);
  for (std::uint32_t i = 0; i < ask.draws; ++i) {
    const CostSite site = fixed ? ask.site : drawn(ask.site, ask.seed, i);
    const Owning owning(site, ask.resale);
    Prng chance(ask.seed + i * 0x9e3779b97f4a7c15ULL, "prices of GPU-hours");
    const std::vector<double> price = ask.moves.empty() ? std::vector<double>(months, ask.usd_per_gpu_hour)
                                                        : walk(ask.moves, ask.usd_per_gpu_hour, months, chance);
    const std::vector<double> rent = rented(price, hours_of(ask, site), owning.later());
    const double month = crossing(fixed ? likely_own : owning.spent(months), rent);
    never += std::isinf(month) ? 1 : 0;
    at.push_back(month);
    for (std::size_t m = 0; m <= months; ++m) rents[m].push_back(rent[m]);
  }
  out.at = band_of(at);
  out.never = static_cast<double>(never) / static_cast<double>(ask.draws);
  for (auto& r : rents) out.rent_usd.push_back(band_of(r));
}

}  // namespace

std::optional<MonthlyPrices> monthly_prices(std::span<const RentalRow> rows, const TermMix& mix) {
  const auto price = [&](const RentalRow& r) -> std::optional<double> {
    double sum = 0;
    for (std::size_t t = 0; t < kRentTerms; ++t) {
      if (mix[t] <= 0) continue;
      if (!r.usd_per_gpu_hour[t]) return std::nullopt;
      sum += mix[t] * *r.usd_per_gpu_hour[t];
    }
    return sum > 0 ? std::optional(sum) : std::nullopt;
  };
  std::optional<MonthlyPrices> out;
  double last = 0;
  for (const RentalRow& r : rows) {
    const auto usd = price(r);
    if (!usd) continue;
    if (!out) {
      out = MonthlyPrices{r.cloud, r.instance, r.flags, r.day, r.day, 0, {}};
      last = *usd;
    }
    const auto month = static_cast<std::size_t>(static_cast<double>(r.day - out->first_day) / kDaysAMonth);
    while (out->usd_per_gpu_hour.size() < month) out->usd_per_gpu_hour.push_back(last);
    if (out->usd_per_gpu_hour.size() == month + 1) out->usd_per_gpu_hour.pop_back();
    out->usd_per_gpu_hour.push_back(*usd);
    last = *usd;
    out->last_day = r.day;
    out->flags = r.flags;
    ++out->days;
  }
  return out;
}

PriceMoves moves_of(std::span<const MonthlyPrices> series) {
  PriceMoves out;
  for (const MonthlyPrices& s : series) {
    std::vector<double> one;
    for (std::size_t m = 1; m < s.usd_per_gpu_hour.size(); ++m)
      one.push_back(det_log(s.usd_per_gpu_hour[m] / s.usd_per_gpu_hour[m - 1]));
    if (!one.empty()) out.push_back(std::move(one));
  }
  return out;
}

std::size_t months_of(const PriceMoves& moves) {
  std::size_t n = 0;
  for (const auto& one : moves) n += one.size();
  return n;
}

PriceMoves without_drift(PriceMoves moves) {
  for (auto& one : moves) {
    double sum = 0;
    for (const double x : one) sum += x;
    for (double& x : one) x -= sum / static_cast<double>(one.size());
  }
  return moves;
}

CostSite at_discount(CostSite site, double share) {
  const auto off = [&](Estimate& e) { e = Estimate(e.low * (1 - share), e.likely * (1 - share), e.high * (1 - share)); };
  off(site.gpu_price);
  for (CapitalItem& item : site.capital) off(item.usd);
  return site;
}

Result<RentOrOwn> rent_or_own(const RentOrOwnAsk& ask) {
  if (!(ask.usd_per_gpu_hour > 0))
    return fail(Code::bad_input, fmt::format("a rented GPU-hour cannot cost {:g} USD", ask.usd_per_gpu_hour), "a price above 0");
  RentOrOwn out;
  out.months = std::clamp(ask.months > 0 ? ask.months : ask.site.years.likely * 12, 1.0, kMonthsMax);
  const auto months = static_cast<std::size_t>(std::ceil(out.months));
  const Owning owning(ask.site, ask.resale);
  out.capital_usd = owning.own().capital_usd;
  out.monthly_usd = owning.own().monthly_usd;
  out.gpu_hours_a_month = hours_of(ask, ask.site);
  out.at_constant = at_constant(ask.site, ask.resale, ask.usd_per_gpu_hour, out.gpu_hours_a_month);
  out.own_usd = owning.spent(months);

  out.rent_steady_usd = rented(std::vector<double>(months, ask.usd_per_gpu_hour), out.gpu_hours_a_month, owning.later());
  const std::vector<double> one(months, 1);  // a dollar a month
  const double dollars = rented(one, 1, owning.later()).back();
  out.even_usd_per_gpu_hour = out.own_usd.back() / (dollars * out.gpu_hours_a_month);
  // What owning costs grows with its use (power), and so does renting: two straight lines.
  const auto at_use = [&](double u) {
    CostSite site = ask.site;
    site.utilisation = Estimate(u);
    return Owning(site, ask.resale).spent(months).back();
  };
  const double idle = at_use(0), slope = at_use(1) - idle;
  const double a_use = ask.usd_per_gpu_hour * dollars * ask.site.gpus.likely * kHoursAMonth;
  out.even_utilisation = a_use > slope ? idle / (a_use - slope) : kNever;
  if (!ask.moves.empty() || !all_certain(ask.site)) draw_all(ask, months, out);
  return out;
}

}  // namespace muster::predict
