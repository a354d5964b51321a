// Waterfall: where a cluster's GPU time went, from installed down to useful, read along a journal. It takes the accountant's
// amounts as they are booked, lays them on the days and prices in which they came about, and parts idle time by whether anybody
// waited. What was unsettled at the end of the time looked at, and is known by the end of the journal, is told as it became.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "account/accountant.h"
#include "account/site_class.h"

namespace muster::account {

// The price of a GPU-hour from then on, by the policy in force. What came about under it stays at it.
struct Tariff {
  Time from;         // utc
  double price = 0;  // 0: not said
  std::string currency = "USD";
  std::string assumed;  // where a price that no policy names is from
};

// Where an amount lies: a day (UTC, since 1970), and the tariff that held.
struct FlowCell {
  std::int64_t day = 0;
  std::uint32_t tariff = 0;  // index
  auto operator<=>(const FlowCell&) const = default;
};

struct FlowOwner {   // untrusted texts, but for `job`
  bool job = false;  // false: no job had it, and only the GPU type is told
  std::string account, user, partition;
  std::string gpu_type;  // of a gang on nodes of several: "a100+h200"
  auto operator<=>(const FlowOwner&) const = default;
};

struct JobFlow {
  FlowOwner owner;  // as it was last
  std::string name;
  std::map<std::uint32_t, SiteSum> by_tariff;
};
constexpr std::size_t kFlowJobsMax = 200'000;

struct Flow {
  Time from, to;  // utc, of what is in it
  Time before;    // since when there was a record of another declaration of the site, which is not in it; 0: of none
  std::vector<Tariff> tariffs;
  std::map<std::pair<FlowOwner, FlowCell>, SiteSum> owners;  // sums to what was installed
  std::map<JobId, JobFlow> jobs;
  std::uint64_t jobs_forgotten = 0;  // ended, and no longer known one by one
  std::map<FlowCell, SiteSum> cells;
  std::int64_t milli_gpus = 0;  // installed, thousandths

  SiteSum sum() const;
};

// Whether a queued job waits for nothing but room. Who starts it, Muster or its engine, does not matter.
bool could_begin(const Job& j);

class Waterfall {
 public:
  // What came about before `from` or from `to` on (utc) is left out.
  explicit Waterfall(Time from = Time{INT64_MIN}, Time to = kNever);

  // Every event of a journal from its first on, after it was folded.
  void take(const Event& e, const State& s);
  // Closed at `mono` and `utc`, which are the state's or later.
  Flow close(const State& s, Time mono, Time utc) const;
  // Thousandths of GPUs that are idle now, and that jobs which could begin wait for.
  std::int64_t idle_milli() const { return idle_milli_; }
  std::int64_t waiting_milli() const { return waiting_milli_; }

 private:
  struct Cut {                 // from here on, until the next one
    std::int64_t from_ms = 0;  // mono
    FlowCell cell;
    bool inside = false;
  };
  struct Wish {
    std::int64_t milli = 0;
    std::size_t type = 0;  // of GPUs; one past the last: any
  };
  struct Pause {
    std::int64_t until_ms = 0;
    Wish wish;
  };
  struct Silence {               // of a node
    std::int64_t from_ms = -1;   // mono; below 0: it answers
    std::int64_t before_ms = 0;  // earlier ones, since what no job has of it was last booked
  };
  // A part of the amount of a stretch of time in which it grew evenly, `before` of it apart: parts are laid on days so that at
  // every moment they sum to the whole, to the last unit.
  struct Part {
    std::int64_t amount = 0, before = 0;
    std::int64_t from_ms = 0, to_ms = 0;
  };
  struct Held {  // work that was told of and is not safe yet
    std::vector<Part> parts;
    std::uint64_t steps = 0;  // it is when so many are
  };
  void begin(const Event& e, const State& s);
  void pass(Time mono, Time utc);
  void cut(std::int64_t at_ms, Time utc);
  void spend(std::int64_t from_ms, std::int64_t to_ms);
  void spend_even(std::int64_t lasted_ms);
  void book(Entry x, std::int64_t to_ms, const State& s, const Event* e);
  void hold_back(const Event& e, const State& s, JobId job, Part& all);
  void hear(const Event& e, const State& s, std::int64_t now);
  std::int64_t silence_of(const Entry& x, std::int64_t to_ms);
  void begin_attempt(JobId id, const State& s);
  void lay(SiteClass c, const Part& part, const FlowOwner& owner, JobId job = {});
  void add(const Cut& at, SiteClass c, std::int64_t amount, const FlowOwner& owner, JobId job);
  void count(const Wish& w, std::int64_t sign);
  void look(JobId id, const State& s);
  void look_at(const Event& e, const State& s);
  void turned(NodeId n, const State& s);
  void know(JobId id, const State& s);
  void forget(JobId id);

  Time from_, to_;
  Accounts accounts_;
  Flow flow_;
  std::vector<Cut> cuts_;
  std::int64_t last_ms_ = 0;
  Time last_utc_;
  std::vector<std::string> types_;      // of GPUs, by name
  std::vector<std::uint32_t> type_of_;  // by node
  std::vector<std::int64_t> idle_of_;   // by node, thousandths
  std::map<NodeId, Silence> silent_;
  std::vector<std::int64_t> idle_type_;  // by type
  std::int64_t idle_milli_ = 0, waiting_milli_ = 0;
  std::vector<std::int64_t> waiting_type_;  // by type, and last of any
  std::map<JobId, Wish> waiting_;           // that could begin
  std::map<JobId, Pause> paused_;           // that stepped aside until then
  std::set<JobId> later_;                   // queued, and something other than room stands in their way
  std::set<JobId> told_;                    // whose attempt has said something of its progress
  std::map<JobId, FlowOwner> who_;          // in the books now
  std::map<JobId, std::uint64_t> steps_;    // that it has told of
  std::map<JobId, Held> held_;
  std::map<JobId, std::int64_t> laid_;  // of what is being booked now
};

// Days whole within the stretch, in a row, up to the last such day, that reached the target.
struct Streak {
  std::uint32_t days = 0;  // now
  std::uint32_t longest = 0;
  std::uint32_t complete = 0;  // days that were looked at
  std::uint32_t reached = 0;   // of them
};
std::map<std::int64_t, SiteSum> by_day(const Flow& f);
bool whole_day(const Flow& f, std::int64_t day);
Streak streak_of(const Flow& f, double target);

}  // namespace muster::account
