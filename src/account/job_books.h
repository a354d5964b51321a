// JobBooks: whose GPU time was what. It reads along while the accountant keeps the books of the whole cluster, and says of every
// amount which job had it, or why no job did; what it says sums to the accountant's balance exactly, class by class.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "account/accountant.h"

namespace muster::account {

// All amounts here are thousandths of GPU-milliseconds, by class.
using Classes = std::array<std::int64_t, kWasteClasses>;
std::int64_t sum(const Classes& c);
// Time of a job that was neither useful nor may become so.
std::int64_t wasted(const Classes& c);

// What an amount is put down to, as far as was known when it was booked.
enum class Why : std::uint8_t {
  work,  // steps, useful or not yet settled
  starting,
  checkpoint,
  slow,
  idle,       // no job for a node in service
  finding,    // `which` is its kind: on the node, or on a node of the gang whose steps were lost
  attempt,    // steps were lost and nothing was found on its nodes: `which` is how the attempt ended
  upgrade,    // a rolling upgrade had the node
  person,     // holds the node
  engine,     // holds the node by its own rules
  kept,       // the engine keeps the node back on purpose
  muster,     // holds the node, with no incident open any more
  node_down,  // nobody has found why
  booting,
  unknown,
};
struct Cause {
  Why why = Why::unknown;
  std::uint8_t which = 0;  // FindingKind, JobEnd
  IncidentId incident{};   // that it is the cause of: it may be understood as something else later. None in a Stretch
  auto operator<=>(const Cause&) const = default;
};
// "gpu_lost", "node_failed", "held_by_person"; every cause has another one.
std::string_view name_of(Cause c);

struct CauseSum {
  Classes amount{};
  std::uint64_t losses = 0;  // attempts that lost steps to it
};
// Starts in vain: of attempts that a cause ended before their first checkpoint. They are of the class starting, and put down to
// that in the causes, for every job must start once.
struct VainSum {
  std::int64_t amount = 0;
  std::uint64_t starts = 0;
  bool operator==(const VainSum&) const = default;
};

struct JobWho {  // untrusted texts
  std::string name;
  std::string user;
  std::string account;
  std::string queue;
};
// Steps that attempts of a job lost to one cause.
struct JobLoss {
  Cause cause;
  std::int64_t amount = 0;
  std::uint64_t losses = 0;  // attempts
};
struct JobSum {
  JobId id;
  std::shared_ptr<const JobWho> who;
  Classes amount{};
  std::vector<JobLoss> lost;       // its lost_restart, by cause
  std::uint32_t lost_attempt = 0;  // the last that was counted among them; its end may be booked in parts
};

// Who pays: time counts for the account and queue that the job had when it was booked.
struct Owner {
  std::string account;
  std::string queue;
  auto operator<=>(const Owner&) const = default;
};

// A fault that ends an attempt is often found only afterwards: a gang dies of a pulled cable at once, and a minute later its link
// is known to be down. So a loss that was booked with nothing found moves to what was found so late on a node of its gang...
constexpr Duration kFoundLate = minutes(10);
// ... unless the first sign of that is so much later than the end that it can hardly have been the reason.
constexpr Duration kSignLate = minutes(2);
// Whether what was found, whose first sign was then, may be what ended an attempt at `stopped`. All utc.
bool may_have_ended(Time first_sign, Time found, Time stopped);
Time first_sign(const Finding& f);
// Findings of these kinds say what may end a gang; the others only that something did, or may one day.
bool ends_gangs(FindingKind k);

// A loss that was put down to something else after it was booked.
struct Moved {
  JobId job;
  std::uint64_t seq = 0;  // of the event that it was booked by
  Cause from, to;
  std::int64_t amount = 0;
  std::uint64_t losses = 0;
  VainSum vain;
};

// How the books stand at a moment, from their beginning. Copies are cheap: jobs that have ended are shared between them.
struct JobSums {
  using Ended = std::shared_ptr<const std::vector<JobSum>>;

