#include "predict/ownership.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/prng.h"

namespace muster::predict {

double break_even_price(const Ownership& own, double months, double gpu_hours_a_month) {
  return (own.capital_usd - own.residual_usd + own.monthly_usd * months) / (gpu_hours_a_month * months);
}

double break_even_months(const Ownership& own, double usd_per_gpu_hour, double gpu_hours_a_month) {
  const double saved = usd_per_gpu_hour * gpu_hours_a_month - own.monthly_usd;
  return saved > 0 ? own.capital_usd / saved : std::numeric_limits<double>::infinity();
}

double owned_gpu_hour(const Ownership& own, double months, double gpus, double utilisation) {
  return break_even_price(own, months, gpus * kHoursAMonth * utilisation);
}

double break_even_utilisation(const Ownership& own, double months, double gpus, double usd_per_gpu_hour) {
  return owned_gpu_hour(own, months, gpus, 1) / usd_per_gpu_hour;
}

double pue_saving_usd(double it_mw, double pue_before, double pue_after, double usd_per_kwh) {
  return it_mw * 1000 * (pue_before - pue_after) * kHoursAYear * usd_per_kwh;
}

double usual_pue(Cooling cooling) {
  switch (cooling) {
    case Cooling::air: return 1.40;
    case Cooling::rear_door: return 1.28;  // water up to the rack's door, air within it
    case Cooling::liquid: break;
  }
  return 1.15;
}

double fans_left(Cooling cooling) { return cooling == Cooling::liquid ? 0.2 : 1; }

double hall_usd_a_year(double kw, double usd_per_kw_month) { return kw * usd_per_kw_month * 12; }

double annuity(double interest, double years) {
  if (interest <= 0) return 1 / years;
  return interest / (1 - det_pow(1 + interest, -years));
}

double YearlyCost::of(CostClass c) const {
  double sum = 0;
  for (const CostLine& l : lines) sum += l.of == c ? l.usd_a_year : 0;
  return sum;
}

namespace {

// A year's share of what is bought once: paid back with interest over its life, less what it is sold for then. Spares are used
// up, and nothing is left of them.
struct Bought {
  double usd = 0, years = 1, residual = 0, spares = 0;

  double paid() const { return usd * (1 + spares); }
  double left() const { return usd * residual; }
  double a_year(double interest) const { return (paid() - left() / det_pow(1 + interest, years)) * annuity(interest, years); }
};

class Year {
 public:
  explicit Year(const CostSite& s) : s_(s) {}

  YearlyCost reckon() {
    buy(CostClass::gpus, "GPUs in their servers",
        {s_.gpus.likely * s_.gpu_price.likely, s_.years.likely, s_.residual.likely, s_.spares.likely});
    for (const CostClass c : {CostClass::network, CostClass::storage, CostClass::facility}) {
      for (const CapitalItem& i : s_.capital) {
        if (i.of != c) continue;
        buy(c, i.name,
            {i.usd.likely * i.quantity.likely, i.years.likely > 0 ? i.years.likely : s_.years.likely, i.residual.likely,
             i.spares.likely});
      }
    }
    power();
    pay(CostClass::people, "people", s_.people.likely * s_.usd_per_person.likely);
    pay(CostClass::software, "software", s_.software_usd_per_gpu.likely * s_.gpus.likely);
    repairs();
    hours();
    return std::move(out_);
  }

 private:
  void buy(CostClass c, const std::string& name, const Bought& b) {
    out_.lines.push_back({c, name, b.a_year(s_.interest.likely), b.paid()});
    out_.usd_a_year += out_.lines.back().usd_a_year;
    out_.capital_usd += b.paid();
    out_.residual_usd += b.left();
  }
  void pay(CostClass c, const char* name, double usd) {
    if (usd == 0) return;
    out_.lines.push_back({c, name, usd, 0});
    out_.usd_a_year += usd;
    out_.operating_usd_a_year += usd;
  }

  // Fans are part of the servers' own power, so that a PUE alone does not tell what liquid cooling saves.
  double of_nodes(double node_kw) const {
    const double nodes = s_.gpus.likely / s_.node_gpus.likely;
    return nodes * std::max(0.0, node_kw - s_.fans_kw.likely * (1 - fans_left(s_.cooling))) + s_.other_kw.likely;
  }
  void power() {
    const double load = s_.load ? s_.load->likely : s_.utilisation.likely;
    out_.pue = s_.pue ? s_.pue->likely : usual_pue(s_.cooling);
    out_.it_kw = of_nodes(s_.idle_kw.likely + (s_.busy_kw.likely - s_.idle_kw.likely) * load);
    out_.nameplate_kw = of_nodes(std::max(s_.nameplate_kw.likely, s_.busy_kw.likely));
    out_.peak_kw = of_nodes(s_.busy_kw.likely) * out_.pue;
    out_.kwh = out_.it_kw * out_.pue * kHoursAYear;
    pay(CostClass::facility, "hall", hall_usd_a_year(out_.nameplate_kw, s_.hall_usd_per_kw_month.likely));
    if (s_.hall_includes_power) return;
    pay(CostClass::energy, "energy", out_.kwh * s_.usd_per_kwh.likely);
    pay(CostClass::energy, "peak power", out_.peak_kw * s_.demand_usd_per_kw_month.likely * 12);
  }

