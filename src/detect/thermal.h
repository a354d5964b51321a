// Heat of single GPUs: throttling, a cooler that loses its grip (temperature climbs while the power stays), and a GPU much hotter
// than its neighbours that do the same work.
#pragma once
#include <vector>

#include "detect/gauges.h"
#include "detect/growth.h"
#include "detect/sign.h"

namespace muster::detect {

class Thermal {
 public:
  explicit Thermal(const Site& site);
  void on_sample(const Sample& m, const Gauges& gauges, const State& s, Time mono, Signs& out);

 private:
  struct Gpu {
    Counter violation_us;
    Time since;  // mono, of the reading below; zero: none
    float then_c = 0, then_w = 0;
    float halfway_c = 0;      // reading some minutes after that; zero: none yet
    std::uint8_t hot = 0;     // samples in a row hotter than its neighbours
    std::uint8_t slowed = 0;  // samples in a row with the software's thermal slow-down
  };
  void on_temp(Gpu& g, const Sample& m, const Gauges& gauges, const State& s, Time mono, Signs& out);
  void on_trend(Gpu& g, const Sample& m, const Gauges::Gpu& now, const State& s, Time mono, Signs& out);
  void on_neighbours(Gpu& g, const Sample& m, const Gauges& gauges, const State& s, Signs& out);

  std::uint32_t slots_;
  std::vector<Gpu> gpus_;
};

}  // namespace muster::detect
