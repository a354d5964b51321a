// NVIDIA's list of data-centre drivers becomes rules: until when a branch is kept up, and which branches there are.
#include <gtest/gtest.h>

#include <set>

#include "ingest/fleet_rules.h"

namespace muster {
namespace {

// As NVIDIA writes it, with fewer releases; members that are not asked for stand in it too.
constexpr const char* kReleases = R"({
  "535": {
    "type": "lts branch",
    "driver_info": [
      {"release_version": "535.261.03", "release_date": "2025-07-21", "release_notes": "https://docs.nvidia.com/r535-261-03/",
       "architectures": ["x86_64", "aarch64"], "runfile_url": {"x86_64": "https://us.download.nvidia.com/x.run"}},
      {"release_version": "535.54.03", "release_date": "2023-06-14", "release_notes": "https://docs.nvidia.com/r535-54-03/",
       "architectures": ["x86_64"], "runfile_url": {}}
    ]
  },
  "570": {
    "type": "production branch",
    "driver_info": [
      {"release_version": "570.124.06", "release_date": "2025-02-27"},
      {"release_version": "570.86.15", "release_date": "2025-01-27"},
      {"release_version": "570.195.03", "release_date": "2025-09-30"}
    ]
  },
  "610": {
    "type": "new feature branch",
    "driver_info": [{"release_version": "610.57.04", "release_date": "2026-05-05"}],
    "eol": null, "codename": {"of": ["something", 1, true]}
  }
})";

std::vector<FleetRule> imported(const std::string& json) {
  const auto rules = rules_of_driver_releases(json, "releases.json");
  EXPECT_TRUE(rules.has_value()) << rules.error().what;
  return rules ? *rules : std::vector<FleetRule>{};
}

std::string refusal(const std::string& json) {
  const auto rules = rules_of_driver_releases(json, "releases.json");
  if (rules) return "it was read";
  EXPECT_EQ(rules.error().code, Code::bad_input);
  EXPECT_FALSE(rules.error().next.empty()) << rules.error().what;
  return rules.error().what;
}

// One branch with one release.
std::string branch(const std::string& name, const std::string& version, const std::string& day,
                   const std::string& type = "lts branch") {
  return "{\"" + name + "\": {\"type\": \"" + type + "\", \"driver_info\": [{\"release_version\": \"" + version +
         "\", \"release_date\": \"" + day + "\"}]}}";
}

std::string end_of(const std::string& day, const std::string& type) {
  return imported(branch("580", "580.65.06", day, type)).at(0).range_b;
}

TEST(DriverReleases, make_a_rule_of_each_branch_and_one_of_all) {
  const auto rules = imported(kReleases);
  ASSERT_EQ(rules.size(), 4u);
  const FleetRule& r = rules[1];
  EXPECT_EQ(r.id, "NVIDIA-R570");
  EXPECT_EQ(r.kind, RuleKind::date);
  EXPECT_EQ(r.severity, RuleSeverity::warn);
  EXPECT_EQ(r.a, "driver.loaded");
  EXPECT_EQ(r.range_a, "in 570");
  EXPECT_EQ(r.b, "today");
  EXPECT_EQ(r.range_b, "<= 2026-01-27") << "a year from its first release, which stands in the middle";
  EXPECT_EQ(r.says, "driver {driver.loaded} is of branch R570, which was kept up until 2026-01-27");
  EXPECT_EQ(r.todo, "move to a branch that is kept up; the newest of this one is 570.195.03");
  EXPECT_EQ(r.confidence, "computed: one year from its first release of 2025-01-27");
  EXPECT_EQ(r.source, "docs.nvidia.com/datacenter/tesla/drivers/releases.json");
  EXPECT_EQ(r.file, "releases.json");
  EXPECT_EQ(rules[0].range_b, "<= 2026-06-14") << "three years, as it is of long-term support";
  EXPECT_EQ(rules[0].confidence, "computed: three years from its first release of 2023-06-14");
  EXPECT_EQ(rules[3].id, "NVIDIA-listed");
  EXPECT_EQ(rules[3].b, "driver.loaded");
  EXPECT_EQ(rules[3].range_b, "in (535, 570, 610)");
  EXPECT_EQ(rules[3].confidence, "imported");
}

TEST(DriverReleases, give_rules_that_a_rule_file_can_hold) {
  const auto rules = imported(kReleases);
  const auto again = read_fleet_rules(render_fleet_rules(rules), "nvidia.csv");
  ASSERT_TRUE(again.has_value()) << again.error().what;
  ASSERT_EQ(again->size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ((*again)[i].id, rules[i].id);
    EXPECT_EQ((*again)[i].range_b, rules[i].range_b);
    EXPECT_EQ((*again)[i].says, rules[i].says);
    EXPECT_EQ((*again)[i].source, rules[i].source);
  }
}

