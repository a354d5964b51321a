#include "report/energy_cap.h"

#include <fmt/core.h>

#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

using predict::CapOutcome;

// "+18.3 %" of a ratio.
std::string change(double ratio) {
  const double pct = 100 * (ratio - 1);
  return std::abs(pct) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", pct);
}

// "2.9 % more".
std::string more_or_less(double ratio) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(ratio - 1), ratio < 1 ? "less" : "more");
}

Cell change_cell(double ratio, bool less_is_good) {
  const double pct = 100 * (ratio - 1);
  Cell c(change(ratio), std::abs(pct) < 0.5 ? Tone::plain : (pct < 0) == less_is_good ? Tone::good : Tone::warn);
  c.raw = render_number(ratio);
  c.key = ratio;
  return c;
}

std::vector<CapPoint> rows_of(const CapReport& r) {
  std::vector<CapPoint> out = r.curve;
  if (!r.chosen) return out;
  for (auto it = out.begin(); it != out.end(); ++it) {
    if (it->cap_w == r.chosen->cap_w) return out;
    if (it->cap_w < r.chosen->cap_w) {
      out.insert(it, *r.chosen);
      return out;
    }
  }
  return out;
}

Table table_of(const CapReport& r) {
  Table t;
  t.columns = {{"CAP W", true, false, false, "cap_w"},
               {"GPU W", true, false, false, "gpu_w"},
               {"TIME", true, false, false, "time_ratio"},
               {"GPU ENERGY", true, false, false, "gpu_energy_ratio"},
               {"SITE ENERGY", true, false, false, "site_energy_ratio"},
               {"ALL MONEY", true, false, false, "money_ratio"},
               {"PAYS BELOW", true, false, false, "break_even_per_gpu_hour"},
               {"WORK/MW", true, false, false, "work_per_mw_ratio"},
               {"", false, false, false, "work"}};
  for (const CapPoint& p : rows_of(r)) {
    const CapOutcome o = predict::cap_outcome(p, r.setting);
    const bool none = p.cap_w == r.curve.front().cap_w;
    const auto number = [](double v, const std::string& text) {
      Cell c(text);
      c.raw = std::isfinite(v) ? render_number(v) : "";
      c.key = v;
      return c;
    };
    const std::string pays = none                       ? "-"
                             : std::isinf(o.break_even) ? (o.break_even > 0 ? "always" : "never")
                             : o.break_even <= 0
                                 ? "never"
                                 : fmt::format("{} {}/h", render_decimal(o.break_even, o.break_even < 0.1 ? 3 : 2), r.currency);
    std::string mark = none ? "no cap" : r.chosen && p.cap_w == r.chosen->cap_w ? "<" : "";
    if (r.chosen && p.cap_w == r.chosen->cap_w && p.work.starts_with("between")) mark = "< " + p.work;
    t.rows.push_back({number(p.cap_w, fmt::format("{:g}", p.cap_w)), number(o.power_w, render_decimal(o.power_w, 0)),
                      change_cell(o.time_ratio, true), change_cell(o.energy_ratio, true), change_cell(o.facility_ratio, true),
                      change_cell(o.total_ratio, true), number(o.break_even, pays), change_cell(o.per_mw_ratio, false),
                      Cell(mark, Tone::dim)});
  }
  return t;
}

struct JobSums {
  double kwh_saved, energy_saved, hours_more, time_cost;
};
JobSums job_sums(const CapReport& r, const CapPoint& at) {
  const CapOutcome o = predict::cap_outcome(at, r.setting), none = predict::cap_outcome(r.curve.front(), r.setting);
  const double work = r.gpus * r.hours;
  return {work * (none.facility_kwh - o.facility_kwh), work * (none.energy_money - o.energy_money), r.hours * (o.time_ratio - 1),
          work * (o.time_money - none.time_money)};
}

std::string about_job(const CapReport& r, const CapPoint& at) {
  const JobSums s = job_sums(r, at);
  return fmt::format(
      "This job ({:g} GPUs, {:g} h without a cap): {} kWh {} at the meter, {} of electricity; {:+.1f} h, {} of GPU time.", r.gpus,
      r.hours, render_decimal(std::abs(s.kwh_saved), 1), s.kwh_saved >= 0 ? "less" : "more",
      render_money(-s.energy_saved, r.currency), s.hours_more, render_money(s.time_cost, r.currency));
}

std::string assumptions(const CapReport& r) {
  return fmt::format(
      "{} {}/GPU-h without electricity, {} {}/kWh, {:g} W of host with each GPU, PUE {:g}; the GPU draws {:.0f} W without a "
      "cap{}",
      render_decimal(r.setting.gpu_hour, 2), r.currency, render_decimal(r.setting.per_kwh, 3), r.currency, r.setting.host_w,
      r.setting.pue, r.setting.uncapped_w, r.power_assumed ? " (assumed: typical of the model)" : "");
}

