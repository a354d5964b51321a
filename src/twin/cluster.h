// Cluster: everything inside the twin. One struct, whose functions are written where their subject is: nodes.cpp, jobs.cpp,
// shares.cpp, orders.cpp, disasters.cpp (what strikes many nodes), weather.cpp (when faults strike), symptoms.cpp (what they do
// and show), reports.cpp, fork.cpp.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/prng.h"
#include "twin/cooling.h"
#include "twin/cures.h"
#include "twin/heat.h"
#include "twin/kernel.h"
#include "twin/mix.h"
#include "twin/storage.h"
#include "twin/twin.h"

namespace muster::twin {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kSlotsMax = 16;           // GPUs of a node
constexpr std::uint32_t kArrayMax = 100'000;    // members of one array
constexpr Duration kUnheardLimit = minutes(5);  // the engine calls a node down after this
constexpr Duration kNcclTimeout = minutes(10);  // a gang with a missing member gives up after this

// What a node really does, whatever the engine believes.
enum class Life : std::uint8_t { up, hung, crashed, booting, away };

struct Gpu {
  std::uint32_t ecc_sbe = 0;
  std::uint32_t ecc_dbe = 0;
  std::uint32_t remapped_rows = 0;
  std::uint32_t nvlink_errors = 0;
  std::uint32_t pcie_replays = 0;
  std::uint32_t link_downed = 0;
  std::uint64_t thermal_us = 0;
  float speed = 1;  // of compute, by faults other than heat
  float hot_c = 0;  // added at full load by a cooling fault
  float clock = 1;  // left by a cooling fault under load
  std::uint8_t pcie_width = 16;
  bool lost = false;  // not on the bus, or its processor does not answer
  bool remap_pending = false;
  bool remap_failed = false;
  bool link_up = true;
  bool row_hot = false;  // throttled because its row is hot
  bool stalled = false;  // its link is down for a moment
  std::uint32_t swaps = 0;
};

// GPUs of a node that a gang has.
struct Tenant {
  std::uint32_t gang = kNone;
  std::uint16_t slots = 0;     // bit mask
  std::uint16_t milli = 1000;  // of each, in thousandths
  float load = 0;              // that it puts on its part
};

// Loads of the GPUs of a node where they differ.
struct GpuLoads {
  std::array<float, kSlotsMax> load{};
  std::array<float, kSlotsMax> heat_from{};  // thermal load at Node::heat_at, on its way to `load`
};

// What of a node has changed since its last report.
enum Dirty : std::uint8_t { kClean = 0, kLoad = 1, kTemp = 2, kCounters = 4, kFull = 8 };

struct Node {
  Life life = Life::up;
  NodeCondition condition = NodeCondition::up;  // as the engine sees it
  bool drained = false;
  bool dark = false;     // its rack has no power
  bool pushed = false;   // it runs the driver that hangs
  bool warming = false;  // its temperature still moves
  std::uint8_t dirty = kClean;
  std::uint16_t dirty_slots = 0;
  std::uint32_t turn = 0;       // another after each change of life
  std::vector<Tenant> tenants;  // in the order they came; most often one that has all of it
  std::uint32_t split = kNone;  // into Cluster::splits, once its GPUs have had loads of their own
  std::uint32_t order = kNone;  // the one that has the node to itself: test, reset, boot, replace
  float speed = 1;              // of its slowest GPU
  float load = 0;               // mean of its GPUs
  float limit = 1;              // of power, share of what the boards may draw
  float draw = 1;               // power above idle, of what the load would draw: by the limit and by heat
  float heat_from = 0;          // thermal load at heat_at, on its way to `load`
  float heat_reported = 0;
  float inlet_reported = 0;
  Time heat_at;
  Time booted;  // steady; below zero: before the start
  std::uint32_t boots = 0;
  std::uint32_t records = 0;  // kernel records since boot
  std::uint32_t strikes = 0;  // faults so far, for their own random streams
  double fault_per_h = 0;
  Prng weather{0, "unused"};
  std::vector<std::uint32_t> faults;  // active ones
  float pace = 1;                     // with the versions that are on it
  bool stuck = false;                 // it does not come up with what is installed
  std::string driver;                 // that an order has installed; empty: the one it came with
};

enum class Phase : std::uint8_t { queued, launching, init, compute, writing, hung, broken };

// A job as the engine runs it. Work is counted in nanoseconds of nominal compute, so that nothing is rounded away.
struct Gang {
  JobId id;  // none: the place is free
  JobSpec spec;
  Phase phase = Phase::queued;
  std::uint32_t attempt = 0;
  std::uint32_t turn = 0;            // another after each change of phase
  std::uint32_t life = 0;            // another after each start
  std::uint32_t attempt_before = 0;  // while launching: to go back to if that fails
  std::vector<NodeId> nodes;
  std::vector<std::uint16_t> slots;  // GPUs on each, as a bit mask; empty: all of each
  std::vector<NodeId> had;           // nodes of the last attempt
  std::int64_t step_ns = 1;
  std::int64_t total_ns = 0;
  std::int64_t work_ns = 0;
  std::int64_t durable_ns = 0;
  std::int64_t target_ns = 0;    // of the compute phase: next checkpoint or the end
  std::int64_t writing_ns = -1;  // work in the checkpoint that is written beside the steps; below 0: none is
  std::int64_t init_ns = 0;
  std::int64_t checkpoint_ns = 0;
  std::int64_t slow_ns = 0;
  std::uint32_t checkpoints = 0;
  Duration paced_every;  // as it was told; 0: it keeps its own time
  Time paced_next;       // utc
  Time since;            // up to which the counters above are settled
  double speed = 1;
  double part = 1;                // of its pieces that it has: with fewer its steps take as much longer
  std::int64_t told_work_ns = 0;  // at the last step report
  std::int64_t told_slow_ns = 0;
  Time doom_at = kNever;
  JobEnd doom_end = JobEnd::node_failed;
  std::string doom_detail;
  std::uint32_t start_order = kNone;  // while launching
  bool again = false;                 // while launching: a restart in place, which never was in the queue
};

struct FaultLive {
  Depth depth = Depth::itself;
  float severity = 0;  // kind-specific: speed, clock
  std::uint32_t turn = 0;
  Prng prng{0, "unused"};
};

struct OrderState {
  std::string key;
  Action action;
  Status status = Status::pending;
  std::string detail;
  bool ended = false;
  double score = 0;
  std::string luck;  // names its random streams
};

// Stages of a disaster that concern one node, beside those of symptoms.cpp: kDisasterStages + node * kDisasterOps + op.
constexpr std::uint32_t kDisasterStages = 16;
constexpr std::uint32_t kDisasterOps = 4;

// Nodes of the smallest leaf.
std::uint32_t least_leaf(const Site& site);
// The stream of jobs that the config asks for.
Mix mix_of(const Config& config, std::uint64_t seed);

struct Cluster {
  explicit Cluster(Config config);

