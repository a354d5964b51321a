#include "design/fabric_symptoms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "design/fabrics.h"

namespace muster::design {
namespace {

// Two leaves of two hosts each below one spine: 4xHDR.
Fabric small() {
  Fabric f;
  for (const char* name : {"leaf-0", "leaf-1", "spine-0"}) f.add({name, 100 + f.nodes.size(), true, {}});
  for (int h = 0; h < 4; ++h) {
    const std::uint32_t e = f.add({"gpu" + std::to_string(h) + " mlx5_0", 1U + static_cast<unsigned>(h), false, {}});
    f.connect(static_cast<std::uint32_t>(h / 2), static_cast<std::uint16_t>(1 + h % 2), e, 1, 25, 4);
  }
  f.connect(0, 3, 2, 1, 25, 4);
  f.connect(1, 3, 2, 2, 25, 4);
  return f;
}

CounterReading reading(std::vector<PortCounters> ports) { return {std::move(ports), true, {}}; }
PortCounters leaf0(int port, std::vector<std::pair<std::string, std::uint64_t>> values) {
  return {{100, "leaf-0", port}, std::move(values)};
}

std::vector<PortState> states(const Fabric& f) {
  std::vector<PortState> out;
  for (const FabricLink& l : f.links) {
    const FabricNode &a = f.nodes[l.from], &b = f.nodes[l.to];
    const FabricLink& back = f.links[f.out(l.from, l.port) ^ 1U];
    out.push_back(
        {{a.guid, a.name, l.port}, a.is_switch, PortEnd{b.guid, b.name, back.port}, b.is_switch, 4, 53.125, "Active", "LinkUp"});
  }
  return out;
}

TEST(FabricSymptoms, a_sound_fabric_has_none) {
  const Fabric f = small();
  EXPECT_TRUE(link_symptoms(states(f), &f).faults.empty());
  EXPECT_TRUE(link_symptoms(states(f), nullptr).faults.empty());
  const CounterReading r = reading({leaf0(3, {{"SymbolErrorCounter", 4}, {"PortXmitWait", 9}})});
  EXPECT_TRUE(counter_symptoms(&r, r, 60, &f).faults.empty());
  EXPECT_TRUE(log_symptoms({}, &f).faults.empty());
}

TEST(FabricSymptoms, what_every_link_could_be_is_no_links_fault) {
  const Fabric f = small();
  auto ports = states(f);
  for (PortState& p : ports) p.lanes_could = 12;  // as a simulator says
  EXPECT_TRUE(link_symptoms(ports, &f).faults.empty());
  ports[4].lanes = ports[5].lanes = 1;
  const FabricSymptoms s = link_symptoms(ports, nullptr);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::degraded_link);
  EXPECT_EQ(s.faults[0].ends, (std::vector<std::string>{"leaf-1[1]", "gpu2 mlx5_0[1]"}));
  EXPECT_EQ(link_symptoms(ports, &f).faults.size(), 1u);
}

TEST(FabricSymptoms, fewer_lanes_than_others_have_are_no_fault_where_the_design_has_no_more) {
  Fabric f = small();
  auto ports = states(f);
  for (const std::size_t l : {4U, 5U}) ports[l].lanes = 2, f.links[l].lanes = 2, f.links[l].gb_s = 12.5;
  EXPECT_TRUE(link_symptoms(ports, &f).faults.empty());
  for (const std::size_t l : {4U, 5U}) ports[l].lanes = 1, ports[l].lane_gbit_s = 106.25;  // the rate, with half of the lanes
  EXPECT_EQ(link_symptoms(ports, &f).faults.size(), 1u);
}

TEST(FabricSymptoms, a_link_that_alone_could_be_faster_is_degraded) {
  const Fabric f = small();
  auto ports = states(f);
  ports[8].lane_gbit_s = ports[9].lane_gbit_s = 25.78125;
  ports[8].lane_gbit_s_could = ports[9].lane_gbit_s_could = 53.125;
  // Of two links between switches one: half of its kind.
  const FabricSymptoms s = link_symptoms(ports, nullptr);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_NE(s.faults[0].detail.find("53.125"), std::string::npos);
  EXPECT_GT(link_symptoms(ports, &f).faults.at(0).confidence, s.faults[0].confidence);
}

TEST(FabricSymptoms, what_most_cables_fall_short_by_is_one_fault) {
  // Twelve hosts on a leaf, designed for twice what they run at.
  Fabric f;
  f.add({"leaf-0", 100, true, {}});
  for (std::uint16_t h = 0; h < 12; ++h)
    f.connect(0, static_cast<std::uint16_t>(h + 1), f.add({"gpu" + std::to_string(h) + " mlx5_0", 1U + h, false, {}}), 1, 50, 4);
  auto ports = states(f);
  const FabricSymptoms s = link_symptoms(ports, &f);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].detail.substr(0, 15), "12 of 12 cables") << s.faults[0].detail;
  EXPECT_EQ(s.faults[0].ends.size(), 2u);
  EXPECT_EQ(s.faults[0].fix.find("reseat"), std::string::npos);
  // Told already, by another of the cables; one that is slower still is another matter.
  const FabricFault told{FabricFaultKind::degraded_link, {"leaf-0[5]", "gpu4 mlx5_0[1]"}, "12 of 12", 0.9, ""};
  EXPECT_TRUE(link_symptoms(ports, &f, std::span(&told, 1)).faults.empty());
  for (PortState& p : ports) {
    if (p.here.node == "gpu7 mlx5_0" || (p.far && p.far->node == "gpu7 mlx5_0")) p.lanes = 1;
  }
  const FabricSymptoms one = link_symptoms(ports, &f, std::span(&told, 1));
  ASSERT_EQ(one.faults.size(), 1u);
  EXPECT_EQ(one.faults[0].ends[0], "leaf-0[8]");
  EXPECT_NE(one.faults[0].fix.find("reseat"), std::string::npos);
  EXPECT_EQ(link_symptoms(ports, &f).faults.size(), 2u);
}

