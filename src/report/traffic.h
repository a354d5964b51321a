// What a fabric gives to patterns of traffic, as a table.
#pragma once

#include "predict/traffic.h"
#include "report/table.h"

namespace muster::report {

struct Traffic {
  predict::TrafficFigures shifts;
  predict::TrafficFigures pairs;
};

Table traffic_table(const Traffic& t);

}  // namespace muster::report
