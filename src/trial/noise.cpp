#include "trial/noise.h"

#include <algorithm>
#include <array>

namespace muster::trial {
namespace {

constexpr std::array kFieldOf = {Field::ecc_sbe_total, Field::pcie_replay_total, Field::nvlink_errors_total,
                                 Field::ib_symbol_errors_total, Field::ib_receive_errors_total};
constexpr std::size_t kOfTheGpu = 3;  // the first so many start anew with the driver
constexpr std::uint64_t kBurst = 12;

}  // namespace

Noise::Noise(Observatory& inner, const Clock& clock, const Site& site, std::uint64_t seed, NoiseRates rates)
    : inner_(inner),
      clock_(clock),
      rates_(rates),
      slots_(site.gpus_per_node),
      nodes_(site.nodes.size()),
      counters_(site.nodes.size() * site.gpus_per_node * kCounters),
      busy_(site.nodes.size() * site.gpus_per_node) {
  const Now now = clock.now();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& x = nodes_[n];
    x.prng = Prng(seed, "noise/" + std::to_string(n));
    x.next = now.steady + from_seconds(rates_.scrape_every.seconds() * x.prng.unit());
    x.boot_s = static_cast<double>(now.utc.ns / 1'000'000'000) - 86400.0 * (1 + static_cast<double>(x.prng.below(60)));
    x.updates = now.steady + from_seconds(86400 * (rates_.update_at_day + x.prng.unit()));
  }
}

// What a busy or idle GPU says of itself when nothing is wrong.
void Noise::gauges(std::uint32_t n, Time utc, Time steady, Inbox& out) {
  constexpr double kIdle = 0x1, kPowerCap = 0x4, kSoftThermal = 0x20, kPowerBrake = 0x80;
  Node& x = nodes_[n];
  const double day = rates_.scrape_every.seconds() / 86400;
  if (x.prng.chance(rates_.power_caps * day)) x.capped_until = steady + from_seconds(3600 * (0.5 + 2.5 * x.prng.unit()));
  const auto say = [&](std::size_t slot, Field f, double v) {
    out.samples.push_back({utc, NodeId{n}, static_cast<std::int16_t>(slot), f, v});
  };
  const double version = steady < x.updates ? version_number(580, 159, 4) : version_number(590, 44, 1);
  out.samples.push_back({utc, NodeId{n}, -1, Field::driver_version, version});
  for (std::size_t s = 0; s < slots_; ++s) {
    const bool idle = !busy_[n * slots_ + s];  // an idle link slows down to save power
    double reasons = idle ? kIdle : steady < x.capped_until ? kPowerCap : 0;
    if (x.prng.chance(rates_.blips * day)) reasons += x.prng.chance(0.5) ? kSoftThermal : kPowerBrake;
    say(s, Field::clock_reasons, reasons);
    say(s, Field::pcie_gen, idle ? static_cast<double>(1 + x.prng.below(5)) : 5);
    say(s, Field::pcie_width, 16);
    say(s, Field::ib_rate_bytes, 5e10);
    say(s, Field::ib_up, 1);
  }
  samples_ += 1 + slots_ * 5;
}

// A person drains a node, boots it once it is empty, and gives it back.
void Noise::maintain(std::uint32_t n, const Now& now, Inbox& out) {
  Node& x = nodes_[n];
  const auto command = [&](CommandVerb verb) {
    CommandGiven c;
    c.verb = verb;
    c.actor = "ada";
    c.id = "care-" + std::to_string(++commands_);
    c.node = NodeId{n};
    c.reason = "maintenance";
    out.events.push_back({{{}, "people", 0}, now.utc, std::move(c), {}});
  };
  if (x.care == Care::none && empty && x.prng.chance(rates_.maintenance * rates_.scrape_every.seconds() / 86400)) {
    command(CommandVerb::drain);
    x.care = Care::asked;
  } else if (x.care == Care::asked && empty(NodeId{n})) {
    x.mute_until = now.steady + from_seconds(60 * (5 + 15 * x.prng.unit()));
    x.boot_s = static_cast<double>(now.utc.ns / 1'000'000'000) + (x.mute_until - now.steady).seconds() - 60;
    x.care = Care::away;
  } else if (x.care == Care::away && now.steady >= x.mute_until + minutes(30)) {
    command(CommandVerb::undrain);
    x.care = Care::none;
  }
}

void Noise::scrape(std::uint32_t n, Time utc, Inbox& out) {
  Node& x = nodes_[n];
  const double day = rates_.scrape_every.seconds() / 86400;
  if (x.prng.chance(rates_.lost_scrapes * day)) return;
  gauges(n, utc, clock_.now().steady, out);
  if (x.prng.chance(rates_.driver_reloads * day)) {
    for (std::size_t s = 0; s < slots_; ++s) std::fill_n(&counter(n, s, 0), kOfTheGpu, 0.0);
  }
  if (x.prng.chance(rates_.clock_set * day)) x.boot_s += 1200 * x.prng.unit() - 600;
  if (x.prng.chance(rates_.exporter_restarts * day)) x.mute_until = clock_.now().steady + from_seconds(10 + 80 * x.prng.unit());
  const double wobble = x.prng.unit() < 0.5 ? 0 : 1;
  out.samples.push_back({utc, NodeId{n}, -1, Field::boot_time_s, x.boot_s + wobble});
  const std::array<double, kCounters> per_day = {rates_.corrected_ecc, rates_.pcie_replays, rates_.nvlink_errors,
                                                 rates_.symbol_errors, rates_.receive_errors};
  for (std::size_t s = 0; s < slots_; ++s) {
    for (std::size_t c = 0; c < kCounters; ++c) {
      double& v = counter(n, s, c);
      // Symbol errors come one by one; the others in bursts, so rarely that two in one interval are left out.
      const double mean = per_day[c] * day;
      if (c == kOfTheGpu)
        v += static_cast<double>(x.prng.chance(mean - static_cast<double>(static_cast<int>(mean)))) + static_cast<int>(mean);
      else if (x.prng.chance(mean))
        v += static_cast<double>(1 + x.prng.below(kBurst));
      out.samples.push_back({utc, NodeId{n}, static_cast<std::int16_t>(s), kFieldOf[c], v});
    }
  }
  samples_ += 1 + slots_ * kCounters;
  if (!x.prng.chance(rates_.corrected_pcie * day)) return;
  KernelRecord r;
  r.at = utc;
  r.node = NodeId{n};
  r.slot = static_cast<std::int16_t>(x.prng.below(slots_));
  r.kind = KernelKind::pcie_error;
  r.seq = ++records_;
  r.text = "PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)";
  out.kernel.push_back(std::move(r));
}

void Noise::poll(Inbox& out) {
  const std::size_t before = out.samples.size();
  inner_.poll(out);
  const Now now = clock_.now();
  // The twin's own counters are zero while nothing is broken: ours stand in for them, and its boot times for none.
  const auto ours = [](const Sample& m) {
    return m.field == Field::boot_time_s || m.field == Field::ib_up || m.field == Field::pcie_width ||
           std::find(kFieldOf.begin(), kFieldOf.end(), m.field) != kFieldOf.end();
  };
  const auto begin = out.samples.begin() + static_cast<std::ptrdiff_t>(before);
  out.samples.erase(std::remove_if(begin, out.samples.end(),
                                   [&](const Sample& m) { return ours(m) || now.steady < nodes_[m.node.v].mute_until; }),
                    out.samples.end());
  // Of what is heard: an exporter tells load and link in the same breath.
  for (std::size_t i = before; i < out.samples.size(); ++i) {
    const Sample& m = out.samples[i];
    if (m.field == Field::gpu_util_pct && m.slot >= 0)
      busy_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)] = m.value >= 50;
  }
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    Node& x = nodes_[n];
    if (now.steady < x.next) continue;
    x.next = x.next + rates_.scrape_every;
    maintain(n, now, out);
    if (now.steady >= x.mute_until) scrape(n, now.utc, out);
  }
}

}  // namespace muster::trial
