#include "report/fabric_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"
#include "report/fabric_faults.h"
#include "report/table.h"

namespace muster::report {
namespace {

using design::FabricChange;
using design::FabricChangeKind;

void ends_json(JsonWriter& w, const FabricFault& f) {
  w.key("ends").array();
  for (const std::string& e : f.ends) w.value(e);
  w.end_array();
}

void fault_json(JsonWriter& w, const FabricFault& f) {
  w.field("kind", name_of(f.kind));
  ends_json(w, f);
  w.field("detail", f.detail).field("confidence", f.confidence).field("fix", f.fix);
}

constexpr std::size_t kToldFaults = 1000, kToldEnds = 8;
constexpr std::size_t kToldEndBytes = 128, kToldDetailBytes = 400, kToldBytes = 768 << 10;

std::string told_json(const FabricFault& f, const std::vector<std::string>& nodes) {
  JsonWriter w;
  w.object().field("kind", name_of(f.kind)).key("ends").array();
  for (std::size_t i = 0; i < std::min(f.ends.size(), kToldEnds); ++i)
    w.value(f.ends[i].empty() ? std::string_view("?") : clipped(printable(f.ends[i]), kToldEndBytes));
  w.end_array().field("detail", clipped(printable(f.detail), kToldDetailBytes)).field("confidence", f.confidence);
  if (!f.fix.empty()) w.field("fix", clipped(printable(f.fix), kToldDetailBytes));
  w.key("nodes").array();
  for (const std::string& n : nodes) w.value(n);
  w.end_array().end_object();
  return w.take();
}

std::string line_of(JsonWriter& w) { return w.take() + "\n"; }

}  // namespace

std::string render_fabric_change(const FabricChange& c, Time utc, bool colour) {
  const bool good =
      c.kind == FabricChangeKind::over || (c.kind == FabricChangeKind::rate && c.trend != design::ErrorTrend::rising);
  const bool named = c.kind == FabricChangeKind::fault || c.kind == FabricChangeKind::over;
  const Tone tone = good ? Tone::good : c.kind == FabricChangeKind::fault && c.fault.confidence >= 0.8 ? Tone::bad : Tone::warn;
  std::string out = fmt::format("{}  {}", render_utc(utc), paint(fmt::format("{:5}", name_of(c.kind)), tone, colour));
  if (named) out += fmt::format("  {}", name_of(c.fault.kind));
  // A flap's words begin with its ends; those of the others may be about them without a name.
  if (c.kind != FabricChangeKind::flap) out += "  " + (c.fault.ends.empty() ? "the whole fabric" : fault_ends(c.fault));
  if (c.kind == FabricChangeKind::over) return out + fmt::format("  after {}\n", render_duration(from_seconds(c.lasted_s)));
  out += fmt::format("  {}", printable(c.fault.detail));
  if (!c.fault.fix.empty()) out += fmt::format("; do: {}", printable(c.fault.fix));
  return out + "\n";
}

std::string fabric_change_json(const FabricChange& c, Time utc) {
  JsonWriter w;
  w.object().field("at", render_utc(utc)).field("change", name_of(c.kind));
  switch (c.kind) {
    case FabricChangeKind::fault: fault_json(w, c.fault); break;
    case FabricChangeKind::over:
      fault_json(w, c.fault);
      w.field("lasted_s", c.lasted_s);
      break;
    case FabricChangeKind::flap:
      ends_json(w, c.fault);
      w.field("times", c.times).field("down_s", c.lasted_s).field("detail", c.fault.detail).field("fix", c.fault.fix);
      break;
    case FabricChangeKind::rate:
      ends_json(w, c.fault);
      w.field("counter", c.counter).field("per_s", c.per_s).field("per_s_before", c.per_s_before);
      w.field("trend", name_of(c.trend)).field("detail", c.fault.detail).field("fix", c.fault.fix);
      break;
  }
  w.end_object();
  return line_of(w);
}

std::string render_fabric_unread(const std::string& why, Time utc) {
  return why.empty() ? fmt::format("{}  read   the fabric can be read again\n", render_utc(utc))
                     : fmt::format("{}  unread  {}\n", render_utc(utc), printable(why));
}

std::string fabric_unread_json(const std::string& why, Time utc) {
  JsonWriter w;
  w.object().field("at", render_utc(utc)).field("change", why.empty() ? "read" : "unread").field("detail", why).end_object();
  return line_of(w);
}

std::string fabric_standing_json(const design::FabricWatch& watch, Time utc) {
  JsonWriter w;
  w.object().field("at", render_utc(utc)).field("complete", watch.compared().complete).key("faults").array();
  for (const FabricFault& f : watch.faults()) {
    w.object();
    fault_json(w, f);
    w.end_object();
  }
  w.end_array().end_object();
  return line_of(w);
}

std::string fabric_told_json(const design::FabricWatch& watch, const design::FabricHosts& hosts, std::string_view name,
                             double every_s) {
  std::vector<FabricFault> all = watch.faults();
  for (FabricFault& f : watch.flapping()) all.push_back(std::move(f));
  const auto surer = [](const FabricFault& a, const FabricFault& b) { return a.confidence > b.confidence; };
  std::stable_sort(all.begin(), all.end(), surer);
  JsonWriter w;
  w.object().key("fabric").object();
  if (!name.empty()) w.field("name", name);
  if (every_s > 0) w.field("every_s", every_s);
  w.key("judged").array();
  if (watch.rates_judged()) w.value("rates");
  if (watch.flaps_judged()) w.value("flaps");
  w.end_array().key("faults").array();
  std::size_t told = 0;
  for (; told < std::min(all.size(), kToldFaults); ++told) {
    const std::string fault = told_json(all[told], hosts.touched(all[told]));
    if (w.view().size() + fault.size() > kToldBytes) break;
    w.raw(fault);
  }
  // What was left out is not over.
  const std::size_t left_out = all.size() - told;
  w.end_array().field("left_out", left_out).field("complete", watch.compared().complete && left_out == 0);
  w.end_object().end_object();
  return w.take();
}

}  // namespace muster::report
