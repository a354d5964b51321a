#include "report/slurm_files.h"

#include <gtest/gtest.h>

#include "ingest/cluster_file.h"
#include "ingest/slurm_text.h"

namespace muster::report {
namespace {

Site site_of(const std::string& yaml) {
  auto site = parse_cluster(yaml, "c.yaml");
  EXPECT_TRUE(site) << site.error().what;
  return *site;
}

std::string text_of(const std::vector<TextFile>& files, const std::string& name) {
  for (const TextFile& f : files) {
    if (f.name == name) return f.text;
  }
  ADD_FAILURE() << "no file " << name;
  return {};
}

bool has(const std::string& text, const std::string& line) { return ("\n" + text).find("\n" + line + "\n") != std::string::npos; }

const char* const kPlain = "{name: mine, gpu: H200, nodes: 64, nodes_per_leaf: 16, leaves_per_pod: 2, name_format: \"n###\"}";

TEST(SlurmFiles, NameNodesAndPartitionOnceFolded) {
  const auto files = slurm_files(site_of(kPlain), {.partition = "train", .hardware = "CPUs=96 RealMemory=1000000"});
  const std::string conf = text_of(files, "muster.conf");
  EXPECT_TRUE(has(conf, "NodeName=n[001-064] CPUs=96 RealMemory=1000000 Gres=gpu:h200:8 Feature=h200 State=UNKNOWN")) << conf;
  EXPECT_TRUE(has(conf, "PartitionName=train Nodes=n[001-064] Default=YES MaxTime=INFINITE State=UP")) << conf;
  EXPECT_TRUE(has(conf, "SelectTypeParameters=CR_Core_Memory")) << conf;
  EXPECT_TRUE(has(text_of(files, "gres.conf"), "NodeName=n[001-064] Name=gpu Type=h200 File=/dev/nvidia[0-7]"));
}

TEST(SlurmFiles, DoNotCountMemoryThatIsNotKnown) {
  const std::string conf = text_of(slurm_files(site_of(kPlain), {}), "muster.conf");
  EXPECT_TRUE(has(conf, "SelectTypeParameters=CR_Core")) << conf;
  EXPECT_TRUE(has(conf, "NodeName=n[001-064] Gres=gpu:h200:8 Feature=h200 State=UNKNOWN")) << conf;
  EXPECT_NE(conf.find("--hardware"), std::string::npos);
}

TEST(SlurmFiles, HaveALineForEachModelOfGpu) {
  const Site site = site_of(
      "{gpu: H100, groups: [{nodes: 3, nodes_per_leaf: 4}, {nodes: 1, name_format: \"amd#\", nodes_per_leaf: 4, node_gpu: "
      "MI300X}]}");
  const auto files = slurm_files(site, {});
  EXPECT_TRUE(has(text_of(files, "gres.conf"), "NodeName=node[0001-0003] Name=gpu Type=h100 File=/dev/nvidia[0-7]"));
  EXPECT_TRUE(has(text_of(files, "gres.conf"), "NodeName=amd1 Name=gpu Type=mi300x File=/dev/dri/renderD[128-135]"));
  EXPECT_TRUE(has(text_of(files, "muster.conf"), "NodeName=amd1 Gres=gpu:mi300x:8 Feature=mi300x State=UNKNOWN"));
}

TEST(SlurmFiles, ReadBackAsTheSameTree) {
  const auto rows = slurm::parse_topology(text_of(slurm_files(site_of(kPlain), {}), "topology.conf"));
  ASSERT_TRUE(rows) << rows.error().what;
  std::vector<std::string> said;
  for (const slurm::SwitchRow& r : *rows) said.push_back(r.name + " " + r.nodes + r.switches);
  EXPECT_EQ(said, (std::vector<std::string>{"leaf1 n[001-016]", "leaf2 n[017-032]", "leaf3 n[033-048]", "leaf4 n[049-064]",
                                            "spine1 leaf[1-2]", "spine2 leaf[3-4]", "core spine[1-2]"}));
}

TEST(SlurmFiles, HaveNoSwitchAboveASingleLeaf) {
  const std::string text = text_of(slurm_files(site_of("{nodes: 4, nodes_per_leaf: 8}"), {}), "topology.conf");
  EXPECT_TRUE(has(text, "SwitchName=leaf1 Nodes=node[0001-0004]")) << text;
  EXPECT_EQ(text.find("Switches="), std::string::npos) << text;
}

TEST(SlurmFiles, TellNewSlurmOfTheTreeAndOfNvlinkRacks) {
  const Site site =
      site_of("{nodes: 36, gpus_per_node: 4, nodes_per_rack: 18, nodes_per_leaf: 18, nvlink_domain: rack, gpu: GB200}");
  const std::string yaml = text_of(slurm_files(site, {}), "topology.yaml");
  EXPECT_NE(yaml.find("- topology: fabric\n  cluster_default: true\n  tree:\n    switches:\n      - switch: leaf1\n"
                      "        nodes: node[0001-0018]\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("      - switch: spine\n        children: leaf[1-2]\n"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  block:\n    block_sizes:\n      - 18\n    blocks:\n      - block: nvlink1\n"
                      "        nodes: node[0001-0018]\n"),
            std::string::npos)
      << yaml;
  EXPECT_EQ(text_of(slurm_files(site_of(kPlain), {}), "topology.yaml").find("block"), std::string::npos);
}

TEST(SlurmFiles, CarryTheGateAndItsTimerWithTheSitesPaths) {
  const auto files = slurm_files(site_of(kPlain), {.partition = "train", .folder = "/opt/etc", .heartbeat = "/run/m/beat"});
  const std::string lua = text_of(files, "job_submit.lua.example");
  EXPECT_TRUE(has(lua, "    local muster = dofile(\"/opt/etc/muster.lua\")")) << lua;
  EXPECT_TRUE(has(lua, "    muster.heartbeat = \"/run/m/beat\"")) << lua;
  EXPECT_TRUE(has(lua, "    muster.partitions = { [\"train\"] = true }")) << lua;
  EXPECT_TRUE(has(text_of(files, "muster-release.service"), "ExecStart=/bin/sh /opt/etc/muster-release.sh /run/m/beat"));
  EXPECT_NE(text_of(files, "muster-hook.sh").find("SLURM_SCRIPT_CONTEXT"), std::string::npos);
  EXPECT_NE(text_of(files, "muster-release.timer").find("OnUnitInactiveSec="), std::string::npos);
  for (const TextFile& f : files) {
    EXPECT_EQ(f.text.find("@folder@"), std::string::npos) << f.name;
    EXPECT_EQ(f.program, f.name.ends_with(".sh")) << f.name;
  }
}

TEST(SlurmHardware, IsWhatSlurmdPrintsWithoutWhatDiffers) {
  const auto said = slurm_hardware(
      "NodeName=n1 CPUs=96 Boards=1 SocketsPerBoard=2 CoresPerSocket=48 ThreadsPerCore=1 "
      "RealMemory=1000000\nUpTime=1-02:03:04\n");
  ASSERT_TRUE(said) << said.error().what;
  EXPECT_EQ(*said, "CPUs=96 Boards=1 SocketsPerBoard=2 CoresPerSocket=48 ThreadsPerCore=1 RealMemory=1000000");
  EXPECT_FALSE(slurm_hardware("CPUs=many"));
  EXPECT_FALSE(slurm_hardware("CPUs=96 State=DOWN"));
  EXPECT_FALSE(slurm_hardware("UpTime=1-02:03:04"));
}

}  // namespace
}  // namespace muster::report
