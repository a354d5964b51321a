// History: what happened on every node over the life of a journal, packed so that all of it stays in memory and any stretch can
// be shown at once: attempts of jobs, incidents, holds, times down, upgrades, orders, commands, policies, prices.
#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "model/state.h"

namespace muster::report {

// Texts and other bytes, each kept once and told by a number. 0 is the empty text.
class TextPool {
 public:
  std::uint32_t put(std::string_view text);
  std::string_view get(std::uint32_t id) const;
  std::size_t bytes() const;

 private:
  void grow();
  std::size_t place_of(std::string_view text) const;  // in the table: where it is, or where it belongs

  std::vector<std::string> blocks_;   // each reserved once, so that what is in it never moves
  std::vector<std::uint32_t> table_;  // open addressing; 0: free
  std::size_t used_ = 0;
};

// Listens to all events of a journal. A million attempts take about 100 MB.
class History {
 public:
  static constexpr std::size_t kBarsUsual = 20'000;
  static constexpr std::size_t kBarsMax = 100'000;

  void take(const Event& e);

  // What touches the stretch, as JSON of at most about 2 MB. Times in lists are milliseconds after from_utc (before it:
  // negative), null where it goes on; nodes are indexes into `nodes`, null for none; texts are clipped.
  //   from_utc to_utc first_utc last_utc   as asked for; the first and the last event of the record
  //   gpus_per_node nodes racks            names; [{"name","nodes":[index...]}]
  //   attempts                             of jobs, that touch the stretch
  //   jobs       [job, attempt, from, to, [[first node, count]...], end, name, slots]: end and name are indexes into `ends` and
  //              `job_names`; slots is the bit mask of GPUs on each node, 0 for all (or not the same on each)
  //   job_names  [name, account, user]
  //   merged     there were more bars than max_bars (a bar is an attempt on neighbouring nodes): `jobs` has the longest only, and
  //   many       the others: [first node, count, from, to, attempts, of those ended badly in it, busy share of all its GPUs]
  //   busy       {"from","every_ms","gpus":[mean number of GPUs with a job, by bucket]}
  //   incidents  [id, node, slot, cause, opened, closed, resolution]
  //   holds      [node, from, to, who ("muster", "person", "engine", "kept"), by, why]; kept: by the engine, on purpose
  //   down       [node, from, to, "down" or "booting", detail]
  //   upgrades   [id, from, to, name, phase, by]
  //   orders     [verb, at, node, count, slot, status, incident]: those that did something to nodes, or tried to
  //   commands   [verb, at, actor, node or job, reason]
  //   policies   [at, name, hash]
  //   prices     [at, price_per_mwh, carbon_g_per_kwh or null], each for price_hours hours
  //   left_out   {list: how many, the oldest, were left out of it}; only where any were
  Result<std::string> window_json(Time from, Time to, std::size_t max_bars = kBarsUsual) const;

  Time first() const { return first_; }  // utc
  Time last() const { return last_; }
  const State& state() const { return state_; }  // after the last event
  std::size_t bytes() const;  // of what is kept, but for the state, which does not grow

 private:
  static constexpr std::int64_t kGoesOn = std::numeric_limits<std::int64_t>::max();

  // Times are utc in milliseconds, texts are of the pool.
  struct Attempt {
    std::int64_t from_ms = 0, to_ms = kGoesOn;
    JobId job;
    std::uint32_t attempt = 0;
    std::uint32_t places = 0;  // ranges of nodes, packed
    std::uint32_t name = 0;
    std::uint32_t who = 0;        // account, newline, user
    std::uint32_t gpu_milli = 0;  // of the whole gang
    std::uint16_t slots = 0;
    std::uint8_t end = 0;
  };
  struct Trouble {
    std::uint64_t id = 0;
    std::int64_t from_ms = 0, to_ms = kGoesOn;
    NodeId node;
    std::uint32_t resolution = 0;
    std::int16_t slot = -1;
    FindingKind cause = FindingKind::gpu_lost;
  };
  enum class Out : std::uint8_t { none, muster, person, engine, kept, down, booting };
  struct Stretch {
    std::int64_t from_ms = 0, to_ms = kGoesOn;
    NodeId node;
    std::uint32_t by = 0, why = 0;
    Out kind = Out::none;
  };
  struct Deed {
    std::int64_t at_ms = 0;
    std::uint64_t incident = 0;
    NodeId node;
    std::uint32_t nodes = 1;
    std::int16_t slot = -1;
    Verb verb = Verb::probe_node;
    Status status = Status::done;
  };
  struct Word {
    std::int64_t at_ms = 0;
    std::uint32_t actor = 0, about = 0, why = 0;
    CommandVerb verb = CommandVerb::pause;
  };
  struct Rolling {
    std::uint64_t id = 0;
    std::int64_t from_ms = 0, to_ms = kGoesOn;
    std::uint32_t what = 0, by = 0;
    UpgradePhase phase = UpgradePhase::none;
  };
  struct Rules {
    std::int64_t at_ms = 0;
    std::uint32_t name = 0, hash = 0;
  };
  struct Price {
    double per_mwh = 0, carbon_g_per_kwh = 0;  // the latter below 0: not told
  };
  struct Hearing;
  struct Telling;

  void close_attempt(JobId job, Time at, std::uint8_t end);
  void look_at(NodeId n, Time utc, std::string_view by, std::string_view detail);
  void pass_to(std::uint32_t& open, NodeId n, Out kind, Time utc, std::string_view by, std::string_view why);
  void look_at_upgrade();

  State state_;
  Time first_, last_;
  TextPool pool_;
  std::deque<Attempt> attempts_;
  std::map<JobId, std::size_t> running_;  // into attempts_
  std::deque<Trouble> incidents_;
  std::map<IncidentId, std::size_t> open_;  // into incidents_
  std::deque<Stretch> stretches_;
  std::vector<std::uint32_t> held_, away_;  // by node: the stretch that goes on, counted from 1; 0: none
  std::deque<Deed> orders_;
  std::deque<Word> commands_;
  std::vector<Rolling> upgrades_;
  std::vector<Rules> policies_;
  std::map<std::int64_t, Price> prices_;  // by the begin of the hour
};

}  // namespace muster::report
