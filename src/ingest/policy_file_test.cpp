#include "ingest/policy_file.h"

#include <gtest/gtest.h>

#include "ingest/embedded.h"
#include "model/codec.h"

namespace muster {
namespace {

std::string error(std::string_view text) {
  const auto p = parse_policy(text, "p.yaml");
  return p ? "accepted" : p.error().what;
}

TEST(PolicyFile, TheShippedDefaultIsTheDefault) {
  const auto p = preset_policy("default");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(encode_policy(*p), encode_policy(default_policy()));
}

// Collects the names of a struct's fields.
struct Names {
  std::vector<std::string> all;
  template <class T>
  void operator()(std::string_view name, T&) {
    all.emplace_back(name);
  }
};

TEST(PolicyFile, TheShippedDefaultSpellsOutEveryField) {
  const std::string text(*embedded_file("policies/default.yaml"));
  Names fields_of;
  Policy p = default_policy();
  fields(fields_of, p);
  fields(fields_of, p.limits);
  fields(fields_of, p.scheduling);
  fields(fields_of, p.lemons);
  fields(fields_of, p.approvals);
  for (const auto& name : fields_of.all) EXPECT_NE(text.find(name + ":"), std::string::npos) << name;
  for (const auto name : names(FindingKind{})) {
    FindingKind kind{};
    ASSERT_TRUE(parse_name(name, kind));
    EXPECT_NE(find_runbook(p, kind), nullptr) << name;
  }
}

TEST(PolicyFile, CautiousDoesLessThanDefault) {
  const auto p = preset_policy("cautious");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->name, "cautious");
  EXPECT_LT(p->limits.out_cluster_pct, default_policy().limits.out_cluster_pct);
  EXPECT_FALSE(find_runbook(*p, FindingKind::slow_gpu)->act);
  EXPECT_EQ(find_runbook(*p, FindingKind::ecc_uncorrectable)->job, JobCare::wait);
  EXPECT_EQ(find_runbook(*p, FindingKind::ecc_uncorrectable)->steps,
            find_runbook(default_policy(), FindingKind::ecc_uncorrectable)->steps);
  EXPECT_EQ(preset_policy("bold").error().code, Code::not_found);
}

TEST(PolicyFile, ChangesOnlyWhatItSays) {
  const auto p = parse_policy(
      "name: mine\nsilent_after: 90\nlimits: {cause_window: 1h}\nrunbooks: {gpu_lost: {steps: [replace_node]}}\n", "p.yaml");
  ASSERT_TRUE(p) << p.error().what;
  Policy wanted = default_policy();
  wanted.name = "mine";
  wanted.silent_after = seconds(90);
  wanted.limits.cause_window = hours(1);
  wanted.runbooks[0].steps = {Verb::replace_node};
  EXPECT_EQ(encode_policy(*p), encode_policy(wanted));
}

TEST(PolicyFile, APriceHasACurrencyOfThreeLetters) {
  const auto p = parse_policy("gpu_hour_price: 2.5\ncurrency: EUR\n", "p.yaml");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->currency, "EUR");
  EXPECT_EQ(parse_policy("gpu_hour_price: 2.5\n", "p.yaml")->currency, "USD");
  for (const char* bad : {"euro", "eur", "U$D", "12"})
    EXPECT_NE(error("currency: " + std::string(bad) + "\n").find("currency"), std::string::npos) << bad;
}

TEST(PolicyFile, ReadsQuotasOfModels) {
  const auto p = parse_policy(
      "queues:\n  - {name: a, guaranteed_gpus: 16, models: [{model: H200, guaranteed_gpus: 8, limit_gpus: 24}]}\n"
      "  - {name: b, models: [{model: A100, limit_gpus: 4}]}\n",
      "p.yaml");
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->queues[0].models.size(), 1u);
  EXPECT_EQ(p->queues[0].models[0].model, "H200");
  EXPECT_EQ(p->queues[0].models[0].guaranteed_gpus, 8u);
  EXPECT_EQ(p->queues[0].models[0].limit_gpus, 24u);
  EXPECT_EQ(scarce_models(*p), (std::array<std::string, 2>{"H200", "A100"}));
  EXPECT_EQ(error("queues:\n  - {name: a, models: [{model: x}, {model: y}]}\n  - {name: b, models: [{model: z}]}\n"),
            "p.yaml:2: queues name 3 GPU models (x, y, z): at most 2 can be counted apart");
  EXPECT_EQ(error("queues:\n  - {name: a, models: [{limit_gpus: 3}]}\n"), "p.yaml:2: queues[].models[].model is missing");
}