  // ---- time
  Time utc() const { return now + utc_offset; }
  void step();  // the next event
  bool hot_in_service() const;
  void run_to(Time steady);  // all events up to then
  void begin();              // first events of a fresh cluster
  Time listed_at(std::size_t i) const;
  void announce_prices();         // what is known now; and again at noon
  void fork(const State& state);  // fork.cpp, as the three below
  void fork_nodes(const State& state);
  void fork_jobs(const State& state);
  void fork_orders(const State& state);

  // ---- output
  void emit(Body body, bool wakes = true);
  void kernel(NodeId n, std::string_view text, int priority = 4);  // one kernel record, as bytes through ingest
  void tell(NodeId n, int slot, std::uint8_t what);                // mark for the next report

  // ---- nodes.cpp
  Node& node(NodeId n) { return nodes[n.v]; }
  Gpu& gpu(NodeId n, int slot) { return gpus[n.v * per_node + static_cast<std::uint32_t>(slot)]; }
  const std::string& name(NodeId n) const { return config.site.nodes[n.v].name; }
  const std::string& model(NodeId n) const {
    const std::string& own = config.site.nodes[n.v].gpu_model;
    return own.empty() ? config.site.gpu_model : own;
  }
  std::uint64_t identity(NodeId n, int slot) const;  // of the board in that slot
  std::string uuid(NodeId n, int slot);
  std::uint64_t boot_id(NodeId n) const;
  void set_life(NodeId n, Life life);
  void go_silent(NodeId n, Life life);  // hung or crashed: the engine finds out later
  void unheard(NodeId n, std::uint32_t turn);
  void start_boot(NodeId n, Life life, NodeCondition seen, const std::string& detail);
  void finish_boot(NodeId n, const std::string& detail);
  float gpu_speed(NodeId n, int slot);  // share of its nominal speed
  void update_speed(NodeId n);
  void set_load(NodeId n, double load);  // of all its GPUs
  double heat_now(const Node& n) const;
  double inlet_now(NodeId n) const;

