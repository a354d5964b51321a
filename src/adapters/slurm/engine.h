// Engine: a Slurm cluster behind the ports. One thread looks at Slurm and turns what changed into events, others carry out
// orders; the loop never waits for either.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapters/mailbox/mailbox.h"
#include "adapters/slurm/hands.h"
#include "adapters/slurm/node_reader.h"
#include "adapters/slurm/picture.h"
#include "adapters/slurm/tools.h"
#include "ingest/slurm_file.h"
#include "model/site.h"
#include "ports/actuator.h"
#include "ports/clock.h"
#include "ports/observatory.h"

namespace muster::slurm {

class Engine final : public Clock, public Observatory, public Actuator {
 public:
  // `site` must outlive this; `boot` names this run of the adapter.
  Engine(Settings settings, const Site& site, std::string boot, Mailbox& mailbox);
  ~Engine() override;

  // Compares Slurm with what the journal knows, from now on.
  void begin(const State& known);
  // Whether jobs are to come through the gate: not in shadow mode, not while paused. From any thread.
  void open_for_business(bool yes);
  // No heartbeat any more; everything behind the gate goes to Slurm. Returns when that is done or `most` is over.
  void leave(std::chrono::seconds most);

  Now now() const override;
  void poll(Inbox& out) override;
  void wait(Time until) override;
  Result<void> submit(const Order& order) override;
  Result<void> inquire(const std::string& key) override;

  // Empty while Slurm answers; otherwise what is wrong.
  std::string trouble() const;

 private:
  struct Waiting {  // an order that the looks at Slurm will settle
    Order order;
    Time since, until;  // steady
  };
  void read_config();
  void catch_up(const State& known);
  double looking_cpu() const;  // by the thread that looks
  void look();
  void look_begins();
  void look_at_jobs();
  void look_at_waiting();
  void look_at_nodes();
  void look_at_partitions();
  void gate_strays();
  void give_away();
  void ask_about_slots();
  void settle_waiting();
  void beat();
  bool alone();  // with lock_ held; it is paused where it is not
  void keep_beating();
  void let_all_go(std::chrono::steady_clock::time_point until);
  void work();
  void emit(Body body);  // with lock_ held
  void emit_all(std::vector<Body> bodies);
  void finish(const Order& o, const Outcome& x);
  void answer_inquiries();

  Settings settings_;
  const Site& site_;
  std::string boot_;
  Mailbox& mailbox_;
  Tools eyes_;  // apart from the hands', so that what looking costs is known
  Tools tools_;
  NodeReader node_reader_;
  Reasons reasons_;
  bool configured_ = false;  // by begin() and then the thread that looks
  bool accounting_ = false;
  Hands hands_;

  mutable std::mutex lock_;
  std::condition_variable changed_;
  Picture picture_;
  std::vector<JobRow> last_jobs_;
  std::vector<Arrival> ready_;
  std::vector<Sample> samples_;
  std::uint64_t seq_ = 0;
  std::deque<Order> orders_;
  std::vector<Waiting> waiting_;
  std::vector<std::string> inquiries_;
  std::map<std::string, Order> known_orders_;  // by key: of this run, and those that an earlier one left open
  std::size_t slow_at_work_ = 0;
  bool looked_ = false;
  bool anothers_ = false;  // another Muster acts on this Slurm
  bool open_ = false;
  bool closing_ = false;  // what waits behind the gate is to go
  bool beat_failed_ = false;
  bool stop_ = false;
  Time heard_;    // steady: when Slurm last answered
  Time vouched_;  // steady: when nodes were last said to be alive
  Time turned_;   // steady: when the loop last came by
  std::string wrong_;
  double job_look_cost_s_ = 0;  // CPU, of the tool and of what is made of its answer
  double node_look_cost_s_ = 0;
  std::thread looker_;
  std::thread heart_;
  std::vector<std::thread> workers_;
};

}  // namespace muster::slurm
