// A fabric that is read again and again: what has changed since the reading before. Faults come and go, errors of a port grow
// faster or slower, and a link that was down for a moment has flapped, though neither reading shows it down.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "design/fabric_compare.h"
#include "model/fabric.h"
#include "model/fabric_fault.h"
#include "model/fabric_readings.h"
#include "model/fabric_survey.h"

namespace muster::design {

struct FabricReading {
  double at_s = 0;  // of a clock that nobody sets
  FabricSurvey found;
  std::vector<PortState> ports;  // empty: not read
  std::optional<CounterReading> counters;
  bool ethernet = false;  // it is what LLDP told
};

// Whoever LLDP does not hear of has no agent that speaks, and no timeout that could be longer.
void advise_for_lldp(std::vector<FabricFault>& faults);

enum class FabricChangeKind : std::uint8_t {
  fault,  // one that was not there before
  over,   // one that is not there any more
  flap,   // a link went down and came back
  rate,   // a counter of errors grows faster or slower than it did
};
constexpr std::array<std::string_view, 4> names(FabricChangeKind) { return {"fault", "over", "flap", "rate"}; }

enum class ErrorTrend : std::uint8_t { steady, rising, falling };
constexpr std::array<std::string_view, 3> names(ErrorTrend) { return {"steady", "rising", "falling"}; }

struct FabricChange {
  FabricChangeKind kind{};
  FabricFault fault;        // of a flap and a rate: its ends, detail and fix alone
  double lasted_s = 0;      // of what is over; of a flap: how long it was seen to be down, 0: shorter than anybody looked
  std::uint32_t times = 0;  // of a flap: in the window, this one included
  std::string counter;      // of a rate, as the rest
  double per_s = 0, per_s_before = 0;
  ErrorTrend trend = ErrorTrend::steady;
};

class FabricWatch {
 public:
  static constexpr double kWindow = 600;  // seconds
  explicit FabricWatch(Fabric design, double window_s = kWindow) : design_(std::move(design)), window_s_(window_s) {}

  // The first reading tells of every fault there is. Where answers were lost nothing is said to be over.
  std::vector<FabricChange> take(FabricReading reading);
  // What stands now, in the order of its kinds and ends.
  std::vector<FabricFault> faults() const;
  // Links that went down and came back at least twice in the window. No fault of a reading: each may show them up.
  std::vector<FabricFault> flapping() const;
  const FabricComparison& compared() const { return compared_; }
  // Whether an error_rate that does not stand is known not to be there: there were two readings of counters, and the last was
  // whole. Whether a link that is not flapping() is known not to: the watch has run for its window.
  bool rates_judged() const { return rates_judged_; }
  bool flaps_judged() const { return flaps_judged_; }

 private:
  using Key = std::pair<FabricFaultKind, std::vector<std::string>>;
  struct Standing {
    FabricFault fault;
    double since = 0, last = 0;
  };
  struct Piece {
    double at = 0, seconds = 0;
    double grew = 0;
  };
  struct Track {
    std::vector<std::string> ends;
    std::deque<Piece> pieces;  // of the window
    ErrorTrend said = ErrorTrend::steady;
  };
  using Counters = std::pair<double, std::shared_ptr<const CounterReading>>;  // with its time

  static Key key_of(const FabricFault& f);
  void judge_counters(const FabricReading& r, std::vector<FabricFault>& seen) const;
  void stand(std::vector<FabricFault> seen, const FabricReading& r, std::vector<FabricChange>& out);
  std::set<std::string> troubled() const;
  void flapped(std::vector<std::string> ends, double at, double down_s, std::vector<FabricChange>& out);
  void grow(const FabricReading& r, std::vector<FabricChange>& out);
  void note_rates(const std::vector<CounterGrowth>& all, const FabricReading& r, double seconds);
  void tell_trend(const std::string& counter, Track& t, std::vector<FabricChange>& out) const;

  Fabric design_;
  double window_s_;
  FabricComparison compared_;
  std::optional<double> began_;
  bool rates_judged_ = false, flaps_judged_ = false;
  std::map<Key, Standing> standing_;
  Counters last_;
  std::deque<Counters> kept_;                                     // of the window, some of them
  std::map<std::vector<std::string>, std::deque<double>> flaps_;  // by sorted ends
  std::map<std::pair<std::string, std::string>, Track> tracks_;   // by port and counter
};

}  // namespace muster::design