TEST(PolicyFile, SaysFileLineAndReason) {
  EXPECT_EQ(error("queues:\n  - {name: (none)}\n"),
            "p.yaml:2: queue \"(none)\": that names the jobs of no queue; choose another name");
  EXPECT_EQ(error("limits:\n  out_cluster_pct: 400\n"), "p.yaml:2: limits.out_cluster_pct must be 0 to 100, is 400");
  EXPECT_EQ(error("limits:\n  out_cluster_pc: 4\n"),
            "p.yaml:2: unknown key \"limits.out_cluster_pc\"; did you mean out_cluster_pct?");
  EXPECT_EQ(error("silent_after: soon\n"), "p.yaml:1: silent_after must be a length of time such as 90s, 10m, 2h or 7d");
  EXPECT_EQ(error("silent_after: 1s\n").rfind("p.yaml:1: silent_after must be 10", 0), 0u);
  EXPECT_EQ(error("runbooks:\n  gpu_lots: {act: false}\n"),
            "p.yaml:2: runbooks.gpu_lots is no kind of finding, nor a runbook that ships: say its kind; did you mean gpu_lost?");
  EXPECT_EQ(error("runbooks:\n  gpu_lost:\n    steps: [drain_node]\n"),
            "p.yaml:3: a step must be one of reset_gpu, reload_driver, bounce_link, reboot_node, power_cycle_node, replace_node, "
            "is \"drain_node\"");
  EXPECT_EQ(error("runbooks:\n  gpu_lost: {steps: []}\n"),
            "p.yaml:2: runbooks.gpu_lost acts but has no steps: give some, or act: false");
  EXPECT_EQ(error("runbooks:\n  gpu_lost: {job: stop}\n"),
            "p.yaml:2: runbooks.gpu_lost.job must be one of wait, requeue, checkpoint, is \"stop\"");
  EXPECT_EQ(error("runbooks:\n  gpu_lost: yes\n"), "p.yaml:2: runbooks.gpu_lost must be a mapping (key: value), is text");
  EXPECT_EQ(error("runbooks:\n  \"gpu\\x0flost\": yes\n"),
            "p.yaml:2: runbooks.gpu\\x0flost must be a mapping (key: value), is text");
  EXPECT_EQ(error("runbooks: []\n"), "p.yaml:1: runbooks must be a mapping (key: value), is a list");
  EXPECT_EQ(error("job_restarts_max: 1.5\n"), "p.yaml:1: job_restarts_max must be a whole number, is a number");
}

TEST(PolicyFile, OverridesFaultsByCode) {
  const auto p =
      parse_policy("faults:\n  - {code: xid 94, severity: warning}\n  - {code: SXID:12028, action: watch it}\n", "p.yaml");
  ASSERT_TRUE(p) << p.error().what;
  ASSERT_EQ(p->faults.size(), 2u);
  EXPECT_EQ(p->faults[0].code, "Xid 94");
  EXPECT_EQ(p->faults[0].severity, "warning");
  EXPECT_EQ(p->faults[1].code, "SXid 12028");
  const auto wrong = [](const char* text) {
    const auto r = parse_policy(text, "p.yaml");
    return r ? std::string("fine") : r.error().what;
  };
  EXPECT_EQ(wrong("faults:\n  - {code: xid 999, severity: info}\n"),
            "p.yaml:2: faults: \"xid 999\" is no code of the fault catalogue");
  EXPECT_EQ(wrong("faults:\n  - {code: xid 94, severity: bad}\n"),
            "p.yaml:2: faults: the severity of Xid 94 must be one of info, warning, error, fatal, is \"bad\"");
  EXPECT_EQ(wrong("faults:\n  - {code: xid 94}\n"), "p.yaml:2: faults: Xid 94 changes nothing: give severity, action or meaning");
  EXPECT_EQ(wrong("faults:\n  - {code: xid 94, action: a}\n  - {code: Xid 94, action: b}\n"),
            "p.yaml:3: faults: Xid 94 is there twice");
}

}  // namespace
}  // namespace muster
