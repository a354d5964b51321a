// Rules of a site's own held against a few nodes: parts that are known by half, what jobs have mapped, and rules that are wrong.
#include "fleet/check.h"

#include <gtest/gtest.h>

#include <map>

namespace muster::fleet {
namespace {

FactBook book() {
  FactBook b;
  const auto add = [&](const char* key, const char* of, FactKind kind = FactKind::version) {
    b.at[key] = b.rows.size();
    b.rows.push_back({key, of, FactLayer::driver, kind, "", ""});
  };
  add("driver.loaded", "");
  add("driver.on_disk", "");
  add("bios.version", "");
  add("gpu.count", "", FactKind::number);
  add("nccl.mapped", "", FactKind::text);
  add("nccl.system", "");
  add("gpu.model", "gpu", FactKind::text);
  add("vbios.version", "gpu");
  add("nic.firmware", "nic");
  return b;
}

FleetRule rule(RuleKind kind, std::string b, std::string range_b, std::string applies_to = {}) {
  FleetRule r;
  r.id = "S1";
  r.kind = kind;
  r.severity = RuleSeverity::error;
  r.b = std::move(b);
  r.range_b = std::move(range_b);
  r.applies_to = std::move(applies_to);
  r.says = "it is wrong";
  r.source = "wiki";
  r.file = "site.csv";
  r.line = 7;
  return r;
}

// By node, each status once: "broken gpu1; unknown gpu2".
std::map<std::string, std::string> judged(const FleetRule& r, const FactTable& table) {
  CheckOptions options;
  options.kinds.push_back({"all", {}, {}});
  for (std::uint32_t n = 0; n < table.nodes().size(); ++n) options.kinds.back().nodes.push_back(n);
  std::map<std::string, std::string> out;
  for (const Verdict& v : check_rules(table, book(), {&r, 1}, options).all) {
    for (const std::uint32_t n : v.nodes) {
      std::string& said = out[table.nodes()[n].name];
      said += (said.empty() ? "" : "; ") + std::string(names(v.status)[static_cast<std::size_t>(v.status)]);
      for (const std::string& p : v.parts) said += " " + p;
    }
  }
  return out;
}

std::string of_n1(const FleetRule& r, const FactTable& table) { return judged(r, table).at("n1"); }

std::string refusal(const FleetRule& r) {
  const auto ok = validate_rules({&r, 1}, book());
  return ok ? "it passes" : ok.error().what + (ok.error().next.empty() ? "" : "; " + ok.error().next);
}

// ---- parts

TEST(FleetCheck, takes_a_part_of_which_anything_is_known_for_one_that_is_there) {
  const FleetRule r = rule(RuleKind::need, "", "vbios.version >= 96");
  FactTable t;
  const std::size_t n = t.node("n1");
  t.put(n, "gpu0", "vbios.version", "96.00.61.00.01");
  t.put(n, "gpu0", "gpu.model", "H100");
  EXPECT_EQ(of_n1(r, t), "ok");
  t.put(n, "gpu1", "gpu.model", "H100");
  EXPECT_EQ(of_n1(r, t), "unknown gpu1") << "its VBIOS was not read";
  t.put(n, "gpu1", "vbios.version", "95.00");
  EXPECT_EQ(of_n1(r, t), "broken gpu1");
  t.put(n, "gpu1", "vbios.version", "96.00");
  EXPECT_EQ(of_n1(r, t), "ok");
}

TEST(FleetCheck, gives_no_node_the_parts_of_another) {
  const FleetRule r = rule(RuleKind::need, "", "vbios.version >= 96");
  FactTable t;
  t.put(t.node("n1"), "gpu0", "vbios.version", "96.00");
  t.put(t.node("n2"), "gpu0", "vbios.version", "96.00");
  t.put(t.node("n2"), "gpu1", "vbios.version", "95.00");
  t.put(t.node("n3"), "mlx5_0", "nic.firmware", "28.43");
  t.put(t.node("n4"), "", "gpu.count", "0");
  EXPECT_EQ(judged(r, t), (std::map<std::string, std::string>{
                              {"n1", "ok"}, {"n2", "broken gpu1"}, {"n3", "unknown"}, {"n4", "not applicable"}}));
}

TEST(FleetCheck, holds_a_recipe_against_all_parts_of_a_node) {
  const FleetRule r = rule(RuleKind::bundle, "", "bios.version == 2.0 and nic.firmware in (28.46, 32.46)");
  FactTable t;
  const std::size_t n = t.node("n1");
  t.put(n, "", "bios.version", "2.0");
  t.put(n, "mlx5_0", "nic.firmware", "28.46.3048");
  EXPECT_EQ(of_n1(r, t), "ok");
  t.put_unreadable(n, "mlx5_1", "nic.firmware");
  EXPECT_EQ(of_n1(r, t), "unknown");
  t.put(n, "mlx5_1", "nic.firmware", "28.43.2566");
  EXPECT_EQ(of_n1(r, t), "broken");
  t.put(n, "", "bios.version", "1.9");
  EXPECT_EQ(of_n1(r, t), "not applicable") << "nothing of it was set up by this recipe";
}

TEST(FleetCheck, does_not_vote_for_a_part_that_was_not_read) {
  const FleetRule r = rule(RuleKind::alike, "nic.firmware", "alike");
  FactTable t;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5", "n6"}) t.put(t.node(name), "mlx5_0", "nic.firmware", "28.46");
  t.put(t.node("n6"), "mlx5_0", "nic.firmware", "28.43");
  t.put_unreadable(t.node("n1"), "mlx5_1", "nic.firmware");
  const auto all = judged(r, t);
  EXPECT_EQ(all.at("n1"), "unknown");
  EXPECT_EQ(all.at("n2"), "ok");
  EXPECT_EQ(all.at("n6"), "broken mlx5_0");
}

// ---- jobs

const char* const kLong = "2.27.5-1+cuda12.9.of.a.long.name, 2.28.3-1+cuda13.0.of.a.long.name";

TEST(FleetCheck, a_job_on_nodes_with_several_versions_is_undecided_and_broken_where_none_is_on_all_of_them) {
  const FleetRule r = rule(RuleKind::job, "first(nccl.mapped, nccl.system)", "");
  FactTable t;
  t.put(t.node("n1"), "", "nccl.mapped", kLong);
  t.put(t.node("n2"), "", "nccl.mapped", "v2.28.3");
  EXPECT_EQ(of_n1(r, t), "unknown") << "2.28.3 may be what it has on both";
  t.put(t.node("n3"), "", "nccl.mapped", "2.27.5, 2.26.2");
  EXPECT_EQ(of_n1(r, t), "broken") << "no two of them, but all three";
}

TEST(FleetCheck, says_which_value_of_a_job_is_no_version) {
  const FleetRule r = rule(RuleKind::job, "first(nccl.mapped, nccl.system)", "");
  FactTable t;
  t.put(t.node("n1"), "", "nccl.mapped", "banana of a length that is not kept in place");
  t.put(t.node("n2"), "", "nccl.mapped", "2.28.3");
  t.put(t.node("n3"), "", "nccl.mapped", "2.28.3");
  CheckOptions options;
  options.jobs = {{0, 1, 2}};
  const Verdicts all = check_rules(t, book(), {&r, 1}, options);
  ASSERT_EQ(all.all.size(), 2u);
  EXPECT_EQ(all.all[0].status, RuleStatus::unknown);
  EXPECT_EQ(all.all[0].nodes, std::vector<std::uint32_t>{0});
  EXPECT_EQ(all.all[0].found, "no version: banana of a length that is not kept in place on n1");
  EXPECT_EQ(all.all[1].status, RuleStatus::ok);
}

// ---- rules that are wrong

TEST(FleetRules, of_a_site_that_are_wrong_are_refused_with_file_line_and_column) {
  EXPECT_EQ(refusal(rule(RuleKind::min, "driver.loaded", ">= 580")), "it passes");
  EXPECT_EQ(
      refusal(rule(RuleKind::min, "driver.loaded", ">= banana")),
      "site.csv:7: S1: b and range_b: \"banana\" is neither a version nor a number, in \"driver.loaded >= banana\" (byte 18); "
      "before and after are of versions and numbers: >= 580.95");
  EXPECT_EQ(refusal(rule(RuleKind::need, "driver.loaded", "present", "driver.loadd == 5")),
            "site.csv:7: S1: driver.loadd is no fact; did you mean driver.loaded? muster fleet probe --list has all");
  EXPECT_EQ(refusal(rule(RuleKind::need, "driver.loaded", "present", "rack == 5")),
            "site.csv:7: S1: applies_to: \"rack\" is no fact, in \"rack == 5\" (byte 1); muster fleet probe --list shows what is "
            "known");
  EXPECT_EQ(refusal(rule(RuleKind::need, "", "vbios.version present and nic.firmware present")),
            "site.csv:7: S1: range_b: nic.firmware is of each nic, other facts of each gpu");
  EXPECT_EQ(refusal(rule(RuleKind::alike, "nic.firmware", "same")),
            "site.csv:7: S1: range_b: \"same\" is neither \"alike\" nor \"alike by\" and a fact");
  EXPECT_EQ(
      refusal(rule(RuleKind::bundle, "", "bios.version == 2.0 and (nic.firmware == 1")).find("site.csv:7: S1: b and range_b: "),
      0u);
  FleetRule named = rule(RuleKind::min, "driver.loaded", ">= 580");
  named.says = "{driver.on_disk} is old";
  EXPECT_EQ(refusal(named),
            "site.csv:7: S1: says has {driver.on_disk}, which the rule is not about; name a fact of a, b, range_b or applies_to");
}

TEST(FleetRules, cannot_leave_the_parentheses_that_are_put_around_their_columns) {
  EXPECT_EQ(refusal(rule(RuleKind::need, "driver.loaded", "present", "gpu.count == 1) or (gpu.count == 2")),
            "site.csv:7: S1: applies_to: nothing more was expected at \")\" (byte 15) of \"gpu.count == 1) or (gpu.count == 2\"");
  FleetRule r = rule(RuleKind::need, "driver.loaded", "present");
  r.a = "gpu.count";
  r.range_a = "== 1) or (true";
  EXPECT_EQ(refusal(r),
            "site.csv:7: S1: a and range_a: nothing more was expected at \")\" (byte 15) of \"gpu.count == 1) or (true\"");
}

}  // namespace
}  // namespace muster::fleet
