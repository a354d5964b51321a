// Who is alike in which layer, and whom a boot would change.
#include "fleet/fingerprint.h"

#include <gtest/gtest.h>

namespace muster::fleet {
namespace {

FactBook book() {
  FactBook b;
  const auto add = [&](const char* key, FactLayer layer, FactKind kind = FactKind::text) {
    b.at[key] = b.rows.size();
    b.rows.push_back({key, "", layer, kind, "", ""});
  };
  add("kernel.release", FactLayer::kernel, FactKind::version);
  add("kernel.installed", FactLayer::kernel, FactKind::version);
  add("driver.loaded", FactLayer::driver, FactKind::version);
  add("driver.on_disk", FactLayer::user_space, FactKind::version);
  add("node.serial", FactLayer::identity, FactKind::identity);
  add("gpu.model", FactLayer::hardware);
  return b;
}

TEST(Fingerprints, DoNotDependOnTheOrderOfNodesFactsOrValues) {
  FactTable a, b;
  a.put(a.node("x"), "", "kernel.release", "1");
  a.put(a.node("y"), "", "kernel.release", "2");
  a.put(a.node("x"), "", "kernel.installed", "1");
  a.put(a.node("y"), "", "kernel.installed", "1");
  b.put(b.node("y"), "", "kernel.installed", "1");
  b.put(b.node("y"), "", "kernel.release", "2");
  b.put(b.node("x"), "", "kernel.installed", "1");
  b.put(b.node("x"), "", "kernel.release", "1");
  const auto pa = fingerprints_of(a, book()), pb = fingerprints_of(b, book());
  ASSERT_EQ(pa.size(), 1U);
  ASSERT_EQ(pa[0].groups.size(), 2U);
  EXPECT_EQ(pa[0].groups[0].print, pb[0].groups[1].print);
  EXPECT_EQ(pa[0].groups[1].print, pb[0].groups[0].print);
}

TEST(Fingerprints, SerialsMakeNobodyDifferentAndAbsentIsAValue) {
  FactTable t;
  for (const char* n : {"a", "b", "c"}) {
    t.put(t.node(n), "", "node.serial", n);
    t.put(t.node(n), "", "driver.loaded", "580");
  }
  EXPECT_EQ(fingerprints_of(t, book()).at(0).groups.size(), 1U);
  t.put_absent(t.node("c"), "", "driver.loaded");
  EXPECT_EQ(fingerprints_of(t, book()).at(0).groups.size(), 2U);
}

TEST(Boot, AnImagesNewestKernelAndDriverAreWhatWillRun) {
  FactTable now, image;
  const std::size_t n = now.node("n"), i = image.node("i");
  now.put(n, "", "kernel.release", "6.8.0-45");
  now.put(n, "", "driver.loaded", "580.95.05");
  now.put(n, "", "node.serial", "A");
  now.put(n, "gpu0", "gpu.model", "H200");
  now.put(n, "", "site.key", "x");
  image.put(i, "", "kernel.installed", "6.8.0-45");
  image.put(i, "", "driver.on_disk", "580.159.04");
  image.put(i, "", "node.serial", "B");
  const BootChanges c = boot_changes(now, n, image, i, book());
  ASSERT_EQ(c.changes.size(), 1U);
  EXPECT_EQ(c.changes[0].fact, "driver.loaded");
  EXPECT_EQ(c.changes[0].then, "580.159.04");
  EXPECT_EQ(c.same, 1U);
  EXPECT_EQ(c.unknown, 1U) << "the image says nothing of the site's own key";
}

}  // namespace
}  // namespace muster::fleet
