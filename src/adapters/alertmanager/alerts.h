// Alerts: what Alertmanager should know of a state, and what of that has to be told when.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/state.h"

namespace muster {

struct Alert {
  std::map<std::string, std::string> labels;  // its identity: the same for as long as the finding is open
  std::map<std::string, std::string> annotations;
  Time starts;       // utc
  std::string link;  // to the incident on Muster's page
};

// One alert for each open finding, and one for each incident that waits for a person. `page`: where Muster's page is served.
std::vector<Alert> alerts_of(const State& s, const std::string& page);

struct Posting {
  Alert alert;
  bool firing = true;
  Time ends;  // utc: when it ended, or when it is to expire unless it is told again
};
// The body of POST /api/v2/alerts.
std::string render_alerts(const std::vector<Posting>& postings);

constexpr Duration kAlertResend = minutes(1);
constexpr Duration kAlertExpiry = minutes(4);
constexpr std::size_t kAlertsMax = 50'000;  // of one Alertmanager; what does not fit is counted

// What one Alertmanager has been told.
class AlertBook {
 public:
  // What is to be posted now, so that it knows of `wanted` and of nothing else.
  std::vector<Posting> due(const std::vector<Alert>& wanted, Time utc, Time steady);
  // It has taken them, or will never take them.
  void settled(const std::vector<Posting>& postings, Time steady);
  // When to ask again even if nothing changes.
  Time next() const;
  std::uint64_t left_out() const { return left_out_; }
  std::size_t known() const { return entries_.size(); }

 private:
  struct Entry {
    Alert alert;   // as last told: an end repeats it
    Time settled;  // steady; 0: not yet
    Time ended;    // utc; 0: firing
  };
  std::map<std::map<std::string, std::string>, Entry> entries_;  // all told at least once, whether or not it arrived
  std::uint64_t left_out_ = 0;
};

}  // namespace muster
