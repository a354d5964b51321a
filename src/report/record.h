// The record of decisions: what the events of a journal tell about the acts that concern one thing. Nothing here is taken from
// what a state still remembers: an act of last year is told like one of this minute.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "model/state.h"

namespace muster::report {

// "job 12", "12", "12_3"; none where it is no job's number.
JobId parse_job(std::string_view text);

// What is asked about: "node0017", "job 12", "12", "incident 3", "finding 4", "action KEY", "KEY".
class Subject {
 public:
  // None where the record has nothing to say: the queue, a fault code, a log line.
  static std::optional<Subject> parse(std::string_view what);
  bool covers(const State& s, const std::string& key, const Action& a, const Reason& r) const;
  IncidentId incident() const { return incident_; }

 private:
  std::string noun_;  // empty: any that fits
  std::string name_;
  JobId job_;
  IncidentId incident_;
  FindingId finding_;
};

// What was in force when something was decided.
struct InForce {
  std::string version;  // of the program
  std::uint32_t rules = 0;
  std::string policy;
  std::string policy_hash;
};

// A limit said no: once, or several times in a row.
struct HeldBack {
  std::uint64_t seq = 0;
  Time at, last;  // utc
  std::uint32_t times = 1;
  Action action;
  std::string rule;
  std::string limit;
};

struct Outcome {
  Status status = Status::pending;
  std::string detail;
  Time at;  // utc; 0: none yet
  std::uint64_t seq = 0;
};

// One act, from the thought to what came of it.
struct Deed {
  std::uint64_t seq = 0;
  Time at;  // utc
  std::string node;
  Order order;
  Placement placement;
  InForce in_force;
  std::vector<Finding> findings;         // as they stood when it was decided
  std::vector<Evidence> word_of_engine;  // of acts on a job that broke by itself
  std::vector<HeldBack> held_back;       // the same act, before it passed
  std::optional<CommandGiven> wish;      // the command it carries out
  Time wished;                           // utc
  std::vector<std::string> beside;       // alternatives that the record tells where the decision itself named none
  Outcome outcome;
};

// Collects the deeds of a subject. To be fed every event, in order, each after it was folded into `s`.
class Deeds {
 public:
  explicit Deeds(Subject subject) : subject_(std::move(subject)) {}
  void take(const Event& e, const State& s);

  std::deque<Deed> done;         // oldest first; the newest kDeedsKept
  std::uint64_t left_out = 0;    // older ones
  std::deque<HeldBack> refused;  // all that was held back, whether or not it passed later

 private:
  void intend(const Event& e, const State& s, const OrderIntended& b);
  void refuse(const Event& e, const State& s, const OrderRefused& b);

  Subject subject_;
  std::string version_;
  std::map<IncidentId, std::vector<HeldBack>> of_incident_;
  std::map<JobId, std::vector<HeldBack>> of_job_;
  std::map<std::string, std::pair<IncidentId, Verb>> repairs_;  // under way, by key
  std::map<IncidentId, std::vector<std::string>> tried_;        // repairs that have ended, in words
  std::map<std::string, std::pair<CommandGiven, Time>> wishes_;
  std::deque<std::string> wish_order_;
};
constexpr std::size_t kDeedsKept = 400;

std::string node_name(const State& s, NodeId n);
// "drain_node node0017", "restart_job job 12", "reset_gpu node0017 GPU 3".
std::string say_action(const std::string& node, const Action& a);
// One deed as an object of the API.
void write_deed(JsonWriter& w, const Deed& d);
void write_held_back(JsonWriter& w, const HeldBack& h);
void write_evidence(JsonWriter& w, const Finding& f, const Evidence& x);

}  // namespace muster::report
