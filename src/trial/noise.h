// Noise: what a sound cluster's exporters say beside the truth. A few corrected errors, links that retry, exporters that restart,
// counters that start anew with the driver, scrapes that get lost, clocks that are set, power limits, maintenance by people, an
// update that rolls through the site. It stands between a twin and the loop.
#pragma once
#include <functional>
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
  double exporter_restarts = 0.2;       // of a node: no scrapes for up to a minute and a half
  double clock_set = 0.01;              // of a node: by up to ten minutes
  double corrected_pcie = 0.05;         // of a node: a kernel record
  double lost_scrapes = 0.5;            // of a node
  double power_caps = 0.3;              // of a node: its GPUs are held by their power limit, for up to three hours
  double blips = 0.02;                  // of a GPU: one reading that says power brake, or slowed by heat
  double maintenance = 0.01;            // of a node: a person drains it, boots it, and gives it back
  double update_at_day = 10;            // a new driver, which every node gets at some time of that day
  Duration scrape_every = minutes(15);  // of the counters
};

class Noise final : public Observatory {
 public:
  // Both must outlive it.
  Noise(Observatory& inner, const Clock& clock, const Site& site, std::uint64_t seed, NoiseRates rates = {});
  void poll(Inbox& out) override;
  void wait(Time until) override { inner_.wait(until); }
  std::uint64_t samples() const { return samples_; }  // that it added
  // Whether nothing runs on the node any more; to be set where there is maintenance.
  std::function<bool(NodeId)> empty;

 private:
  static constexpr std::size_t kCounters = 5;
  enum class Care : std::uint8_t { none, asked, away };
  struct Node {
    Prng prng{0, "unused"};
    Time next;        // steady, of its next scrape
    Time mute_until;  // steady
    double boot_s = 0;
    Time capped_until;  // steady
    Time updates;       // steady: when it gets the new driver
    Care care = Care::none;
  };
  void gauges(std::uint32_t n, Time utc, Time steady, Inbox& out);
  void maintain(std::uint32_t n, const Now& now, Inbox& out);
  void scrape(std::uint32_t n, Time utc, Inbox& out);
  double& counter(std::uint32_t n, std::size_t slot, std::size_t c) { return counters_[(n * slots_ + slot) * kCounters + c]; }

  Observatory& inner_;
  const Clock& clock_;
  NoiseRates rates_;
  std::size_t slots_;
  std::vector<Node> nodes_;
  std::vector<double> counters_;
  std::vector<bool> busy_;  // by GPU, as the twin last said
  std::uint64_t samples_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t commands_ = 0;
};

}  // namespace muster::trial
