// Twin: a deterministic discrete-event cluster behind the same ports as a real one. What goes wrong in it shows only as it
// would on real machines: kernel records and scrapes as bytes (parsed by ingest), node conditions, job ends, step times.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/price.h"
#include "model/site.h"
#include "model/state.h"
#include "model/workload.h"
#include "ports/actuator.h"
#include "ports/clock.h"
#include "ports/observatory.h"
#include "twin/fault.h"
#include "twin/truth.h"

namespace muster::twin {

struct Config {
  Site site;
  Workload workload;
  Weather weather;
  std::uint64_t seed = 1;
  PriceSeries prices;                         // of power, beginning in utc; no hours: nothing is announced
  PriceSeries carbon;                         // likewise, in g per kWh
  Time start_utc{1'767'225'600'000'000'000};  // 2026-01-01T00:00:00Z
  Duration report_every = minutes(1);         // how often every node reports at least
  bool gauges = true;                         // false: loads and temperatures come with whole scrapes only
  bool full_scrapes = false;                  // true (in step with the wall clock): each report is a whole scrape
  // What is chance in an order (how long a repair takes) comes from its key. In histories to be compared it comes from what is
  // ordered, where and after which fault: then one more order under one policy leaves the luck of all others as it was.
  bool luck_by_place = false;
  bool truth = false;             // keeps its own sums of what every GPU did: see Twin::truth
  bool job_environments = false;  // nodes tell what each job runs in, once it has begun
  std::string bad_driver;         // a version that hangs GPUs some minutes after it was installed; empty: none does
  std::string slow_version;       // one with which nodes do their work more slowly; empty: none
  double slow_by = 0.03;          // so much
  std::string broken_version;     // one with which a node does not come up again; empty: none
  double broken_share = 1;        // of the nodes that get it
  std::string boot;               // of the engine's event stream; empty: from the seed
  // The mix is that of a cluster with so many nodes, and so many in its smallest leaf; 0: of this one. See keep_work_of.
  std::uint32_t mix_nodes = 0;
  std::uint32_t mix_leaf_nodes = 0;
};

// The mix asks for as much, and for jobs as large, as it does of `site`, whatever the config's own site is or becomes: clusters
// of several sizes can then be given the same work.
void keep_work_of(Config& config, const Site& site);

struct Counters {
  std::uint64_t kernel_events = 0;  // of the event queue
  std::uint64_t samples = 0;
  std::uint64_t scrape_bytes = 0;   // of metrics, through the parser
  std::uint64_t record_bytes = 0;   // of kernel records, likewise
  std::uint64_t refused_lines = 0;  // that the parser did not take: a defect of the twin
  std::uint64_t orders = 0;
  std::uint64_t duplicate_orders = 0;
  std::uint64_t throttled_gpu_ms = 0;  // of GPUs slowed because their row is hot
};

class Twin final : public Clock, public Observatory, public Actuator {
 public:
  explicit Twin(Config config);
  // A copy of a cluster as `state` knows it, to try what would happen next: jobs where they run, nodes as they are. Faults that
  // the state cannot know of (not yet shown) are not in it.
  Twin(Config config, const State& state);
  ~Twin() override;

  Now now() const override;
  void poll(Inbox& out) override;
  // Runs simulated time up to `until`, or to the whole second after something urgent happened (a kernel record, a scrape
  // that shows a changed counter or GPU, an engine's event). Regular reports, loads and temperatures, and JobProgressed are
  // not urgent.
  void wait(Time until) override;
  Result<void> submit(const Order& order) override;
  Result<void> inquire(const std::string& key) override;

  // For a twin in step with a wall clock: runs up to `steady`, whatever happens. True if something urgent is there to poll.
  bool advance_to(Time steady);

  Result<std::uint64_t> inject(const Stroke& stroke);
  Result<std::uint64_t> inject(FaultKind kind, NodeId node, int slot) {
    return inject({.kind = kind, .node = node, .slot = slot});
  }
  // No more weather: what is there goes on to its end. Faults that have not shown yet never will. New jobs come only for as
  // long as a fault is there that shows under load alone.
  void calm();

  // The truth, for tests and statistics. The controller never sees it.
  const std::vector<FaultTruth>& faults() const;
  const Counters& counters() const;
  // Mean share of GPUs with a job since the start, 0 to 1.
  double allocated_share() const;
  // What every GPU did since the start, by the twin's own count; only where the config asks for it.
  TruthSums truth() const;

 private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace muster::twin
