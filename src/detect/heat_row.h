// Rows of racks that grow hot: the trend of the air their nodes breathe, and when the hottest GPU would throttle if it went on.
// A GPU that runs hot by itself moves no inlet; a cooling unit that fails moves the inlets of a whole row.
#pragma once
#include <deque>
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

class HeatRow {
 public:
  explicit HeatRow(const Site& site);
  void take_over(const Finding& f);
  void on_sample(const Sample& m, Time mono);
  // Once a minute: signs and reliefs, and what hot rows measure.
  void on_turn(const State& s, Time utc, Time mono, Signs& out, std::vector<Body>& measured);
  bool hot(const Site& site, NodeId n) const;
  // When it has to look again, mono; never while no row is hot.
  Time next() const;

 private:
  struct Point {
    Time at;  // mono
    double inlet_c;
  };
  struct Row {
    std::vector<std::uint32_t> nodes;
    std::deque<Point> points;  // the last minutes
    bool hot = false;
    bool heard = false;      // since the last look
    std::uint32_t calm = 0;  // looks in a row that saw nothing wrong
  };
  double trend_c_per_min(const Row& r) const;
  double hottest_c(const Row& r) const;
  bool look(std::uint32_t row, const State& s, Time utc, Time mono, Signs& out, std::vector<Body>& measured);

  std::uint32_t slots_;
  std::vector<std::uint32_t> row_of_;  // by node
  std::vector<Row> rows_;
  std::vector<float> inlet_c_;  // newest, by node
  std::vector<Time> inlet_at_;  // mono; zero: never
  std::vector<float> gpu_c_;    // newest, by GPU
  Time looked_;
  bool any_hot_ = false;
};

}  // namespace muster::detect