TEST(FabricSymptoms, links_that_the_subnet_manager_has_not_brought_up_are_sent_to_it) {
  const Fabric f = small();
  auto ports = states(f);
  ports[8].logical = ports[9].logical = "Initialize";
  const FabricSymptoms one = link_symptoms(ports, &f);
  ASSERT_EQ(one.faults.size(), 1u);
  EXPECT_LE(one.faults[0].confidence, 0.5);
  EXPECT_NE(one.faults[0].fix.find("sminfo"), std::string::npos);
  EXPECT_EQ(one.faults[0].fix.find("reseat"), std::string::npos);
  for (PortState& p : ports) p.logical = "Initialize";
  const FabricSymptoms all = link_symptoms(ports, &f);
  EXPECT_TRUE(all.faults.empty());
  ASSERT_EQ(all.notes.size(), 1u);
  EXPECT_EQ(all.notes[0].substr(0, 14), "6 of 6 links a");
}

TEST(FabricSymptoms, a_port_that_is_down_is_a_missing_cable_where_the_design_has_one) {
  const Fabric f = small();
  auto ports = states(f);
  for (std::size_t i : {8U, 9U}) {
    ports[i].far.reset();
    ports[i].lanes = 0;
    ports[i].logical = "Down";
    ports[i].physical = "Polling";
  }
  EXPECT_TRUE(link_symptoms(ports, nullptr).faults.empty());  // an empty port looks the same
  const FabricSymptoms s = link_symptoms(ports, &f);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::missing_cable);
  EXPECT_EQ(s.faults[0].ends, (std::vector<std::string>{"leaf-0[3]", "spine-0[1]"}));
  ports[9].logical = "Active";
  EXPECT_EQ(link_symptoms(ports, nullptr).faults.at(0).kind, FabricFaultKind::incomplete_discovery);
}

TEST(FabricSymptoms, errors_beyond_what_the_bit_error_rate_allows_are_a_fault_of_the_cable) {
  const Fabric f = small();
  const CounterReading before = reading({}), few = reading({leaf0(3, {{"SymbolErrorCounter", 2}})});
  EXPECT_TRUE(counter_symptoms(&before, few, 300, &f).faults.empty());
  // 200 Gb/s for 300 s at one in 1e12 bits are 60.
  const CounterReading many = reading({leaf0(3, {{"SymbolErrorCounter", 400}})});
  const FabricSymptoms s = counter_symptoms(&before, many, 300, &f);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::error_rate);
  EXPECT_EQ(s.faults[0].ends, (std::vector<std::string>{"leaf-0[3]", "spine-0[1]"}));
  EXPECT_DOUBLE_EQ(s.faults[0].confidence, 0.95);
  // After error correction nearly none should be left: less sure, but told.
  const CounterReading some = reading({leaf0(3, {{"SymbolErrorCounter", 20}})});
  ASSERT_EQ(counter_symptoms(&before, some, 300, &f).faults.size(), 1u);
  EXPECT_LT(counter_symptoms(&before, some, 300, &f).faults[0].confidence, 0.8);
}

