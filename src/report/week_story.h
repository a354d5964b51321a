// What a weekly meeting asks of the record beside its books: incidents with what each cost, how long jobs waited, what was done
// by whom, what limits held back, and which nodes fail again and again.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/json_writer.h"
#include "report/incident_story.h"

namespace muster::report {

// Listens to all events of a journal; any stretch of it can be asked for then.
class WeekStory {
 public:
  static constexpr std::size_t kIncidentsTold = 1000;

  void take(const Event& e);

  // Of a stretch, times in UTC and lengths in seconds:
  //   first_utc last_utc   of the record
  //   incidents  that opened in it, and those open when it began ("carried"): node, cause in words, first sign, opened, closed,
  //              how long it took to find, to be over and until its work ran again, GPU-hours, what was done and by whom
  //   attempts   of jobs that ended in it: {end: how many}
  //   queues     of jobs that first started in it: how long they had waited; of those that wait when the record ends: how many
  //   acts       orders that ended in it: {verb, who, done, failed, other}
  //   held_back  what limits refused in it, alike ones together: {verb, limit, things, times}
  //   repeated   nodes with trouble again and again
  std::string json(Time from, Time to) const;

  Time first() const { return first_; }  // utc
  Time last() const { return last_; }

 private:
  enum class Who : std::uint8_t { muster, person, approved, upgrade };
  static constexpr std::array<std::string_view, 4> kWhoNames = {"muster", "person", "approved", "upgrade"};

  struct Trouble {
    IncidentId id;
    std::string node;  // empty: the site
    std::int16_t slot = -1;
    FindingKind cause = FindingKind::gpu_lost;
    Time began, opened, closed;  // utc; closed 0: not yet
    std::string resolution;
    Stage stage = Stage::opened;
    std::uint32_t jobs = 0;            // attempts it cost
    std::optional<Duration> restarts;  // the longest wait of those until they ran again
    std::int64_t lost_gpu_ms = 0, slow_gpu_ms = 0, out_gpu_ms = 0;  // lost: starts in vain too
    std::map<Verb, std::array<std::uint32_t, 2>> acts;  // done, failed
    std::set<std::string> people;                       // who asked for any of it, or approved it; untrusted
    std::uint32_t held_back = 0;
    double gpu_h() const { return static_cast<double>(lost_gpu_ms + slow_gpu_ms + out_gpu_ms) / 3.6e6; }
  };
  struct Given {
    Verb verb = Verb::probe_node;
    IncidentId incident;
    Who who = Who::muster;
    std::string person;
  };
  struct Act {
    std::int64_t at_ms = 0;  // utc, as all of these
    Verb verb = Verb::probe_node;
    Status status = Status::done;
    Who who = Who::muster;
  };
  struct Refusal {
    std::int64_t first_ms = 0, last_ms = 0;
    std::uint32_t times = 0;
    Verb verb = Verb::probe_node;
    std::uint32_t limit = 0;  // of limits_
    bool wished = false;      // by a person
  };
  struct Wait {
    std::int64_t at_ms = 0;
    std::uint32_t queue = 0;  // of queues_
    std::int64_t ms = 0;
  };
  struct End {
    std::int64_t at_ms = 0;
    JobEnd how = JobEnd::completed;
  };
  // The numbers of texts that come again and again.
  class Names {
   public:
    std::uint32_t put(const std::string& name);
    const std::string& get(std::uint32_t n) const { return names_[n]; }
    std::size_t size() const { return names_.size(); }

   private:
    std::map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> names_;
  };
  using Thing = std::tuple<Verb, std::uint32_t, JobId, std::uint64_t, std::uint32_t>;  // verb, node, job, incident, limit

  void before(const Event& e);
  void follow_incidents(const Event& e);
  void note(const IncidentStory& t);
  void intend(const Order& o);
  void end(const Event& e, const OrderEnded& b);
  void refuse(const Event& e, const OrderRefused& b);
  Who who_wants(const Order& o, std::string& person) const;
  std::vector<Trouble> troubles(Time from, Time to) const;
  void write_incidents(JsonWriter& w, Time from, Time to) const;
  void write_attempts(JsonWriter& w, Time from, Time to) const;
  void write_queues(JsonWriter& w, Time from, Time to) const;
  void write_acts(JsonWriter& w, Time from, Time to) const;
  void write_held_back(JsonWriter& w, Time from, Time to) const;
  void write_repeated(JsonWriter& w, Time from, Time to) const;

  State state_;
  Time first_, last_;
  IncidentStory listener_{IncidentId{}};          // knows which attempts broke of late
  std::map<IncidentId, IncidentStory> followed_;  // open, or with work that does not run again yet
  std::map<IncidentId, Trouble> troubles_;
  std::map<std::string, Given> given_;  // orders without an outcome, by key
  std::vector<Act> acts_;
  Names limits_, queues_;
  std::map<Thing, std::size_t> refused_;  // into refusals_
  std::vector<Refusal> refusals_;
  std::vector<Wait> waits_;
  std::vector<std::int64_t> followers_ms_;  // first starts of jobs that had to wait for others
  std::vector<End> ends_;
};

}  // namespace muster::report
