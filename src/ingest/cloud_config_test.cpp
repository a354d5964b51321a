#include "ingest/cloud_config.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::vector<std::string> said(std::string_view text) {
  const auto out = check_cloud_config(text, "u.yaml");
  EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().what);
  return out.value_or(std::vector<std::string>{"not read"});
}

TEST(CloudConfig, WhatItReadsPasses) {
  EXPECT_TRUE(said("#cloud-config\nruncmd:\n  - [ls]\nwrite_files:\n  - path: /a\n    content: b\n").empty());
  EXPECT_TRUE(said("#cloud-config\nautoinstall:\n  version: 1\n  user-data:\n    runcmd: [ls]\n").empty());
}

TEST(CloudConfig, AMisspeltKeyIsNamedWithItsLineAndTheRightOne) {
  EXPECT_EQ(said("#cloud-config\nruncmdx:\n  - [ls]\n"),
            std::vector<std::string>{"u.yaml:3: runcmdx is no key that is read; runcmd is"});
}

TEST(CloudConfig, KeysOfFilesAndOfTheInstallerAreCheckedToo) {
  EXPECT_EQ(said("#cloud-config\nwrite_files:\n  - path: /a\n    contents: b\n").size(), 1u);
  EXPECT_EQ(said("#cloud-config\nautoinstall:\n  version: 1\n  late-command: [a]\n  user-data: {runcmdx: [ls]}\n").size(), 2u);
}

TEST(CloudConfig, WithoutItsFirstLineAllOfItIsPassedOver) {
  EXPECT_EQ(said("runcmd:\n  - [ls]\n"),
            std::vector<std::string>{"u.yaml:1: the first line must be #cloud-config, or all of it is passed over"});
}

TEST(CloudConfig, WhatIsNoYamlIsAnError) { EXPECT_FALSE(check_cloud_config("#cloud-config\na: [b\n", "u.yaml").has_value()); }

}  // namespace
}  // namespace muster