  // ---- cooling.cpp
  void make_rows();
  void set_cooling(std::uint32_t row, double capacity);
  double show_cooling(std::uint32_t f);
  bool mend_cooling(std::uint32_t f);
  double row_heat(const CoolingRow& r) const;
  double settled_heat(const Node& n) const { return static_cast<double>(n.load) * static_cast<double>(n.draw); }
  void cool_row(std::uint32_t row);
  void heat_gpus(NodeId n, Duration passed);
  void update_draw(NodeId n);
  void limit_power(NodeId n, double share);

  // ---- shares.cpp: which gang has which GPUs
  std::uint16_t all_slots() const { return static_cast<std::uint16_t>((1u << per_node) - 1); }
  std::uint16_t slots_of(const Gang& g, std::size_t i) const { return g.slots.empty() ? all_slots() : g.slots[i]; }
  bool room_for(NodeId n, std::uint16_t slots, std::uint32_t milli, std::uint32_t except) const;
  std::vector<std::uint32_t> gangs_on(NodeId n, int slot) const;  // slot -1: all of the node
  bool busy(NodeId n, int slot) const;                            // likewise
  void occupy(std::uint32_t g);
  void release_nodes(std::uint32_t g);
  void load_nodes(std::uint32_t g, double load);
  std::string readings(NodeId n);  // what a probe answers, in words
  double speed_of(const Gang& g);  // of its slowest GPU, and by its size
  void refresh_load(NodeId n);
  void set_drained(NodeId n, bool drained);
  void told_place(NodeId n);  // to the truth
  void set_loads(NodeId n, const std::array<float, kSlotsMax>& loads);
  double gpu_load(NodeId n, int slot) const;
  double gpu_heat(NodeId n, int slot) const;

  // ---- jobs.cpp
  JobId submit_job(const JobSpec& spec);
  std::uint32_t add_gang(JobId id, const JobSpec& spec);
  void drop_gang(std::uint32_t g);
  std::uint32_t find_gang(JobId id) const;
  void launch(std::uint32_t g, const Action& where, std::uint32_t order, Prng& prng);
  void launched(std::uint32_t g);
  void begin_init(std::uint32_t g, Duration left);
  void begin_compute(std::uint32_t g);
  std::int64_t next_target(Gang& x) const;
  void pace(std::uint32_t g, Duration every, Time next);
  void begin_write(std::uint32_t g);
  void give_up_write(std::uint32_t g);  // what is not finished is lost
  void phase_over(std::uint32_t g);
  void store_done(std::uint32_t turn);
  void reschedule_store();
  void settle(Gang& g);
  std::int64_t work_now(const Gang& g) const;
  void aim(std::uint32_t g);  // schedule the end of the compute phase
  void speed_changed(std::uint32_t g);
  void doom(std::uint32_t g, Duration after, JobEnd end, std::string detail);
  void end_gang(std::uint32_t g, JobEnd end, const std::string& detail);
  void watch_limit(std::uint32_t g, Duration ran);
  void over_limit(std::uint32_t g);  // it has run for as long as its owner said it might
  void fail_start(std::uint32_t g, const std::string& why);
  void haunt(std::uint32_t g);  // a start on nodes whose faults are still there
  void bug(std::uint32_t g);    // symptoms.cpp, as the two above
  std::uint64_t begin_bug(std::uint32_t g, NodeId n, int slot, bool by_hand);
  void backlog();  // what a cluster in the middle of its life has to do
  Progress progress_of(const Gang& g) const;
  void step_report(Gang& g);
  void describe_gang(std::uint32_t g);              // environment.cpp
  void allocated(std::int64_t milli_delta);

  // ---- weather.cpp
  void seed_weather();
  void next_strike(NodeId n);
  void next_site_strike();
  void strike(NodeId n);
  void site_strike();
  std::uint64_t begin_fault(FaultKind kind, NodeId n, int slot, bool by_hand);
  int choose_slot(NodeId n, Prng& prng);  // one without a fault; -1: none left
  void end_fault(std::uint32_t f, Fate fate);
  void cure(NodeId n, int slot, Depth depth);  // slot -1: all of the node

  // ---- symptoms.cpp
  void show(std::uint32_t f);  // a fault begins: its effects and its first signs
  void show_nvlink(std::uint32_t f);
  void show_flap(std::uint32_t f);
  void show_crash(std::uint32_t f);
  void show_again(std::uint32_t f);  // its first signs once more: still there after a boot
  void fault_stage(std::uint32_t f, std::uint32_t stage);
  void undo(std::uint32_t f);  // its effects are gone
  void xid(NodeId n, int slot, int code, std::string_view tail);
  std::string process(NodeId n, int slot, FaultLive& f);
  void break_gang(std::uint32_t f, double kill_share, const std::string& detail);
  void recompute_gpu(NodeId n, int slot);