  void repairs() {
    const double failures = s_.failures_a_year.likely * s_.gpus.likely;
    out_.down_gpu_hours = failures * s_.hours_down.likely * s_.gpus_down.likely;
    pay(CostClass::repairs, "parts", failures * s_.part_usd.likely * (1 - s_.warranty.likely));
    pay(CostClass::repairs, "hours lost to repairs", out_.down_gpu_hours * s_.usd_per_gpu_hour_down.likely);
  }

  void hours() {
    const double owned = s_.gpus.likely * kHoursAYear;
    const double delivered = owned * s_.availability.likely;
    const double allocated = std::min(delivered, owned * s_.utilisation.likely);
    out_.gpu_hours = {owned, delivered, allocated, allocated * s_.goodput.likely};
  }

  const CostSite& s_;
  YearlyCost out_;
};

// The inverse of a triangle's distribution function.
double of_triangle(const Estimate& e, double u) {
  const double width = e.high - e.low, tip = (e.likely - e.low) / width;
  if (u < tip) return e.low + det_sqrt(u * width * (e.likely - e.low));
  return e.high - det_sqrt((1 - u) * width * (e.high - e.likely));
}

// Every uncertain number, also those that may be missing.
template <class S, class V>
void visit_all(S& s, V&& v) {
  visit_numbers(s, [&](const std::string& key, auto& e, const CostBounds&) { v(key, e); });
  if (s.load) v(std::string("power.load"), *s.load);
  if (s.pue) v(std::string("power.pue"), *s.pue);
}

}  // namespace

YearlyCost yearly_cost(const CostSite& site) { return Year(site).reckon(); }

Ownership ownership(const YearlyCost& cost) { return {cost.capital_usd, cost.residual_usd, cost.operating_usd_a_year / 12}; }

Band band_of(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double p) {
    const double rank = std::ceil(p * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  };
  return {at(0.1), at(0.5), at(0.9)};
}

bool all_certain(const CostSite& site) {
  bool certain = true;
  visit_all(site, [&](const std::string&, const Estimate& e) { certain = certain && e.certain(); });
  return certain;
}

CostSite drawn(const CostSite& site, std::uint64_t seed, std::uint32_t draw) {
  CostSite out = site;
  visit_all(out, [&](const std::string& key, Estimate& e) {
    if (e.certain()) return;
    Prng stream(seed + draw * 0x9e3779b97f4a7c15ULL, key);
    e = Estimate(of_triangle(e, stream.unit()));
  });
  return out;
}

UncertainCost uncertain_cost(const CostSite& site, std::uint64_t seed, std::uint32_t draws) {
  UncertainCost out;
  if (all_certain(site)) return out;
  out.draws = draws;
  std::vector<double> usd;
  std::array<std::vector<double>, kGpuHourKinds> rates;
  for (std::uint32_t i = 0; i < draws; ++i) {
    const YearlyCost c = yearly_cost(drawn(site, seed, i));
    usd.push_back(c.usd_a_year);
    for (std::size_t k = 0; k < kGpuHourKinds; ++k) rates[k].push_back(c.rate(static_cast<GpuHour>(k)));
  }
  out.usd_a_year = band_of(usd);
  for (std::size_t k = 0; k < kGpuHourKinds; ++k) out.rates[k] = band_of(rates[k]);
  CostSite one = site;
  visit_all(one, [&](const std::string& key, Estimate& e) {
    if (e.certain()) return;
    const Estimate was = e;
    Swing s{key, 0, 0};
    e.likely = was.low;
    s.at_low = yearly_cost(one).rate(GpuHour::useful);
    e.likely = was.high;
    s.at_high = yearly_cost(one).rate(GpuHour::useful);
    e = was;
    out.swings.push_back(std::move(s));
  });
  std::stable_sort(out.swings.begin(), out.swings.end(), [](const Swing& x, const Swing& y) {
    return std::abs(x.at_high - x.at_low) > std::abs(y.at_high - y.at_low);
  });
  return out;
}

}  // namespace muster::predict
