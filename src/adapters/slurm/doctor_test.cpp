#include "adapters/slurm/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::slurm {
namespace {

// A site that lacks nothing.
Facts whole() {
  Facts f;
  for (const char* name : {"squeue", "scontrol", "scancel", "sinfo", "sacct"}) f.tools.push_back({name, true, "22.05.8"});
  f.config = {{"SLURM_VERSION", "22.05.8"},
              {"ClusterName", "mine"},
              {"SlurmUser", "slurm(64030)"},
              {"SelectType", "select/cons_tres"},
              {"GresTypes", "gpu"},
              {"TopologyPlugin", "topology/tree"},
              {"JobSubmitPlugins", "lua"},
              {"RebootProgram", "/usr/sbin/reboot"},
              {"AccountingStorageType", "accounting_storage/slurmdbd"},
              {"PriorityWeightAge", "1000"},
              {"MinJobAge", "300 sec"},
              {"SchedulerParameters", "bf_continue,nohold_on_prolog_fail"},
              {"JobRequeue", "1"}};
  NodeRow n;
  n.name = "n1";
  n.gpus = 8;
  n.gpu_type = "h200";
  f.nodes = {n};
  PartitionRow p;
  p.name = "batch";
  f.partitions = {p};
  SwitchRow leaf;
  leaf.name = "leaf1";
  leaf.nodes = "n1";
  f.switches = {leaf};
  f.user = "root";
  f.root = true;
  f.submit_path = "/etc/slurm/job_submit.lua";
  f.submit_text = "muster.partitions = { [\"batch\"] = true }\nmuster.gate(job_desc, part_list, submit_uid)\n";
  f.heartbeat_writable = f.heartbeat_readable = f.release_seen = f.database = true;
  f.hands = {{Verb::test_node, "/sbin/t", true, true}, {Verb::reset_gpu, "/sbin/r", true, true}};
  return f;
}

Settings placing() {
  Settings s;
  s.heartbeat = "/run/muster/heartbeat";
  s.partitions = {{"batch", Mode::place}};
  s.hands = {{Verb::test_node, {"/sbin/t"}}, {Verb::reset_gpu, {"/sbin/r"}}};
  return s;
}

Diagnosis about(const Facts& f, const Settings& s, const std::string& thing) {
  for (const Diagnosis& d : judge(f, s)) {
    if (d.thing == thing) return d;
  }
  ADD_FAILURE() << "nothing is said of " << thing;
  return {};
}

std::size_t wrong(const Facts& f, const Settings& s) {
  const auto all = judge(f, s);
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const Diagnosis& d) { return d.judgement != Judgement::ok && d.judgement != Judgement::off; }));
}

TEST(Doctor, FindsNothingWhereNothingIsMissing) {
  EXPECT_EQ(wrong(whole(), placing()), 0U);
  EXPECT_EQ(about(whole(), placing(), "REST").found, "not configured");
  Facts f = whole();
  f.rest = RestFacts{.url = "unix:/run/rest", .problem = "nobody listens", .next = "start slurmrestd"};
  EXPECT_EQ(about(f, placing(), "REST").judgement, Judgement::missing);
  EXPECT_EQ(about(f, placing(), "REST").line, "start slurmrestd");
  f.rest->problem.clear();
  EXPECT_EQ(about(f, placing(), "REST").judgement, Judgement::ok);
}

