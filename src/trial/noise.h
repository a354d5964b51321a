// Noise: what a sound cluster's exporters say beside the truth. A few corrected errors, links that retry, exporters that restart,
// counters that start anew with the driver, scrapes that get lost, clocks that are set. It stands between a twin and the loop.
#pragma once
#include <vector>

#include "base/prng.h"
#include "model/site.h"
#include "ports/clock.h"
#include "ports/observatory.h"

namespace muster::trial {

struct NoiseRates {            // of each GPU or its NIC, a day
  double corrected_ecc = 0.5;  // bursts of up to a dozen
  double pcie_replays = 2;     // likewise
  double nvlink_errors = 1;    // likewise
  double symbol_errors = 34;   // a bit error rate of 1e-15 at 400 Gb/s
  double receive_errors = 1;
  double driver_reloads = 0.02;         // of a node: its GPUs' counters start anew
  double exporter_restarts = 0.2;       // of a node: no scrapes for up to two minutes and a half
  double clock_set = 0.01;              // of a node: by up to ten minutes
  double corrected_pcie = 0.05;         // of a node: a kernel record
  Duration scrape_every = minutes(15);  // of the counters
};

class Noise final : public Observatory {
 public:
  // Both must outlive it.
  Noise(Observatory& inner, const Clock& clock, const Site& site, std::uint64_t seed, NoiseRates rates = {});
  void poll(Inbox& out) override;
  void wait(Time until) override { inner_.wait(until); }
  std::uint64_t samples() const { return samples_; }  // that it added

 private:
  static constexpr std::size_t kCounters = 5;
  struct Node {
    Prng prng{0, "unused"};
    Time next;        // steady, of its next scrape
    Time mute_until;  // steady
    double boot_s = 0;
  };
  void scrape(std::uint32_t n, Time utc, Inbox& out);
  double& counter(std::uint32_t n, std::size_t slot, std::size_t c) { return counters_[(n * slots_ + slot) * kCounters + c]; }

  Observatory& inner_;
  const Clock& clock_;
  NoiseRates rates_;
  std::size_t slots_;
  std::vector<Node> nodes_;
  std::vector<double> counters_;
  std::uint64_t samples_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace muster::trial
