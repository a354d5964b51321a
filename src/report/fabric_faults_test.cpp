#include "report/fabric_faults.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

FabricVerdict verdict() {
  FabricVerdict v;
  v.compared.cables_wanted = 128;
  v.compared.cables_as_wanted = 126;
  v.compared.devices_wanted = v.compared.devices_found = 76;
  v.compared.faults = {
      {FabricFaultKind::missing_cable, {"leaf-002[9]", "spine-000[5]"}, "both ports are empty", 0.95, "look at it"},
      {FabricFaultKind::degraded_link, {"leaf-002[3]", "gpu\x1b[31m[1]"}, "it runs at 1xHDR", 0.99, "clean it"}};
  return v;
}

TEST(FabricFaults, ProgramsGetWhatTheyWerePromised) {
  const std::string json = fabric_verdict_json(verdict());
  EXPECT_EQ(json.substr(0, json.find(",\"detail\"")),
            "{\"complete\":true,\"inferred\":false,\"faults\":[{\"kind\":\"missing_cable\",\"ends\":[\"leaf-002[9]\",\"spine-000["
            "5]\"]");
  EXPECT_EQ(json.find('\x1b'), std::string::npos);
}

TEST(FabricFaults, PeopleGetOnePlaceAfterTheOther) {
  const std::string text = render_fabric_verdict(verdict(), false);
  EXPECT_EQ(text.find("leaf-002\n"), 0U) << text;
  EXPECT_EQ(text.find("leaf-002\n", 1), std::string::npos) << "said once for both faults";
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "names are untrusted";
  EXPECT_NE(text.find("2 faults: 126 of 128 cables are as designed, 76 of 76 devices answer\n"), std::string::npos) << text;
}

TEST(FabricFaults, APartThatWasNotReachedIsInTheSummary) {
  FabricVerdict v = verdict();
  v.compared.complete = false;
  EXPECT_NE(fabric_summary(v).find("INCOMPLETE"), std::string::npos);
}

}  // namespace
}  // namespace muster::report
