#include "predict/power_cap.h"

#include <fmt/core.h>

#include <limits>

namespace muster::predict {

std::vector<CapPoint> cap_curve(std::span<const CapPoint> all, std::string_view gpu, std::string_view bound) {
  std::vector<CapPoint> out;
  for (const CapPoint& p : all) {
    if (p.gpu == gpu && p.bound == bound) out.push_back(p);
  }
  return out;
}

Result<CapPoint> cap_at(std::span<const CapPoint> curve, double cap_w) {
  if (curve.empty()) return fail(Code::not_found, "no cap was measured");
  if (cap_w > curve.front().cap_w || cap_w < curve.back().cap_w) {
    return fail(Code::bad_input,
                fmt::format("a cap of {:g} W was not measured: the caps that were lie between {:g} and {:g} W", cap_w,
                            curve.back().cap_w, curve.front().cap_w),
                "take one between them, or measure it and give the rows with --bound measured --measured FILE");
  }
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].cap_w == cap_w) return curve[i];
    if (curve[i].cap_w > cap_w) continue;
    const CapPoint &hi = curve[i - 1], &lo = curve[i];
    const double part = (hi.cap_w - cap_w) / (hi.cap_w - lo.cap_w);
    CapPoint p = lo;
    p.cap_w = cap_w;
    p.time_ratio = hi.time_ratio + part * (lo.time_ratio - hi.time_ratio);
    p.energy_ratio = hi.energy_ratio + part * (lo.energy_ratio - hi.energy_ratio);
    if (hi.power_w > 0 && lo.power_w > 0) p.power_w = hi.power_w + part * (lo.power_w - hi.power_w);
    p.work = fmt::format("between {:g} and {:g} W", lo.cap_w, hi.cap_w);
    return p;
  }
  return curve.back();
}

CapOutcome cap_outcome(const CapPoint& at, const CapSetting& s) {
  CapOutcome o;
  o.cap_w = at.cap_w;
  o.time_ratio = at.time_ratio;
  o.energy_ratio = at.energy_ratio;
  o.power_ratio = at.energy_ratio / at.time_ratio;
  o.power_w = s.uncapped_w * o.power_ratio;
  const double per_w = s.pue / 1000;  // kWh of the site for a watt at the plug in an hour
  const double before_kwh = (s.uncapped_w + s.host_w) * per_w;
  o.facility_kwh = (s.uncapped_w * at.energy_ratio + s.host_w * at.time_ratio) * per_w;
  o.facility_ratio = o.facility_kwh / before_kwh;
  o.energy_money = o.facility_kwh * s.per_kwh;
  o.time_money = at.time_ratio * s.gpu_hour;
  const double before = before_kwh * s.per_kwh + s.gpu_hour;
  o.total_ratio = before > 0 ? (o.energy_money + o.time_money) / before : 1;
  const double saved = (before_kwh - o.facility_kwh) * s.per_kwh, lost_h = at.time_ratio - 1;
  const double always = std::numeric_limits<double>::infinity();
  o.break_even = lost_h > 0 ? saved / lost_h : saved > 0 ? always : saved < 0 ? -always : 0;
  // A site short of power: as many GPUs as it feeds, each doing 1 / time_ratio.
  o.gpus_per_mw_ratio = (s.uncapped_w + s.host_w) / (o.power_w + s.host_w);
  o.per_mw_ratio = o.gpus_per_mw_ratio / at.time_ratio;
  return o;
}

}  // namespace muster::predict
