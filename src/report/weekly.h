// The report for a weekly meeting: where GPU-hours went against the week before, what failed and what it cost, who did what, and
// what to do about it. One object as a page of one file, as Markdown and as JSON.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/value.h"
#include "model/gpu_hours.h"

namespace muster::report {

// GPU time here is in GPU-microseconds, as the books have it: classes sum to what is installed exactly.
using WasteClasses = std::array<std::int64_t, kWasteClasses>;

struct CauseShare {
  std::string name;          // "gpu_lost", "idle"
  std::int64_t gpu_us = 0;   // neither useful nor unsettled
  std::uint64_t losses = 0;  // attempts of jobs that lost steps to it
};

// A piece of time and what became of its GPU-hours.
struct Piece {
  Time from, to;  // utc
  std::int64_t installed_us = 0;
  WasteClasses classes{};
  std::vector<CauseShare> causes;  // those that took the most first

  std::int64_t of(Waste w) const { return classes[static_cast<std::size_t>(w)]; }
  // Had work or should have had it, and came to nothing: neither useful, nor unsettled, nor idle.
  std::int64_t lost_us() const { return installed_us - of(Waste::useful) - of(Waste::unsettled) - of(Waste::idle); }
  std::optional<double> useful_share() const;  // of what is installed
  std::optional<double> goodput() const;       // of what was neither idle nor unsettled
  std::int64_t of_cause(std::string_view name) const;
};

struct WeeklyIncident {
  std::uint64_t id = 0;
  std::string where;  // "n3, GPU 2"; "the site"
  std::string cause, words;
  std::string opened_utc, closed_utc;  // closed: empty while it is open
  bool carried = false;                // open already when the stretch began
  double detect_s = 0;
  std::optional<double> recover_s;  // from the first sign to its end
  std::optional<double> restart_s;  // until its work ran again
  std::uint64_t attempts_lost = 0;
  double gpu_h = 0;
  std::string outcome;
  std::string done_by;  // "muster: drain_node, reboot_node; approved by ada"
};

struct Reliability {
  std::uint64_t incidents = 0;             // opened in it
  std::uint64_t interruptions = 0;         // of those, that cost a job an attempt
  std::optional<double> gpu_days_between;  // mean, between two incidents
  std::optional<double> per_1000_gpu_days;
  std::optional<double> detect_s, recover_s, restart_s;       // means
  std::vector<std::pair<std::string, std::uint64_t>> causes;  // the most first
  std::vector<std::pair<std::string, std::uint64_t>> ends;    // of attempts, by how they ended
};

struct WeeklyJob {
  std::string id, name, user, account;  // untrusted
  double gpu_h = 0, waste_gpu_h = 0;
  std::string why;  // "lost_restart 12.0, slow 3.1"
};

struct WeeklyQueue {
  std::string name;  // untrusted
  std::uint64_t starts = 0;
  std::optional<double> median_s, p95_s, longest_s;
  std::optional<std::uint64_t> waiting;  // at the end; none: not known of that moment
};

struct WeeklyAct {
  std::string verb, who;  // "muster", "approved", "person", "upgrade"
  std::uint64_t done = 0, failed = 0, other = 0;
};
struct WeeklyRefusal {
  std::string verb, limit;  // may hold untrusted names
  std::uint64_t things = 0, times = 0;
};
struct WeeklyWord {                                    // of people: commands, approvals
  std::string at_utc, who, verb, on, reason, came_of;  // untrusted
};
struct WeeklyLemon {
  std::string node, causes, now;
  std::uint64_t incidents = 0, incidents_28d = 0;
  double gpu_h = 0;
};

struct WeeklyChain {
  bool ok = false;
  std::uint64_t events = 0;
  std::string digest, verified_utc, what;  // what: is wrong
  std::string journal;
};

struct Advice {
  std::string cause, words, what_to_do;
};

struct Weekly {
  std::string cluster;     // untrusted
  std::string simulation;  // what it says of itself; empty: a real cluster, as far as is known
  std::uint64_t gpus = 0, nodes = 0;
  double price = 0;                       // of a GPU-hour; 0: not said
  std::string currency = "USD";           // of it
  std::string price_assumed;              // where a price that no policy names is from
  Duration asked;                         // for so long
  Time record_from;                       // utc, of the record
  Piece all;                              // the sum of `pieces`
  std::optional<Piece> before;            // as long a stretch, right before; none: the record does not have it
  std::vector<Piece> pieces;              // days, or what the stretch is divided into
  std::vector<WeeklyIncident> incidents;  // those that cost most first
  std::uint64_t incidents_left_out = 0;
  Reliability reliability;
  std::optional<Reliability> reliability_before;
  std::vector<WeeklyJob> jobs;
  std::vector<WeeklyQueue> queues;
  std::uint64_t followers_started = 0;
  std::vector<WeeklyAct> acts;
  std::vector<WeeklyRefusal> held_back;
  std::vector<WeeklyWord> words;
  std::uint64_t words_left_out = 0;
  std::vector<WeeklyLemon> lemons;
  WeeklyChain chain;

  // The record has less than was asked for.
  bool is_short() const { return (all.to - all.from).ns + seconds(1).ns < asked.ns; }
};

// What the tools answered.
struct WeeklyAnswers {
  Value goodput;                // of the whole stretch, by cause
  std::vector<Value> pieces;    // of each, by cause, in their order
  std::optional<Value> before;  // goodput of as long a stretch before
  Value story;                  // WeekStory::json
  std::optional<Value> story_before;
  Value audit;
  std::string simulation;
  double price = 0;  // instead of the policy's; 0: none is given
  Duration asked;
  Time record_from;
};
Result<Weekly> weekly_of(const WeeklyAnswers& answers);

// The causes that took the most, idle time aside, with what a person would do about each; at most so many.
std::vector<Advice> advice_of(const Weekly& w, std::size_t most = 3);
// "Of 172,032 GPU-hours 81.2 % were useful, 1.3 points more than in the 7 days before."
std::vector<std::string> headline_of(const Weekly& w);
// "a lost GPU", "nodes held by people": what a cause is in words.
std::string_view cause_words(std::string_view cause);
// "2,084 USD": so many GPU-hours at the report's price.
std::string money_of(const Weekly& w, double gpu_h);
// What each figure is: name and definition.
std::vector<std::pair<std::string, std::string>> definitions_of(const Weekly& w);

std::string weekly_page(const Weekly& w);
std::string weekly_markdown(const Weekly& w);
std::string weekly_json(const Weekly& w);

}  // namespace muster::report