  Time began;                  // utc; 0: there are no books yet
  std::int64_t installed = 0;  // set where they are closed
  std::uint64_t seq = 0;       // of the last event in them; set there too
  std::map<JobId, JobSum> live;
  std::vector<Ended> ended;  // in their order; a job that came back is in `live` again, with what it had since
  Classes forgotten{};       // of jobs that ended so long ago that only their owner's and causes' sums still know of them
  std::uint64_t jobs_forgotten = 0;
  Classes nobody{};  // no job had it
  std::map<Owner, Classes> owners;
  std::map<Cause, CauseSum> causes;
  std::map<Cause, VainSum> vain;
  // By what was found on a gang's nodes while it was slower than it should be. Of the class slow, and put down to that in the
  // causes. What was found only afterwards is in none of these.
  std::map<Cause, std::int64_t> slowed;
  std::vector<Moved> moved;  // in their order
  // What incidents are called by now, where it is not what they were called at first: a silent node that turns out to have
  // rebooted. All that was ever put down to one goes by this name in a Stretch.
  std::map<IncidentId, FindingKind> became;
};
constexpr std::size_t kEndedJobsSummed = 100'000;
constexpr std::size_t kOwnersMax = 10'000;
constexpr std::string_view kOtherOwners = "(others)";  // whoever comes after those

// Fed with the events of a journal, from its first on, each after it was folded into the state.
class JobBooks {
 public:
  explicit JobBooks(std::size_t ended_max = kEndedJobsSummed);

  void take(const Event& e, const State& s);
  // Closed at `mono`, which is the time of the state or later.
  JobSums close(const State& s, Time mono) const;
  const Accounts& accounts() const { return accounts_; }

 private:
  struct NodeCause {
    Cause cause{Why::idle};
    std::int64_t told = 0;  // of the time that the accountant has not booked yet, put down to earlier causes already
  };
  // An attempt that a node ended, and nothing is known that was wrong with it.
  struct Unexplained {
    Moved loss;    // `to` is not known yet
    Time stopped;  // utc
    std::vector<NodeId> nodes;
  };
  // A loss that went to a finding, of which no incident was made yet.
  struct Late {
    FindingId finding;
    Moved moved;
    Time at;  // utc
  };
  void call_anew(const Event& e, const State& s);
  void move(const Moved& m);
  void book_loss(const Event& e, const State& s, const Entry& x, std::int64_t started);
  void explain_late(const Event& e, const State& s);
  void look_again(const Event& e, const State& s);
  void look_at(const State& s, NodeId n);
  void put_away(const State& s);

  std::size_t ended_max_;
  std::size_t sweep_at_;  // jobs in `live` at which those that ended are looked for
  std::size_t ended_kept_ = 0;
  Accounts accounts_;
  JobSums sums_;
  std::vector<NodeCause> nodes_;
  std::deque<Unexplained> unexplained_;  // of the last kFoundLate
  std::deque<Late> late_;                // likewise
};

// What was added between two moments.
struct OwnerSum {
  Classes amount{};
  std::uint64_t jobs = 0;
};
struct Stretch {
  std::int64_t installed = 0;
  std::int64_t unsettled_before = 0;  // at its beginning: what became of that is among the classes
  Classes classes{};                  // sum to `installed`; unsettled is below 0 where more was settled than came
  Classes nobody{};
  std::map<Owner, OwnerSum> owners;
  std::map<Cause, CauseSum> causes;
  std::map<Cause, VainSum> vain;
  std::map<Cause, std::int64_t> slowed;
  std::vector<JobSum> jobs;          // that had any time, by id
  std::uint64_t jobs_forgotten = 0;  // ended, and no longer known one by one
};
// The books as if that job were all there is: what was given to it is all that is installed. Nothing where it had nothing, or is
// not known by itself any more.
JobSums only(const JobSums& all, JobId job);
// `from` may be of no books at all, or of those before the site was declared anew: then it counts from the beginning of `to`.
Stretch difference(const JobSums& from, const JobSums& to);

}  // namespace muster::account
