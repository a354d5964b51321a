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

TEST(CloudConfig, AValueOfAnotherTypeIsNamedWithItsLine) {
  EXPECT_EQ(said("#cloud-config\npackages: 5\n"),
            std::vector<std::string>{"u.yaml:2: packages must be a list, is a whole number"});
  EXPECT_EQ(said("#cloud-config\nntp:\n  enabled: true\nruncmd: foo\n"),
            std::vector<std::string>{"u.yaml:4: runcmd must be a list, is text"});
  EXPECT_EQ(said("#cloud-config\nhostname:\n"), std::vector<std::string>{"u.yaml:2: hostname must be text, is nothing"});
  EXPECT_EQ(said("#cloud-config\npower_state: now\n"),
            std::vector<std::string>{"u.yaml:2: power_state must be an object, is text"});
}

TEST(CloudConfig, WhatAListHoldsIsLookedAt) {
  EXPECT_EQ(said("#cloud-config\nruncmd:\n  - ls\n  - [id]\n  - {a: b}\n"),
            std::vector<std::string>{"u.yaml:5: each of runcmd must be text, a list or empty, and one is an object"});
  EXPECT_EQ(said("#cloud-config\nmounts:\n  - /dev/sdb\n"),
            std::vector<std::string>{"u.yaml:3: each of mounts must be a list, and one is text"});
}

TEST(CloudConfig, AnEntryWithoutWhatItNeedsIsTold) {
  EXPECT_EQ(said("#cloud-config\nwrite_files:\n  - path: /a\n  - content: b\n"),
            std::vector<std::string>{"u.yaml:4: write_files without path is refused"});
  EXPECT_EQ(said("#cloud-config\nautoinstall:\n  locale: C\n"),
            std::vector<std::string>{"u.yaml:3: autoinstall without version is refused"});
}

TEST(CloudConfig, PermissionsWithoutQuotesAreANumber) {
  EXPECT_EQ(said("#cloud-config\nwrite_files:\n  - path: /a\n    permissions: 0644\n"),
            std::vector<std::string>{"u.yaml:4: write_files.permissions must be text, is a whole number: write it in quotes"});
  EXPECT_TRUE(said("#cloud-config\nwrite_files:\n  - path: /a\n    permissions: \"0644\"\n").empty());
}

TEST(CloudConfig, UsersAreNamesOrWhatTheyAre) {
  EXPECT_TRUE(said("#cloud-config\nusers:\n  - default\n  - name: ann\n    lock_passwd: yes\n    sudo: [a]\n").empty());
  EXPECT_TRUE(said("#cloud-config\nusers: ann\n").empty()) << "names with commas between, by cloud-init's schema";
  EXPECT_TRUE(said("#cloud-config\nusers: {ann: true}\n").empty()) << "in an older form";
  EXPECT_EQ(said("#cloud-config\nusers:\n  - name: ann\n    ssh_authorised_keys: [a]\n"),
            std::vector<std::string>{"u.yaml:4: users.ssh_authorised_keys is no key that is read; ssh_authorized_keys is"});
}

TEST(CloudConfig, YesAndNoAreTrueAndFalseAsCloudInitReadsThem) {
  EXPECT_TRUE(said("#cloud-config\npackage_upgrade: no\nntp: {enabled: On}\n").empty());
  EXPECT_EQ(said("#cloud-config\npackage_upgrade: never\n"),
            std::vector<std::string>{"u.yaml:2: package_upgrade must be true or false, is text"});
}

TEST(CloudConfig, WhatTheUserDataInTheAnswersHoldsIsOfTheSameTypes) {
  EXPECT_EQ(said("#cloud-config\nautoinstall:\n  version: 1\n  ssh: {allow-pw: 5}\n  user-data:\n    packages: 5\n").size(), 2u);
}

TEST(CloudConfig, WhatIsNoYamlIsAnError) { EXPECT_FALSE(check_cloud_config("#cloud-config\na: [b\n", "u.yaml").has_value()); }

}  // namespace
}  // namespace muster
