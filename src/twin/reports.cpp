// Reports: what exporters say and what the scraper notes, as bytes through ingest's parser. Nodes report in slots spread
// over the minute; a node with nothing new costs one sample and no text.
#include <fmt/core.h>

#include "ingest/prom_text.h"
#include "twin/cluster.h"
#include "twin/scrape.h"

namespace muster::twin {
namespace {

constexpr double kSettled = 0.02;  // of the thermal load: below this nothing more will be worth a report
constexpr double kHeatMaterial = kMaterialTempC / 36;
constexpr std::uint32_t kAmbientGroups = 60;

}  // namespace

void Cluster::report_slot() {
  const Time at = utc();
  const auto n = static_cast<std::uint32_t>(nodes.size());
  for (std::uint32_t i = report_slot_now; i < n; i += report_slots) {
    const std::uint8_t p = pulse[i];
    if ((p & 1) == 0) {
      inbox.samples.push_back({at, NodeId{i}, -1, Field::up, 0});
      if (silence_told[i] == 0) wake = true;
      silence_told[i] = 1;
    } else {
      inbox.samples.push_back({at, NodeId{i}, -1, Field::up, 1});
      if (config.full_scrapes) {
        full_scrape(NodeId{i});
      } else if (p & 2) {
        report(NodeId{i});
      }
    }
    ++count.samples;
  }
  const auto jobs = static_cast<std::uint32_t>(gangs.size());
  for (std::uint32_t g = report_slot_now; g < jobs; g += report_slots) step_report(gangs[g]);
  // Slots are placed by their number, so that they never drift against the minute.
  if (++report_slot_now == report_slots) {
    report_slot_now = 0;
    ++report_round;
  }
  const std::uint64_t next = report_round * report_slots + report_slot_now + 1;
  queue.push(started + nanoseconds(static_cast<std::int64_t>(next) * (config.report_every.ns / report_slots)), Tick::report);
}

void Cluster::report(NodeId n) {
  Node& x = node(n);
  if (x.dirty & kFull) return full_scrape(n);
  if (!config.gauges) {
    x.dirty &= kCounters;
    x.warming = false;
  }
  const double heat = heat_now(x);
  // Where GPUs differ, the mean moves by a fraction of what one of them does.
  const double share = x.split == kNone ? 1.0 : 1.0 / per_node;
  if (std::abs(heat - static_cast<double>(x.heat_reported)) > kHeatMaterial * share && config.gauges) x.dirty |= kTemp;
  if (x.warming && std::abs(heat - settled_heat(x)) < kSettled * share) x.warming = false;
  if (x.dirty != kClean) {
    ScrapeWriter w(*this, n, text);
    if (x.dirty & kLoad) w.load();
    if (x.dirty & (kLoad | kTemp)) w.temperatures();
    if (x.dirty & kCounters) w.counters(x.dirty_slots);
    if (x.dirty & kCounters) wake = true;
    count.scrape_bytes += text.size();
    const std::size_t before = inbox.samples.size();
    count.refused_lines += parse_scrape(text, n, utc(), config.site, inbox.samples);
    count.samples += inbox.samples.size() - before;
    if (x.dirty & (kLoad | kTemp)) {
      x.heat_reported = static_cast<float>(heat);
      x.inlet_reported = static_cast<float>(inlet_now(n));
    }
  }
  x.dirty = kClean;
  x.dirty_slots = 0;
  if (!x.warming) pulse[n.v] &= static_cast<std::uint8_t>(~2u);
}

void Cluster::full_scrape(NodeId n) {
  Node& x = node(n);
  ScrapeWriter w(*this, n, text);
  w.full();
  count.scrape_bytes += text.size();
  const std::size_t before = inbox.samples.size();
  count.refused_lines += parse_scrape(text, n, utc(), config.site, inbox.samples);
  count.samples += inbox.samples.size() - before;
  if (x.dirty & (kFull | kCounters) && report_round > 0) wake = true;
  const double heat = heat_now(x);
  x.heat_reported = static_cast<float>(heat);
  x.inlet_reported = static_cast<float>(inlet_now(n));
  x.warming = std::abs(heat - settled_heat(x)) >= kSettled / (x.split == kNone ? 1.0 : per_node);
  x.dirty = kClean;
  x.dirty_slots = 0;
  if (!x.warming) pulse[n.v] &= static_cast<std::uint8_t>(~2u);
}

// The room changes slowly: each minute another sixtieth of the nodes is looked at.
void Cluster::ambient() {
  for (std::uint32_t i = ambient_group; i < nodes.size(); i += kAmbientGroups) {
    const NodeId n{i};
    if (std::abs(inlet_now(n) - static_cast<double>(node(n).inlet_reported)) > kMaterialTempC) tell(n, -1, kTemp);
  }
}

}  // namespace muster::twin