TEST(DriverReleases, compute_the_end_of_a_branch_for_which_none_is_published) {
  EXPECT_EQ(end_of("2025-08-04", "lts branch"), "<= 2028-08-04");
  EXPECT_EQ(end_of("2025-08-04", "Long Term Support Branch"), "<= 2028-08-04");
  EXPECT_EQ(end_of("2025-08-04", "production branch"), "<= 2026-08-04");
  EXPECT_EQ(end_of("2025-08-04", "new feature branch"), "<= 2026-08-04");
  EXPECT_EQ(end_of("2025-08-04", "a type of the future"), "<= 2026-08-04") << "the shorter one, where nobody knows";
  EXPECT_EQ(end_of("2024-02-29", "production branch"), "<= 2025-02-28") << "which has no 29th";
  EXPECT_EQ(end_of("2024-02-29", "lts branch"), "<= 2027-02-28");
  EXPECT_EQ(end_of("2025-12-31", "production branch"), "<= 2026-12-31");
}

TEST(DriverReleases, may_name_branches_with_an_R) {
  for (const char* name : {"580", "R580", "r580"})
    EXPECT_EQ(imported(branch(name, "580.65.06", "2025-08-04"))[0].id, "NVIDIA-R580");
  EXPECT_EQ(refusal(R"({"580": {"driver_info": [{"release_version": "580.1", "release_date": "2025-08-04"}]},
                        "R580": {"driver_info": [{"release_version": "580.2", "release_date": "2025-08-05"}]}})"),
            "releases.json: branch 580 is there twice");
}

TEST(DriverReleases, with_days_that_are_none_are_refused) {
  for (const std::string day : {"", "soon", "2025-13-01", "2025-00-10", "2025-04-31", "2025-02-29", "2025-01-00", "2025-1-1",
                                "08/04/2025", "2025-08-04T00:00", "2025_08_04", "20250804", "-025-08-04", "2025-+8-04"}) {
    EXPECT_EQ(refusal(branch("580", "580.65.06", day)),
              "releases.json: 580.65.06 has \"" + day + "\" as release_date, not a day as 2026-11-19");
  }
  EXPECT_EQ(end_of("2000-02-29", "lts branch"), "<= 2003-02-28");
  EXPECT_EQ(refusal(branch("580", "580.65.06", "1900-02-29")).find("releases.json: 580.65.06 has"), 0u);
}

TEST(DriverReleases, with_versions_that_are_none_of_their_branch_are_refused) {
  for (const std::string version : {"", "latest", "580", "5801.1", "570.124.06", "580.65.06; rm -rf /", "580.65.06\\u001b[2J"})
    EXPECT_EQ(refusal(branch("580", version, "2025-08-04")).find("releases.json: a release of branch 580 has \""), 0u) << version;
  EXPECT_EQ(refusal(branch("580", "580.65\\u001b[2J", "2025-08-04")).find('\x1b'), std::string::npos);
}

TEST(DriverReleases, with_branches_that_are_none_are_refused) {
  for (const std::string name : {"", "R", "RR580", "580.65", "-580", "+580", "five", "0580", "99999999999999999999"})
    EXPECT_EQ(refusal(branch(name, "580.65.06", "2025-08-04")).find("releases.json: \""), 0u) << name;
}

TEST(DriverReleases, of_another_shape_say_what_is_missing) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "releases.json: must be an object with a member for each branch"},
      {"{}", "releases.json: must be an object with a member for each branch"},
      {"null", "releases.json: must be an object with a member for each branch"},
      {R"({"580": []})", "releases.json: branch 580 has no list driver_info"},
      {R"({"580": {"type": "lts branch"}})", "releases.json: branch 580 has no list driver_info"},
      {R"({"580": {"driver_info": {}}})", "releases.json: branch 580 has no list driver_info"},
      {R"({"580": {"driver_info": []}})", "releases.json: branch 580 has no list driver_info"},
      {R"({"580": {"driver_info": [7]}})", "releases.json: a release of branch 580 has \"\" as release_version"},
      {R"({"580": {"driver_info": [{"release_version": 580.65}]}})",
       "releases.json: a release of branch 580 has \"\" as release_version"},
      {R"({"580": {"driver_info": [{"release_version": "580.65.06"}]}})",
       "releases.json: 580.65.06 has \"\" as release_date, not a day as 2026-11-19"},
      {R"({"580": {"type": 3, "driver_info": [{"release_version": "580.65.06", "release_date": 20250804}]}})",
       "releases.json: 580.65.06 has \"\" as release_date, not a day as 2026-11-19"},
  };
  for (const auto& [json, why] : cases) EXPECT_EQ(refusal(json), why) << json;
}

TEST(DriverReleases, cut_off_anywhere_are_refused) {
  const std::string whole = kReleases;
  ASSERT_EQ(refusal(whole), "it was read");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string what = refusal(whole.substr(0, n));
    EXPECT_EQ(what.find("releases.json: "), 0u) << what << " of " << n << " bytes";
  }
}

}  // namespace
}  // namespace muster
