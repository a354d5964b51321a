// PowerCurve: the energy of one GPU over time, in whole millijoules, from what its meters said. A counter of energy is believed
// before samples of power, and samples before what lies between them. Parts of it sum to the whole exactly: the energy of a
// stretch is the difference of two values of one rising function.
#pragma once
#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "model/power_reading.h"

namespace muster::account {

enum class EnergySource : std::uint8_t {
  counter,    // the device counted it
  sampled,    // its power was sampled, and added up
  engine,     // Slurm says so, of whole nodes
  estimated,  // nobody measured it
};
constexpr std::size_t kEnergySources = 4;
constexpr std::array<std::string_view, kEnergySources> names(EnergySource) {
  return {"counter", "sampled", "slurm", "estimated"};
}
using Millijoules = std::array<std::int64_t, kEnergySources>;
inline std::int64_t sum(const Millijoules& m) { return std::accumulate(m.begin(), m.end(), std::int64_t{0}); }

enum class Meter : std::uint8_t { best, counter, sampled };
constexpr std::array<std::string_view, 3> names(Meter) { return {"best", "counter", "sampled"}; }

struct CurveOptions {
  Meter meter = Meter::best;       // what may be used
  Duration gap_max;                // between two samples, longer is a gap; 0: three of the usual, 1 s to 10 minutes
  Duration bridge_max = hours(1);  // over longer gaps nothing is drawn: what happened there is not known from these samples
  double watts_max = 3000;         // no GPU draws more; of a whole node 40,000
};

// What was wrong with the readings, and what was done about it.
struct CurveNotes {
  std::uint64_t resets = 0;       // the counter began anew: a driver loaded, a GPU reset, a reboot
  std::uint64_t wraps = 0;        // it passed 2^32
  std::uint64_t jumps = 0;        // it moved as no GPU can draw
  std::uint64_t stood_still = 0;  // it said less than half, or more than twice, of what samples said meanwhile
  std::uint64_t gaps = 0;
  std::uint64_t gaps_counted = 0;  // of them: over which a counter went on, so that only the hours of the energy are not known
  Duration gap_time;
  Duration longest_gap;
  Time longest_gap_at;
  Duration usual;  // between two readings
  void add(const CurveNotes& other);
};

class PowerCurve {
 public:
  struct Piece {
    Time from, to;
    std::int64_t mj = 0;
    EnergySource source = EnergySource::counter;
  };

  static PowerCurve make(const PowerTrack& track, const CurveOptions& options, CurveNotes& notes);

  bool empty() const { return pieces_.empty(); }
  Time begins() const { return pieces_.empty() ? Time{} : pieces_.front().from; }
  Time ends() const { return pieces_.empty() ? Time{} : pieces_.back().to; }
  // Energy from the beginning of the curve until `t`, and for how long of that there is a curve.
  struct Until {
    Millijoules mj{};
    std::int64_t covered_ns = 0;
  };
  Until until(Time t) const;
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;  // by time; there may be holes between them
  std::vector<Until> before_;  // of each piece
};

}  // namespace muster::account
