// What is wrong with a network, for people (by where to walk to) and for programs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "design/fabric_compare.h"
#include "predict/job_traffic.h"
#include "predict/route_check.h"
#include "predict/traffic.h"

namespace muster::report {

struct FabricVerdict {
  design::FabricComparison compared;  // with the faults of all sources
  bool inferred = false;              // there was no design: the regular structure stands for it
  std::vector<std::string> notes;
  // With forwarding tables.
  std::optional<predict::RouteCheck> routes;
  std::optional<predict::TrafficFigures> shifts, pairs;
  std::vector<predict::JobTraffic> jobs;
};

std::string render_fabric_verdict(const FabricVerdict& verdict, bool colour);
std::string fabric_verdict_json(const FabricVerdict& verdict);
std::string fabric_summary(const FabricVerdict& verdict);  // one line
// What a fault is at, in a line for people: its first ends, and how many more there are.
std::string fault_ends(const FabricFault& fault);

}  // namespace muster::report