  // ---- disasters.cpp
  std::uint64_t begin_disaster(const Stroke& x);
  void show_disaster(std::uint32_t f);
  void disaster_stage(std::uint32_t f, std::uint32_t op, NodeId n);
  void undo_disaster(std::uint32_t f);
  void push_driver(std::uint32_t f);
  void roll_back(std::uint32_t f);
  void install(NodeId n, const std::string& versions);  // "driver 580.105.08, fabricmanager 580.105.08"
  void install_part(NodeId n, const std::string& version);
  double score_of(NodeId n, Prng& prng);  // what a test measures
  void fail_switch(std::uint32_t f);
  void mend_switch(std::uint32_t f);
  void cut_power(std::uint32_t f);
  void restore_power(std::uint32_t f);
  void storm(std::uint32_t f);
  void engine_back();
  void hang_again(NodeId n);  // it has booted with the driver that hangs
  bool leaf_dead(NodeId n) const;

  // ---- orders.cpp
  Result<void> accept(const Order& order);
  Result<void> inquire(const std::string& key);
  void order_due(std::uint32_t o);
  void finish_order(std::uint32_t o, Status status, std::string detail, double score = 0);
  void end_install(std::uint32_t o);
  void end_test(std::uint32_t o);
  std::string luck_of(const Order& order);
  void begin_node_order(std::uint32_t o, Prng& prng);
  void end_node_order(std::uint32_t o);
  void end_job_order(std::uint32_t o);
  std::string why_not_start(const Action& a);
  std::string why_not_restart(const Action& a);
  std::string why_not_there(const Action& a, std::uint32_t g, bool again);  // the places a start names
  std::string why_not_fit(const Action& a, const Gang& g) const;            // their number
  std::string why_not_on_node(const Action& a);
  std::string test_verdict(std::uint32_t o);

  // ---- reports.cpp
  void report_slot();
  void report(NodeId n);
  void full_scrape(NodeId n);
  void ambient();

  Config config;
  std::uint32_t per_node = 8;
  Time now;  // steady
  Duration utc_offset;
  Time started;  // steady, of this twin
  std::string boot;
  std::uint64_t engine_seq = 0;
  EventQueue queue;
  Inbox inbox;
  bool wake = false;  // something urgent is in the inbox
  bool calmed = false;

  std::vector<Node> nodes;
  std::vector<Gpu> gpus;
  std::vector<CoolingRow> rows;            // empty: not known
  std::vector<std::uint8_t> pulse;         // per node: bit 0 it answers, bit 1 it has something to say
  std::vector<std::uint8_t> silence_told;  // per node: the scraper's first failure has been reported
  std::vector<GpuLoads> splits;
  std::vector<Gang> gangs;
  std::vector<std::uint32_t> free_gangs;
  std::map<JobId, std::uint32_t> gang_of;
  std::uint32_t next_job = 1;
  std::uint32_t next_life = 1;
  Store store;
  Mix mix;
  std::size_t next_listed = 0;
  std::vector<FaultTruth> faults;
  std::vector<FaultLive> live;
  std::map<std::uint32_t, Stroke> strokes;  // by fault: what was asked for
  std::vector<std::uint32_t> dead_leaves;
  bool away = false;              // the engine
  std::vector<Arrival> untold;    // what it will tell when it is back
  Duration clock_error;           // of the controller's wall clock
  std::vector<double> kind_rate;  // per GPU-hour, times the weather's factor
  double node_rate = 0;           // sum of those that strike nodes
  Prng site_weather;
  std::vector<OrderState> orders;
  std::unordered_map<std::string, std::uint32_t> order_of;
  std::map<std::tuple<Verb, std::uint32_t, std::uint32_t>, std::uint32_t> times_ordered;  // by verb, node and its strikes
  std::uint64_t epoch = 0;
  std::uint32_t report_slots = 1;
  std::uint32_t report_slot_now = 0;
  std::uint64_t report_round = 0;
  std::uint32_t ambient_group = 0;
  std::string text;                                // scrape under way
  std::array<std::string, kSlotsMax> text_labels;  // of its GPUs: kept, since a report is too short for allocations of its own
  std::int64_t allocated_milli = 0;                // thousandths of GPUs
  std::int64_t allocated_milli_ms = 0;
  Time allocated_since;
  std::optional<Truth> truth;  // what really happened; written only
  Counters count;
};

}  // namespace muster::twin