void write_point(JsonWriter& w, const CapReport& r, const CapPoint& p) {
  const CapOutcome o = predict::cap_outcome(p, r.setting);
  w.object()
      .field("cap_w", p.cap_w)
      .field("gpu_w", o.power_w)
      .field("time_ratio", o.time_ratio)
      .field("gpu_power_ratio", o.power_ratio);
  w.field("gpu_energy_ratio", o.energy_ratio).field("site_energy_ratio", o.facility_ratio).field("money_ratio", o.total_ratio);
  w.key("break_even_per_gpu_hour");
  if (std::isfinite(o.break_even))
    w.value(o.break_even);
  else
    w.null();
  w.field("pays", o.total_ratio < 1).field("work_per_mw_ratio", o.per_mw_ratio).field("gpus_per_mw_ratio", o.gpus_per_mw_ratio);
  w.field("work", p.work).field("source", p.source).end_object();
}

}  // namespace

std::string cap_verdict(const CapReport& r, const CapPoint& at) {
  const CapOutcome o = predict::cap_outcome(at, r.setting);
  if (at.cap_w == r.curve.front().cap_w)
    return fmt::format("{:g} W is the highest cap that was measured, and counts as none.", at.cap_w);
  const double pct = 100 * (o.total_ratio - 1);
  const std::string rate = render_decimal(r.setting.gpu_hour, 2) + " " + r.currency;
  std::string s = fmt::format("A cap of {:g} W ", at.cap_w);
  if (pct > 0.05)
    s += fmt::format("does not pay at {} a GPU-hour: the work costs {:.1f} % more", rate, pct);
  else if (pct < -0.05)
    s += fmt::format("pays at {} a GPU-hour: the work costs {:.1f} % less", rate, -pct);
  else
    s += fmt::format("changes next to nothing at {} a GPU-hour", rate);
  s += fmt::format(" (time {}, the GPU's energy {})", change(o.time_ratio), change(o.energy_ratio));
  if (std::isfinite(o.break_even) && o.break_even > 0)
    s += fmt::format(", and pays only below {} {} a GPU-hour", render_decimal(o.break_even, o.break_even < 0.1 ? 3 : 2),
                     r.currency);
  else if (o.break_even <= 0)
    s += ", and at no rate does it pay";
  s += fmt::format("; where megawatts are short and GPUs are not, a MW does {} work and feeds {} GPUs.",
                   more_or_less(o.per_mw_ratio), more_or_less(o.gpus_per_mw_ratio));
  return s;
}

std::string render_cap_text(const CapReport& r, const TableStyle& style) {
  std::string out = fmt::format("Power caps of {} ({}-bound), against no cap, per unit of work\n\n",
                                r.curve.front().gpu.empty() ? "the GPU" : upper(r.curve.front().gpu), r.curve.front().bound);
  out += render_table(table_of(r), style) + "\n";
  if (r.chosen) out += wrap(cap_verdict(r, *r.chosen), 118, 0) + "\n" + wrap(about_job(r, *r.chosen), 118, 0) + "\n\n";
  out += wrap("With: " + assumptions(r), 118, 2) + "\n";
  out += wrap("Source: " + printable(r.curve.front().work.empty() ? "" : r.curve.front().work + "; ") +
                  printable(r.curve.front().source),
              118, 2) +
         "\n";
  return out;
}

std::string render_cap_json(const CapReport& r) {
  JsonWriter w;
  w.object()
      .field("apiVersion", "v1")
      .field("kind", "EnergyCap")
      .field("gpu", r.curve.front().gpu)
      .field("bound", r.curve.front().bound);
  w.field("currency", r.currency).field("rate_per_gpu_hour", r.setting.gpu_hour).field("price_per_kwh", r.setting.per_kwh);
  w.field("pue", r.setting.pue)
      .field("host_w", r.setting.host_w)
      .field("uncapped_w", r.setting.uncapped_w)
      .field("uncapped_assumed", r.power_assumed);
  w.key("caps").array();
  for (const CapPoint& p : r.curve) write_point(w, r, p);
  w.end_array().key("chosen");
  if (r.chosen) {
    const JobSums s = job_sums(r, *r.chosen);
    write_point(w, r, *r.chosen);
    w.key("job")
        .object()
        .field("gpus", r.gpus)
        .field("hours", r.hours)
        .field("kwh_saved", s.kwh_saved)
        .field("energy_saved", s.energy_saved);
    w.field("hours_more", s.hours_more).field("time_cost", s.time_cost).end_object();
    w.field("verdict", cap_verdict(r, *r.chosen));
  } else {
    w.null();
  }
  w.end_object();
  return w.take() + "\n";
}

std::string render_cap_csv(const CapReport& r) {
  Table t = table_of(r);
  t.columns.pop_back();
  for (auto& row : t.rows) row.pop_back();
  return render_csv(t, true);
}

}  // namespace muster::report
