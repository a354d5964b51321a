#include "ingest/remedies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/fact_book.h"

namespace muster {
namespace {

TEST(Remedies, EachIsOfAFactThatHasAMeaningAndStandsThereOnce) {
  const auto& rows = remedy_book().rows;
  ASSERT_GT(rows.size(), 80u);
  for (const Remedy& r : rows) {
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [&](const Remedy& o) { return o.key == r.key; }), 1) << r.key;
    if (!r.key.ends_with('*')) EXPECT_NE(fact_book().find(r.key), nullptr) << r.key;
    if (r.by == RemedyBy::follows) EXPECT_NE(fact_book().find(r.target), nullptr) << r.key;
    if (r.takes == RemedyTakes::restart && r.by == RemedyBy::package) EXPECT_FALSE(r.restarts.empty()) << r.key;
    if (r.by != RemedyBy::link_mtu) EXPECT_FALSE(r.target.empty()) << r.key;
  }
}

TEST(Remedies, AKeyOfItsOwnGoesBeforeAStar) {
  EXPECT_EQ(remedy_book().find("cmdline.iommu_passthrough")->target, "iommu.passthrough");
  EXPECT_EQ(remedy_book().find("cmdline.pci")->target, "*");
  EXPECT_EQ(remedy_book().find("sysctl.vm.swappiness")->by, RemedyBy::sysctl);
  EXPECT_EQ(remedy_book().find("sites.own"), nullptr);
}

}  // namespace
}  // namespace muster