TEST(Doctor, SaysOfEachMissingThingWhatItCostsAndTheLine) {
  struct Case {
    const char* thing;
    std::function<void(Facts&)> breaks;
    bool essential;
    const char* line;
  };
  const Case cases[] = {
      {"squeue", [](Facts& f) { f.tools[0].found = false; }, true, "apt-get install slurm-client"},
      {"sacct", [](Facts& f) { f.tools[4].found = false; }, false, "apt-get install slurm-client"},
      {"slurmctld", [](Facts& f) { f.silent = "Slurm does not answer"; }, true, "conf: /etc/slurm/slurm.conf"},
      {"select", [](Facts& f) { f.config["SelectType"] = "select/linear"; }, true, "slurm.conf: SelectType=select/cons_tres"},
      {"gpus", [](Facts& f) { f.nodes[0].gpus = 0; }, true, "slurm.conf: GresTypes=gpu"},
      {"gpus", [](Facts& f) { f.config["GresTypes"] = "(null)"; }, true, "slurm.conf: GresTypes=gpu"},
      {"gate", [](Facts& f) { f.config["JobSubmitPlugins"] = "(null)"; }, true, "slurm.conf: JobSubmitPlugins=lua"},
      {"gate", [](Facts& f) { f.submit_text = "-- muster.gate(job_desc)\n"; }, true,
       "muster.gate(job_desc, part_list, submit_uid)"},
      {"gate", [](Facts& f) { f.submit_text = "muster.gate(a)\n"; }, true, "muster.partitions = { [\"batch\"] = true }"},
      {"heartbeat", [](Facts& f) { f.heartbeat_writable = false; }, true, "install -d -o root -m 755 /run/muster"},
      {"heartbeat", [](Facts& f) { f.heartbeat_readable = false; }, true, "chmod a+rx /run/muster"},
      {"heartbeat", [](Facts& f) { f.heartbeat_wrong = "/tmp is there and is no heartbeat"; }, true, "name another file"},
      {"release timer", [](Facts& f) { f.release_seen = false; }, true, "systemctl enable --now muster-release.timer"},
      {"reboot", [](Facts& f) { f.config["RebootProgram"] = "(null)"; }, false, "slurm.conf: RebootProgram=/usr/sbin/reboot"},
      {"MinJobAge", [](Facts& f) { f.config["MinJobAge"] = "2 sec"; }, false, "slurm.conf: MinJobAge=300"},
      {"requeue", [](Facts& f) { f.config["JobRequeue"] = "0"; }, false, "slurm.conf: JobRequeue=1"},
      {"hand test_node", [](Facts& f) { f.hands[0].runs = false; }, true, "chmod a+x /sbin/t"},
  };
  for (const Case& c : cases) {
    Facts f = whole();
    c.breaks(f);
    const Diagnosis d = about(f, placing(), c.thing);
    EXPECT_EQ(d.judgement, Judgement::missing) << c.thing;
    EXPECT_EQ(d.essential, c.essential) << c.thing;
    EXPECT_NE(d.line.find(c.line), std::string::npos) << c.thing << ": " << d.line;
    EXPECT_FALSE(d.cost.empty()) << c.thing;
    if (std::string_view(c.thing) != "slurmctld") {
      EXPECT_EQ(wrong(f, placing()), 1U) << c.thing;
    }
  }
}

TEST(Doctor, NamesTheTestThatARepairedNodePasses) {
  Settings s = placing();
  s.hands.erase(Verb::test_node);
  const Diagnosis d = about(whole(), s, "hand test_node");
  EXPECT_EQ(d.judgement, Judgement::note);
  EXPECT_NE(d.line.find(R"(test_node: [/usr/bin/ssh, "{node}", muster, accept, --profile, quick])"), std::string::npos) << d.line;
}

TEST(Doctor, KnowsWhoMayChangeThings) {
  Facts f = whole();
  f.root = false;
  f.user = "slurm";
  EXPECT_EQ(about(f, placing(), "rights").judgement, Judgement::ok);
  f.user = "eve";
  f.admin_level = "None";
  EXPECT_EQ(about(f, placing(), "rights").line, "sacctmgr -i modify user eve set AdminLevel=Operator");
  f.admin_level = "Operator";
  EXPECT_EQ(about(f, placing(), "rights").judgement, Judgement::ok);
  f.admin_level.clear();
  f.config["AccountingStorageType"] = "accounting_storage/none";
  EXPECT_EQ(about(f, placing(), "rights").line, "run muster as slurm");
}

TEST(Doctor, NamesThePartitionThatWasMeant) {
  Settings s = placing();
  s.partitions = {{"bach", Mode::place}};
  const Diagnosis d = about(whole(), s, "partition bach");
  EXPECT_TRUE(d.essential);
  EXPECT_EQ(d.line, "in the Slurm file: batch: place");
}

TEST(Doctor, AsksForNoGateWhereNothingIsPlaced) {
  Settings s = placing();
  s.partitions = {{"batch", Mode::advise}};
  Facts f = whole();
  f.config["JobSubmitPlugins"] = "(null)";
  f.release_seen = false;
  EXPECT_EQ(wrong(f, s), 0U);
  EXPECT_EQ(about(f, s, "placing").judgement, Judgement::off);
}

TEST(Doctor, DoesNotPretendToKnowWhatIsOnAnotherMachine) {
  Facts f = whole();
  f.slurmctld_here = false;
  f.release_seen = false;
  f.submit_text.reset();
  for (const char* thing : {"release timer", "heartbeat", "gate"}) {
    const Diagnosis d = about(f, placing(), thing);
    EXPECT_EQ(d.judgement, Judgement::unknown) << thing;
    EXPECT_FALSE(d.essential) << thing;
  }
}

TEST(Doctor, NotesToolsOfAnotherRelease) {
  Facts f = whole();
  f.tools[1].version = "24.11.5";
  const Diagnosis d = about(f, placing(), "scontrol");
  EXPECT_EQ(d.judgement, Judgement::note);
  EXPECT_EQ(d.line, "install the tools of Slurm 22.05");
}

TEST(Doctor, SaysThatNothingAgesWithoutADatabase) {
  Facts f = whole();
  f.config["AccountingStorageType"] = "accounting_storage/none";
  EXPECT_EQ(about(f, placing(), "priority by age").judgement, Judgement::note);
  EXPECT_EQ(about(f, placing(), "accounting").judgement, Judgement::note);
}

}  // namespace
}  // namespace muster::slurm
