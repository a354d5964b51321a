// muster energy cap: does a power cap pay?
#include "report/energy_cap.h"

#include <fmt/core.h>

#include <set>

#include "account/energy.h"
#include "base/text.h"
#include "energy_options.h"
#include "files.h"
#include "ingest/power_tables.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<std::vector<CapPoint>> own_curve(const EnergyCapOptions& o) {
  if (o.measured.empty())
    return fail(Code::bad_input, "--bound measured needs the measurement",
                "--measured FILE with the columns cap_w, throughput, power_w");
  const auto text = read_file(o.measured);
  if (!text) return tl::unexpected(text.error());
  auto all = parse_power_caps(*text, o.measured);
  if (!all) return tl::unexpected(all.error());
  if (all->size() < 2) return fail(Code::bad_input, o.measured + ":1: one cap alone is no curve", "measure without a cap too");
  const auto same = predict::cap_curve(*all, all->front().gpu, all->front().bound);
  if (same.size() != all->size())
    return fail(Code::bad_input, o.measured + ":1: it has several GPUs or kinds of work", "one of them in a file");
  return same;
}

Result<std::vector<CapPoint>> curve_of(const EnergyCapOptions& o) {
  if (o.bound == "measured") return own_curve(o);
  if (!o.measured.empty()) return fail(Code::bad_input, "--measured is for --bound measured");
  auto curve = predict::cap_curve(shipped_power_caps(), lower(o.gpu), o.bound);
  if (!curve.empty()) return curve;
  std::set<std::string> there;
  for (const CapPoint& p : shipped_power_caps()) there.insert(p.gpu + " " + p.bound);
  return fail(Code::not_found,
              fmt::format("no caps were measured of {}, {}-bound; what was: {}", printable(o.gpu), o.bound,
                          join({there.begin(), there.end()}, ", ")),
              "measure yours: muster energy cap --bound measured --measured FILE");
}

}  // namespace

int run_energy_cap(const EnergyCapOptions& o) {
  auto curve = curve_of(o);
  if (!curve) return say_error(curve.error());
  report::CapReport r;
  r.curve = std::move(*curve);
  if (o.to_w) {
    auto at = predict::cap_at(r.curve, *o.to_w);
    if (!at) return say_error(at.error());
    r.chosen = std::move(*at);
  }
  r.setting = {o.rate, o.per_kwh, o.pue, o.host_w, r.curve.front().power_w};
  if (r.setting.uncapped_w <= 0) {
    const GpuWatts* w = account::find_watts(shipped_gpu_watts(), r.curve.front().gpu);
    r.setting.uncapped_w = w == nullptr ? r.curve.front().cap_w : std::min(w->typical_w, r.curve.front().cap_w);
    r.power_assumed = true;
  }
  r.gpus = o.gpus;
  r.hours = o.hours;
  r.currency = o.currency;
  switch (o.format) {
    case report::Format::json: put(report::render_cap_json(r)); break;
    case report::Format::csv: put(report::render_cap_csv(r)); break;
    default: put(report::render_cap_text(r, {.colour = colour_wanted()}));
  }
  return finish_output();
}

}  // namespace muster::cmd
