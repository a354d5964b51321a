#include "report/fault_costs.h"

#include <algorithm>

namespace muster::report {
namespace {

using account::Cause;
using account::Why;

constexpr double kHour = 3.6e9;  // thousandths of GPU-milliseconds

std::int64_t of(const account::Classes& c, Waste w) { return c[static_cast<std::size_t>(w)]; }

struct Cost {
  std::uint64_t attempts = 0, starts = 0;
  std::int64_t lost = 0, vain = 0, slowed = 0, out = 0;  // steps, start-ups, gangs that went on slower, GPUs out of service
  double money = 0;

  std::int64_t all() const { return lost + vain + slowed + out; }
  void operator+=(const Cost& o) {
    attempts += o.attempts;
    starts += o.starts;
    lost += o.lost;
    vain += o.vain;
    slowed += o.slowed;
    out += o.out;
    money += o.money;
  }
};

// Whose doing it is: of the hardware and what is close to it, of the program that ran, or of somebody's wish.
std::string_view origin_of(const Cause& c) {
  switch (c.why) {
    case Why::finding:
      return c.which == static_cast<std::uint8_t>(FindingKind::app_error) ||
                     c.which == static_cast<std::uint8_t>(FindingKind::job_failed)
                 ? "program"
                 : "fault";
    case Why::node_down:
    case Why::booting:
    case Why::muster:
    case Why::unknown: return "fault";
    case Why::attempt: break;
    default: return "wish";
  }
  switch (static_cast<JobEnd>(c.which)) {
    case JobEnd::node_failed: return "fault";
    case JobEnd::app_failed: return "program";
    default: return "wish";
  }
}

using Key = std::pair<std::string_view, std::string>;  // origin, name

std::map<Key, Cost> costs_of(const FlowAccount& a, std::string_view currency) {
  std::map<Key, Cost> out;
  for (const FaultStretch& f : a.faults) {
    const double price = price_of(a, f.tariff, currency);
    const auto add = [&](const Cause& cause, Cost c) {
      c.money = static_cast<double>(c.all()) / kHour * price;
      if (c.all() != 0 || c.attempts != 0) out[{origin_of(cause), std::string(name_of(cause))}] += c;
    };
    for (const auto& [cause, x] : f.stretch.causes) {
      Cost c;
      c.attempts = x.losses;
      c.lost = of(x.amount, Waste::lost_restart);
      c.out = of(x.amount, Waste::down) + of(x.amount, Waste::drained);
      add(cause, c);
    }
    for (const auto& [cause, v] : f.stretch.vain) {
      Cost c;
      c.starts = v.starts;
      c.vain = v.amount;
      add(cause, c);
    }
    for (const auto& [cause, amount] : f.stretch.slowed) {
      Cost c;
      c.slowed = amount;
      add(cause, c);
    }
  }
  return out;
}

void write_cost(JsonWriter& w, const Cost& c, bool priced) {
  w.field("attempts_lost", c.attempts).field("lost_gpu_hours", static_cast<double>(c.lost) / kHour);
  w.field("starts_in_vain", c.starts).field("vain_gpu_hours", static_cast<double>(c.vain) / kHour);
  w.field("slowed_gpu_hours", static_cast<double>(c.slowed) / kHour);
  w.field("out_gpu_hours", static_cast<double>(c.out) / kHour).field("gpu_hours", static_cast<double>(c.all()) / kHour);
  if (priced) w.field("cost", c.money);
}

}  // namespace

void write_fault_rows(JsonWriter& w, const FlowAccount& a, std::string_view currency, bool priced) {
  const std::map<Key, Cost> costs = costs_of(a, currency);
  std::vector<std::pair<Key, Cost>> rows(costs.begin(), costs.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) {
    const bool fx = x.first.first == "fault", fy = y.first.first == "fault";
    return std::pair(!fx, -x.second.all()) < std::pair(!fy, -y.second.all());
  });
  std::map<std::string_view, Cost> sums;
  w.key("rows").array();
  for (const auto& [key, c] : rows) {
    w.object().field("name", key.second).field("origin", key.first);
    write_cost(w, c, priced);
    w.end_object();
    sums[key.first] += c;
  }
  std::int64_t stalled = 0, explained = 0;
  for (const FaultStretch& f : a.faults) {
    stalled += of(f.stretch.classes, Waste::slow);
    for (const auto& [cause, amount] : f.stretch.slowed) explained += amount;
  }
  w.end_array().field("rows_left_out", 0).field("slow_unexplained_gpu_hours", static_cast<double>(stalled - explained) / kHour);
  w.key("origins").object();
  for (const auto& [origin, c] : sums) {
    w.key(origin).object();
    write_cost(w, c, priced);
    w.end_object();
  }
  w.end_object();
}

}  // namespace muster::report