TEST(FabricSymptoms, a_link_that_went_down_is_told_and_congestion_is_only_noted) {
  const Fabric f = small();
  const CounterReading before = reading({}),
                       after = reading({leaf0(3, {{"LinkDownedCounter", 1}}), leaf0(1, {{"PortXmitWait", 1000000}})});
  const FabricSymptoms s = counter_symptoms(&before, after, 300, &f);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].ends[0], "leaf-0[3]");
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_NE(s.notes[0].find("leaf-0[1]"), std::string::npos);
}

TEST(FabricSymptoms, what_could_not_be_sent_is_no_plugs_fault) {
  const Fabric f = small();
  const CounterReading before = reading({}), after = reading({leaf0(1, {{"PortXmitDiscards", 5000}})});
  const FabricSymptoms s = counter_symptoms(&before, after, 300, &f);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].fix.find("reseat"), std::string::npos) << s.faults[0].fix;
  const CounterReading worse = reading({leaf0(1, {{"PortXmitDiscards", 5000}, {"LinkDownedCounter", 2}})});
  EXPECT_NE(counter_symptoms(&before, worse, 300, &f).faults.at(0).fix.find("reseat"), std::string::npos);
}

TEST(FabricSymptoms, both_ends_of_a_cable_are_one_fault) {
  const Fabric f = small();
  const CounterReading before = reading({});
  const CounterReading after = reading({leaf0(3, {{"LinkDownedCounter", 1}}), {{102, "spine-0", 1}, {{"LinkDownedCounter", 1}}}});
  EXPECT_EQ(counter_symptoms(&before, after, 300, &f).faults.size(), 1u);
  // An adapter is known by its name and port where its GUID is the node's.
  const CounterReading host =
      reading({{{77, "gpu0 mlx5_0", 1}, {{"LinkDownedCounter", 1}}}, leaf0(1, {{"LinkDownedCounter", 1}})});
  ASSERT_EQ(counter_symptoms(&before, host, 300, &f).faults.size(), 1u);
}

TEST(FabricSymptoms, one_reading_tells_only_what_cannot_be_otherwise) {
  const CounterReading once = reading({leaf0(1, {{"PortRcvErrors", 123}}), leaf0(3, {{"SymbolErrorCounter", 65535}})});
  const FabricSymptoms s = counter_symptoms(nullptr, once, 0, nullptr);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].ends[0], "leaf-0[3]");
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_NE(s.notes[0].find("one reading"), std::string::npos);
}

SubnetLog fell_back() {
  SubnetLog log;
  log.routings.push_back({"ftree", {}, {}, {}, {4, "Nov 15 00:10:00", ""}, true});
  log.routings.push_back(
      {"minhop", {"ftree"}, {{9, "Nov 15 00:22:54", "ERR AB0D: no fat tree"}}, {100}, {12, "Nov 15 00:22:54", ""}, true});
  return log;
}

TEST(FabricSymptoms, a_routing_engine_that_gave_way_is_told_with_its_evidence_and_a_way_back) {
  const Fabric f = small();
  const FabricSymptoms s = log_symptoms(fell_back(), &f);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::routing_fallback);
  EXPECT_EQ(s.faults[0].ends, std::vector<std::string>{"leaf-0"});
  for (const char* part : {"minhop", "ftree", "Nov 15 00:22:54", "line 9", "AB0D", "SUBNET UP"})
    EXPECT_NE(s.faults[0].detail.find(part), std::string::npos) << part;
  EXPECT_NE(s.faults[0].fix.find("root_guid_file"), std::string::npos);
}

TEST(FabricSymptoms, a_fallback_that_is_over_is_a_note) {
  SubnetLog log = fell_back();
  log.routings.push_back({"ftree", {}, {}, {}, {40, "Nov 15 00:30:00", ""}, true});
  const FabricSymptoms s = log_symptoms(log, nullptr);
  EXPECT_TRUE(s.faults.empty());
  ASSERT_EQ(s.notes.size(), 1u);
}

TEST(FabricSymptoms, an_engine_that_was_never_tried_is_known_by_what_was_asked) {
  SubnetLog log;
  log.routings.push_back({"minhop", {}, {}, {}, {4, "Nov 15 00:10:00", ""}, true});
  EXPECT_TRUE(log_symptoms(log, nullptr).faults.empty());
  EXPECT_EQ(log_symptoms(log, nullptr, "ftree").faults.size(), 1u);
  log.engines_asked = {"ftree"};
  EXPECT_EQ(log_symptoms(log, nullptr).faults.size(), 1u);
}

