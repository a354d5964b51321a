#include "predict/fit.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"

namespace muster::predict {
namespace {

using Point = std::vector<double>;  // each coordinate 0 to 1 within its field's range

class Simplex {
 public:
  Simplex(std::function<double(const Point&)> f, const Point& at) : f_(std::move(f)) {
    add(at);
    for (std::size_t i = 0; i < at.size(); ++i) {
      Point p = at;
      p[i] += p[i] < 0.5 ? kSide : -kSide;
      add(p);
    }
  }
  void step() {
    std::sort(v_.begin(), v_.end(), [](const Vertex& a, const Vertex& b) { return a.loss < b.loss; });
    Vertex& worst = v_.back();
    const double second = v_[v_.size() - 2].loss;
    const Vertex reflected = toward(-1);
    if (reflected.loss < v_.front().loss) {
      const Vertex further = toward(-2);
      worst = further.loss < reflected.loss ? further : reflected;
    } else if (reflected.loss < second) {
      worst = reflected;
    } else {
      const Vertex nearer = toward(reflected.loss < worst.loss ? -0.5 : 0.5);
      if (nearer.loss < std::min(reflected.loss, worst.loss)) {
        worst = nearer;
      } else {
        shrink();
      }
    }
  }
  const Point& best() const {
    return std::min_element(v_.begin(), v_.end(), [](const Vertex& a, const Vertex& b) { return a.loss < b.loss; })->at;
  }

 private:
  static constexpr double kSide = 0.15;
  struct Vertex {
    Point at;
    double loss;
  };
  void add(Point p) {
    const double loss = f_(p);
    v_.push_back({std::move(p), loss});
  }
  // A point on the line through the worst vertex and the middle of the others.
  Vertex toward(double share) {
    const std::size_t n = v_.size() - 1;
    Point p(n);
    for (std::size_t j = 0; j < n; ++j) {
      double middle = 0;
      for (std::size_t i = 0; i < n; ++i) middle += v_[i].at[j] / static_cast<double>(n);
      p[j] = middle + share * (v_[n].at[j] - middle);
    }
    const double loss = f_(p);
    return {std::move(p), loss};
  }
  void shrink() {
    for (std::size_t i = 1; i < v_.size(); ++i) {
      for (std::size_t j = 0; j < v_[i].at.size(); ++j) v_[i].at[j] = (v_[0].at[j] + v_[i].at[j]) / 2;
      v_[i].loss = f_(v_[i].at);
    }
  }
  std::function<double(const Point&)> f_;
  std::vector<Vertex> v_;
};

}  // namespace

Calibration fit(const FitAsk& ask) {
  std::vector<CalibrationField> fields;
  for (const CalibrationField& f : calibration_fields()) {
    if (std::find(ask.free.begin(), ask.free.end(), f.name) != ask.free.end()) fields.push_back(f);
  }
  MUSTER_CHECK(fields.size() == ask.free.size() && !fields.empty());
  const auto at = [&](const Point& p) {
    Calibration c = ask.start;
    for (std::size_t i = 0; i < p.size(); ++i) {
      c.*fields[i].value = fields[i].min + std::clamp(p[i], 0.0, 1.0) * (fields[i].max - fields[i].min);
    }
    return c;
  };
  const auto loss = [&](const Point& p) {
    double outside = 0;
    for (const double x : p) outside += std::max(0.0, -x) + std::max(0.0, x - 1);
    return ask.loss(at(p)) + outside;
  };
  Point given;
  for (const CalibrationField& f : fields) given.push_back((ask.start.*f.value - f.min) / (f.max - f.min));
  Prng prng(ask.seed, "fit");
  Point best = given;
  constexpr int kRestarts = 4;
  const int steps = 60 * static_cast<int>(fields.size());
  for (std::uint32_t s = 0; s < ask.starts; ++s) {
    Point p = given;
    if (s > 0) {
      for (double& x : p) x = 0.15 + 0.7 * prng.unit();
    }
    for (int i = 0; i < kRestarts; ++i) {
      Simplex simplex(loss, p);
      for (int k = 0; k < steps; ++k) simplex.step();
      p = simplex.best();
    }
    if (loss(p) < loss(best)) best = p;
  }
  return at(best);
}

}  // namespace muster::predict
