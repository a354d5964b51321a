// A network as it is bought and built: growth steps that move no cable, racks, lengths, optics, power and price.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "design/fabrics.h"
#include "design/floor_plan.h"
#include "model/hardware_prices.h"

namespace muster::design {

enum class Medium : std::uint8_t { dac, aec, aoc, optic };  // passive copper, active copper, active optical, modules with fibre
constexpr std::array<std::string_view, 4> names(Medium) { return {"DAC", "AEC", "AOC", "optic"}; }

// The longest of each; 0: none of it is bought.
struct MediumReach {
  double dac_m = 3, aec_m = 7, aoc_m = 30;
};

struct FabricPlanAsk {
  FabricAsk fabric;                     // `nodes`: that are bought now
  std::vector<std::uint32_t> grow;      // nodes after each later step, rising
  std::string name_format;              // of nodes, "gpu####", numbered from 1; empty: as build_fabric names them
  double node_kw = 10.2;                // eight H200 with their server
  double rack_kw = 45;                  // that a rack may draw
  FloorAsk floor{.nodes_per_rack = 0};  // 0 nodes a rack: as many as its power allows
  MediumReach reach;
  HardwarePrices prices;
};

struct PlannedCable {
  double length_m = 0;
  Medium medium = Medium::dac;
  std::uint32_t since = 0;  // the step at which it is laid; 0: now
};

struct BillLine {
  std::string item;  // of the table of prices
  std::uint64_t count = 0;
  double usd_each = 0;
  std::string source;
};

// All figures are of what stands then, but `added`, `bill` and `usd`, which are of what the step adds.
struct PlanStep {
  std::uint32_t nodes = 0, endpoints = 0;
  std::array<std::uint32_t, 3> switches{};  // leaves, spines, cores
  std::array<std::uint32_t, 4> cables{};    // by medium
  std::uint32_t transceivers = 0;
  double network_kw = 0;   // switches, and what is active in cables
  double shift_share = 1;  // of the cards' rate, that static routes give to shifts at least, in the mean
  struct Added {
    std::uint32_t nodes = 0, switches = 0, cables = 0;
  } added;
  std::vector<BillLine> bill;
  double usd = 0;
  // Bought for this size alone: the switches, and the cables between switches that the step after it would then move.
  std::uint32_t alone_switches = 0, alone_moved = 0;

  std::uint32_t all_switches() const { return switches[0] + switches[1] + switches[2]; }
  std::uint32_t all_cables() const { return cables[0] + cables[1] + cables[2] + cables[3]; }
};

struct FabricPlan {
  FabricPlanAsk ask;
  Fabric whole;                      // after the last step
  std::vector<std::uint8_t> tiers;   // by node of `whole`: 0 an endpoint, 1 a leaf, 2 a spine, 3 a core
  std::vector<std::uint32_t> since;  // by node of `whole`: the step at which it is bought
  FloorPlan floor;
  std::vector<PlannedCable> cables;  // of links 2 i and 2 i + 1 of `whole`
  std::vector<PlanStep> steps;       // now, and each later one
  std::vector<std::string> notes;    // what whoever builds it must know
};

Result<FabricPlan> plan_fabric(FabricPlanAsk ask);

// What stands after a step, with the ports that it keeps for ever.
Fabric fabric_at(const FabricPlan& plan, std::size_t step);
// GUIDs of the switches that stand then and have none above them: the roots of up-down routes; none of a dragonfly.
std::vector<std::uint64_t> roots_at(const FabricPlan& plan, std::size_t step);

}  // namespace muster::design