TEST(FabricSymptoms, duplicates_and_flaps_of_the_log_are_faults) {
  const Fabric f = small();
  SubnetLog log;
  log.duplicates.push_back({1, 1, {100, 101}, {1, 2}, {3, "Nov 15 00:10:00", "ERR 0D01"}});
  for (int i = 0; i < 3; ++i)
    log.ports.push_back({102, "spine-0", true, {i, "t", ""}}), log.ports.push_back({102, "spine-0", false, {i, "t", ""}});
  log.ports.push_back({101, "leaf-1", true, {9, "t", ""}});
  const FabricSymptoms s = log_symptoms(log, &f);
  ASSERT_EQ(s.faults.size(), 2u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::duplicate_guid);
  EXPECT_EQ(s.faults[0].ends, (std::vector<std::string>{"leaf-0[1]", "leaf-1[2]"}));
  EXPECT_EQ(s.faults[1].ends, std::vector<std::string>{"spine-0"});
  EXPECT_EQ(s.notes.size(), 1u);  // leaf-1 is gone
  for (std::uint64_t g = 0; g < 100; ++g) log.ports.push_back({1000 + g, "gpu" + std::to_string(g), true, {9, "t", ""}});
  const FabricSymptoms many = log_symptoms(log, &f);
  ASSERT_EQ(many.notes.size(), 1u);
  EXPECT_EQ(many.notes[0].find("101 devices left"), 0u) << many.notes[0];
}

TEST(FabricSymptoms, ways_that_do_not_arrive_are_told_by_where_they_end) {
  const Fabric f = small();
  ForwardingTables t;
  for (std::uint16_t h = 1; h <= 4; ++h) t.lids[h] = h;
  t.switches[100] = {255, 1, 2, 3, 3};
  t.switches[101] = {255, 3, 3, 1, 2};
  t.switches[102] = {255, 1, 1, 2, 2};
  EXPECT_TRUE(route_symptoms(f, predict::route_check(f, t), nullptr).faults.empty());
  t.switches[102][3] = 255;
  const FabricSymptoms s = route_symptoms(f, predict::route_check(f, t), nullptr);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].ends, std::vector<std::string>{"spine-0"});
  EXPECT_NE(s.faults[0].detail.find("gpu2 mlx5_0"), std::string::npos);
}

TEST(FabricSymptoms, a_tree_with_a_storage_server_on_a_spine_is_judged_as_one) {
  Fabric f = build_fabric({.nodes = 64, .nics = 1, .radix = 16, .levels = 2}).value();
  const auto spine = std::find_if(f.nodes.begin(), f.nodes.end(), [](const FabricNode& n) { return n.name == "spine-000"; });
  ASSERT_NE(spine, f.nodes.end());
  const auto at = static_cast<std::uint32_t>(spine - f.nodes.begin());
  predict::RouteCheck check;
  check.layers.push_back({.from_level = 1, .to_level = 0, .links = 64, .mean = 10, .most = 40, .fullest = f.out(at, 1)});
  predict::TrafficFigures shifts;
  shifts.mean = 0.2;
  EXPECT_EQ(route_symptoms(f, check, &shifts).faults.size(), 1u);
  f.connect(at, 17, f.add({"storage0 mlx5_0", 0x9999, false, {}}), 1, 25);
  EXPECT_EQ(route_symptoms(f, check, &shifts).faults.size(), 1u);
  const Fabric dragonfly = build_fabric({.kind = FabricKind::dragonfly, .nodes = 72, .nics = 1, .radix = 8}).value();
  check.layers[0].fullest = 0;
  EXPECT_TRUE(route_symptoms(dragonfly, check, &shifts).faults.empty());
}

TEST(FabricSymptoms, ways_through_a_switch_whose_table_is_not_there_are_no_fault) {
  const Fabric f = small();
  ForwardingTables t;
  for (std::uint16_t h = 1; h <= 4; ++h) t.lids[h] = h;
  t.switches[100] = {255, 1, 2, 3, 3};  // as `ibroute` of one leaf prints it
  const FabricSymptoms s = route_symptoms(f, predict::route_check(f, t), nullptr);
  EXPECT_TRUE(s.faults.empty());
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_EQ(s.notes[0], "2 switches have no forwarding table in what was given: 10 of 12 ways lead there and are not judged");
}

}  // namespace
}  // namespace muster::design
