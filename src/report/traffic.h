// What a fabric gives to patterns of traffic, as a table.
#pragma once
#include <span>

#include "predict/congestion.h"
#include "predict/traffic.h"
#include "report/table.h"

namespace muster::report {

struct Traffic {
  predict::TrafficFigures shifts;
  predict::TrafficFigures pairs;
};

Table traffic_table(const Traffic& t);

struct Incast {
  const char* control;
  predict::IncastFigures figures;
};
Table incast_table(std::span<const Incast> all);

}  // namespace muster::report
