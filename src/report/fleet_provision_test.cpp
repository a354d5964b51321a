#include <fmt/core.h>
#include <gtest/gtest.h>

#include "fleet/held_back.h"
#include "ingest/cloud_config.h"
#include "ingest/cluster_file.h"
#include "ingest/declared_file.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "ingest/remedies.h"
#include "ingest/yaml.h"
#include "report/fleet_files.h"

namespace muster::report {
namespace {

constexpr const char* kKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGUACIIJyVLk8LgCSLc3afomEIa7l/p0FDRlGsU6sv82 ann@desk";
constexpr const char* kDriver =
    "declare:\n  - nodes: n[1-2]\n    facts: {driver.on_disk: \"580.95.05\", sysctl.vm.swappiness: 1}\n";

struct Folder {
  Site site;
  std::vector<TextFile> files;

  std::string operator[](std::string_view name) const {
    for (const TextFile& f : files) {
      if (f.name == name) return f.text;
    }
    ADD_FAILURE() << name << " is not written";
    return "";
  }
  bool has(std::string_view name) const {
    return std::any_of(files.begin(), files.end(), [&](const TextFile& f) { return f.name == name; });
  }
};

Folder folder(const std::string& nodes, const std::string& declared, const std::vector<std::string>& keys = {}) {
  const auto site = parse_cluster("name: c\ngpu: H200\nnodes:\n" + nodes, "c.yaml");
  EXPECT_TRUE(site.has_value()) << (site ? "" : site.error().what);
  const auto wanted = read_declared(declared, "golden.yaml");
  EXPECT_TRUE(wanted.has_value()) << (wanted ? "" : wanted.error().what);
  const fleet::Repair repair = fleet::plan_declared(*site, *wanted, fact_book(), remedy_book(), fleet_rules(), "2025-11-19");
  return {*site, provision_files(*site, repair, "golden.yaml", keys)};
}

Value yaml(const std::string& text) {
  auto value = parse_yaml(text, "f");
  EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().what) << "\n" << text;
  return value ? *value : Value();
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(FleetProvision, TheUserDataOfAChangeIsWhole) {
  const Folder f = folder("  - name: n[1-3]\n", kDriver, {kKey});
  const Value base = yaml(f["cloud-init/base.user-data.yaml"]), change = yaml(f["cloud-init/change_01.user-data.yaml"]);
  ASSERT_NE(base.object(), nullptr);
  ASSERT_NE(change.object(), nullptr);
  ASSERT_GE(base.object()->size(), 5u);
  for (const Value::Member& m : *base.object()) EXPECT_NE(change.find(m.key), nullptr) << m.key << " is missing";
  EXPECT_EQ(*change.find("ssh_authorized_keys")->array()->at(0).string(), kKey);
  EXPECT_NE(change.find("runcmd"), nullptr);
  EXPECT_EQ(base.find("runcmd"), nullptr);
  const Value answers = yaml(f["autoinstall/change_01.autoinstall.yaml"]);
  EXPECT_EQ(answers.find("autoinstall")->find("user-data")->object()->size(), change.object()->size());
}

TEST(FleetProvision, WhatIsPinnedIsHeldAgainstUpgradesByItself) {
  const Folder f = folder("  - name: n[1-3]\n", kDriver);
  const std::string change = f["cloud-init/change_01.user-data.yaml"];
  EXPECT_TRUE(holds(change, "  - [apt-mark, hold, \"nvidia-open\"]\n"));
  EXPECT_TRUE(holds(change, "Unattended-Upgrade::Package-Blacklist {\n        \"(lib)?nvidia-\";\n"));
  EXPECT_TRUE(holds(change, "Driver/library version mismatch")) << "and the file says why";
  const Value read = yaml(change);
  const Value::Array& commands = *read.find("runcmd")->array();
  EXPECT_EQ(*commands.at(1).array()->at(0).string(), "sh");
  EXPECT_EQ(*commands.at(2).array()->at(0).string(), "apt-mark") << "after it is installed";
  EXPECT_FALSE(holds(f["cloud-init/base.user-data.yaml"], "apt-mark")) << "where nothing is pinned, nothing is held";
  const Folder one = folder("  - name: n[1-3]\n", "declare:\n  - facts: {containerd.version: 1.7.27-1}\n");
  EXPECT_TRUE(holds(one["cloud-init/change_01.user-data.yaml"], "{\n        \"containerd[.]io$\";\n      };")) << "it alone";
}

TEST(FleetProvision, WhereACommandFailsNothingIsHeldAndNothingRebooted) {
  for (const char* os : {"ubuntu", "rocky"}) {
    const Folder f =
        folder("  - name: n1\n", fmt::format("declare:\n  - facts: {{os.id: {}, driver.on_disk: \"580.95.05-1\"}}\n", os));
    const Value read = yaml(f["cloud-init/change_01.user-data.yaml"]);
    const Value::Array& commands = *read.find("runcmd")->array();
    EXPECT_EQ(*commands.front().array()->at(1).string(), "-e");
    EXPECT_EQ(*commands.back().array()->at(1).string(), "/run/muster-user-data-done");
    EXPECT_EQ(*read.find("power_state")->find("condition")->string(), "test -e /run/muster-user-data-done");
    EXPECT_EQ(read.find("packages"), nullptr) << "what fails there stops nothing";
  }
}

TEST(FleetProvision, WhatIsDeclaredIsHeldAgainstTheRulesAndTheLockstepOfTheDriver) {
  const Folder apart =
      folder("  - name: n1\n", "declare:\n  - facts: {driver.on_disk: \"535.129.03\", fabricmanager.version: \"580.159.04\"}\n");
  EXPECT_FALSE(apart.has("cloud-init/change_01.user-data.yaml"));
  EXPECT_TRUE(holds(apart["README.md"], "move as one"));
  for (const char* key : {"driver.on_disk", "driver.loaded"}) {
    const Folder cuda =
        folder("  - name: n1\n", fmt::format("declare:\n  - facts: {{{}: \"535.129.03\", cuda.toolkit: \"13.0\"}}\n", key));
    EXPECT_FALSE(cuda.has("cloud-init/change_01.user-data.yaml")) << key;
    EXPECT_TRUE(holds(cuda["README.md"], "it would break C001")) << cuda["README.md"];
  }
}

TEST(FleetProvision, TheReadmeNamesWhatARepositoryOfTheImageMustOffer) {
  EXPECT_TRUE(holds(folder("  - name: n[1-3]\n", kDriver)["README.md"], "## Repositories that the image has to have\n"));
  EXPECT_FALSE(holds(folder("  - name: n1\n", "declare:\n  - facts: {sysctl.vm.swappiness: 1}\n")["README.md"], "Repositories"));
}

TEST(FleetProvision, OnKinOfRedHatNothingIsHeldAndTheFileSaysSo) {
  const Folder f = folder("  - name: n[1-3]\n", "declare:\n  - facts: {os.id: rocky, driver.on_disk: \"580.95.05\"}\n");
  const std::string change = f["cloud-init/change_01.user-data.yaml"];
  EXPECT_TRUE(holds(change, "# Nothing holds these versions: where dnf-automatic runs"));
  EXPECT_FALSE(holds(change, "apt"));
  EXPECT_FALSE(f.has("autoinstall/change_01.autoinstall.yaml")) << "Ubuntu's installer does not install Rocky";
}

TEST(FleetProvision, EachNodeIsToldItsUserData) {
  const Folder f = folder("  - name: n[1-3]\n", kDriver);
  const std::string maas = f["maas/machines.csv"];
  EXPECT_TRUE(maas.starts_with("hostname,user_data,"));
  EXPECT_TRUE(holds(maas, "\nn2,cloud-init/change_01.user-data.yaml,"));
  EXPECT_TRUE(holds(maas, "\nn3,cloud-init/base.user-data.yaml,"));
  const Value conf = yaml(f["warewulf/nodes.conf"]);
  for (const auto& [node, file] : {std::pair("n1", "change_01.user-data.yaml"), std::pair("n3", "base.user-data.yaml")}) {
    const Value::Array& profiles = *conf.find("nodes")->find(node)->find("profiles")->array();
    const Value* profile = conf.find("nodeprofiles")->find(*profiles.back().string());
    ASSERT_NE(profile, nullptr) << node;
    EXPECT_EQ(*profile->find("tags")->find("user_data")->string(), file);
  }
  EXPECT_TRUE(holds(f["README.md"], "| cloud-init/change\\_01.user-data.yaml | n\\[1-2\\] |") ||
              holds(f["README.md"], "| cloud-init/change_01.user-data.yaml | n"));
}

TEST(FleetProvision, WithoutAKeyTheReadmeSaysThatNobodyCanLogIn) {
  EXPECT_TRUE(holds(folder("  - name: n[1-3]\n", kDriver)["README.md"], "Nobody: no user-data has a key."));
  const std::string with = folder("  - name: n[1-3]\n", kDriver, {kKey})["README.md"];
  EXPECT_FALSE(holds(with, "Nobody"));
  EXPECT_TRUE(holds(with, kKey));
}

TEST(FleetProvision, WhatIsByHandIsInTheReadmeOfTheFolder) {
  const std::string readme = folder("  - name: n[1-3]\n", "declare:\n  - facts: {kernel.config_hash: abc}\n")["README.md"];
  EXPECT_TRUE(holds(readme, "## To be done by hand\n- by hand: ")) << readme;
}

TEST(FleetProvision, ANameThatAnsibleHasAnotherUseForIsNotInItsInventoryAndSaid) {
  const Folder f =
      folder("  - name: n[1-2]\n  - name: all\n  - name: \"no\"\n  - name: off\n  - name: localhost\n  - name: a_b\n", kDriver);
  const std::string text = f["ansible/nodes.yml"];
  const Value read = yaml(text);
  std::vector<std::string> hosts;
  for (const Value::Member& group : *read.find("all")->find("children")->object()) {
    for (const Value::Member& host : *group.value.find("hosts")->object()) hosts.push_back(host.key);
  }
  std::sort(hosts.begin(), hosts.end());
  EXPECT_EQ(hosts, (std::vector<std::string>{"a_b", "a_b", "n1", "n1", "n2", "n2"})) << "by GPU and by rack";
  EXPECT_TRUE(holds(text, "# Without all,localhost,no,off: Ansible has another use for that name.\n")) << text.substr(0, 300);
  const auto names = provision_names(f.site);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(holds(names[0], "localhost"));
  EXPECT_TRUE(holds(names[1], "MAAS takes no such hostname") && holds(names[1], "a_b"));
  EXPECT_TRUE(holds(f["README.md"], "Ansible has another use for that name"));
  EXPECT_TRUE(holds(f["maas/machines.csv"], "\nlocalhost,cloud-init/base.user-data.yaml,")) << "it gets no less than the others";
}

TEST(FleetProvision, EveryKeyAndTypeOfItsUserDataIsRead) {
  const Folder f = folder("  - name: n[1-3]\n", kDriver, {kKey});
  std::size_t checked = 0;
  for (const TextFile& file : f.files) {
    if (!file.name.starts_with("cloud-init/") && !file.name.starts_with("autoinstall/")) continue;
    const auto says = check_cloud_config(file.text, file.name);
    ASSERT_TRUE(says.has_value()) << says.error().what;
    EXPECT_TRUE(says->empty()) << says->front();
    ++checked;
  }
  EXPECT_EQ(checked, 4u);
}

}  // namespace
}  // namespace muster::report
