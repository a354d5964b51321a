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
      counters_(site.nodes.size() * site.gpus_per_node * kCounters) {
  const Now now = clock.now();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& x = nodes_[n];
    x.prng = Prng(seed, "noise/" + std::to_string(n));
    x.next = now.steady + from_seconds(rates_.scrape_every.seconds() * x.prng.unit());
    x.boot_s = static_cast<double>(now.utc.ns / 1'000'000'000) - 86400.0 * (1 + static_cast<double>(x.prng.below(60)));
  }
}

void Noise::scrape(std::uint32_t n, Time utc, Inbox& out) {
  Node& x = nodes_[n];
  const double day = rates_.scrape_every.seconds() / 86400;
  if (x.prng.chance(rates_.driver_reloads * day)) {
    for (std::size_t s = 0; s < slots_; ++s) std::fill_n(&counter(n, s, 0), kOfTheGpu, 0.0);
  }
  if (x.prng.chance(rates_.clock_set * day)) x.boot_s += 1200 * x.prng.unit() - 600;
  if (x.prng.chance(rates_.exporter_restarts * day)) x.mute_until = clock_.now().steady + from_seconds(30 + 120 * x.prng.unit());
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
    return m.field == Field::boot_time_s || std::find(kFieldOf.begin(), kFieldOf.end(), m.field) != kFieldOf.end();
  };
  const auto begin = out.samples.begin() + static_cast<std::ptrdiff_t>(before);
  out.samples.erase(std::remove_if(begin, out.samples.end(),
                                   [&](const Sample& m) { return ours(m) || now.steady < nodes_[m.node.v].mute_until; }),
                    out.samples.end());
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    Node& x = nodes_[n];
    if (now.steady < x.next) continue;
    x.next = x.next + rates_.scrape_every;
    if (now.steady >= x.mute_until) scrape(n, now.utc, out);
  }
}

}  // namespace muster::trial
