// Readings, pages, verdicts, letters and probes.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "adapters/agent/exposition.h"
#include "adapters/agent/host_probes.h"
#include "adapters/agent/kernel_source.h"
#include "adapters/agent/probes.h"
#include "adapters/agent/sender.h"
#include "adapters/agent/zero_pages.h"
#include "ingest/json.h"
#include "ingest/prom_text.h"

namespace muster::agent {
namespace {

constexpr std::string_view kAnswer =
    "node driver_version 580.159.04\n"
    "gpu 0 uuid GPU-1\ngpu 0 pci 00000000:1B:00.0\ngpu 0 minor 0\ngpu 0 model NVIDIA H200\n"
    "gpu 0 DCGM_FI_DEV_GPU_TEMP 41\ngpu 0 DCGM_FI_DEV_PCIE_LINK_WIDTH 16\ngpu 0 DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH 16\n"
    "ib mlx5_0 1 state_id 4\nib mlx5_0 1 link_downed_total 3\n"
    "pci 0000:1b:00.0 current_link_width 16\nxid 0 31\n";

Picture picture(std::string_view more = "") {
  Picture p;
  p.readings = parse_readings(std::string(kAnswer) + std::string(more));
  return p;
}

TEST(AgentReadings, BrokenLinesAreCountedAndLeftOut) {
  const Readings r =
      parse_readings("gpu x uuid 1\ngpu 0\nnonsense\nib mlx5_0 one x 3\ngpu 0 DCGM_FI_DEV_GPU_TEMP hot\nnode kernel 6.1\n");
  EXPECT_EQ(r.unread, 5U);
  EXPECT_EQ(r.node.at("kernel"), "6.1");
}

TEST(AgentPage, IsReadByTheControllersOwnParser) {
  Site site;
  site.gpus_per_node = 2;
  site.gpu_pci = {"0000:1b:00", "0000:2b:00"};
  site.nodes.push_back({"n1"});
  std::vector<Sample> samples;
  EXPECT_EQ(parse_scrape(render_exposition(picture(), "n1"), NodeId{0}, Time{}, site, samples), 0U);
  const auto has = [&](Field f, int slot, double v) {
    return std::any_of(samples.begin(), samples.end(),
                       [&](const Sample& s) { return s.field == f && s.slot == slot && s.value == v; });
  };
  EXPECT_TRUE(has(Field::gpu_temp_c, 0, 41));
  EXPECT_TRUE(has(Field::pcie_width, 0, 16));
  EXPECT_TRUE(has(Field::ib_link_downed_total, 0, 3));
  EXPECT_TRUE(has(Field::gpus_visible, -1, 1)) << "the page says that it is whole";
  samples.clear();
  EXPECT_EQ(parse_scrape(render_exposition(picture("gpu 0 muster_gpu_lost 1\n"), "n1"), NodeId{0}, Time{}, site, samples), 0U);
  EXPECT_TRUE(has(Field::gpus_visible, -1, 0)) << "a GPU that NVML has lost is not there, whatever was read of it before";
}

TEST(AgentPage, HasTheExportersNamesAndLabels) {
  const std::string page = render_exposition(picture(), "n1");
  EXPECT_NE(page.find("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",pci_bus_id=\"00000000:1B:00.0\",device=\"nvidia0\","
                      "modelName=\"NVIDIA H200\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"580.159.04\"} 41\n"),
            std::string::npos)
      << page;
}

TEST(AgentCheck, SaysWhatIsWrongAndNothingElse) {
  EXPECT_TRUE(check_node(picture()).empty());
  EXPECT_EQ(check_node(picture("gpu 0 DCGM_FI_DEV_PCIE_LINK_WIDTH 8\n")).at(0),
            "GPU 0 (00000000:1B:00.0) has 8 of 16 PCIe lanes");
  EXPECT_EQ(check_node(picture("gpu 0 DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION 1\n")).at(0),
            "GPU 0 (00000000:1B:00.0) asks for: reset");
  EXPECT_EQ(check_node(picture("ib mlx5_0 1 state_id 1\n")).at(0), "port mlx5_0/1 is not active");
  Picture p = picture();
  p.figures.probes["mount /data"].hung = true;
  EXPECT_EQ(check_node(p).at(0), "mount /data does not answer");
}

TEST(AgentMounts, OnlySharedFileSystemsAreWatched) {
  const auto m = parse_mounts(
      "proc /proc proc rw 0 0\nhead:/home /home nfs4 rw 0 0\nx@tcp:/fs /my\\040data lustre rw 0 0\n/dev/sda / ext4 rw 0 0\n");
  ASSERT_EQ(m.size(), 2U);
  EXPECT_EQ(m[0].path, "/home");
  EXPECT_EQ(m[1].path, "/my data");
}

TEST(AgentLetters, ComeBackAsTheyWereAndTellAgesNotTimes) {
  const Letter l{"kernel", "b1", 5, Time{1'000'000'000}, Time{9'000'000'000}, "m1", "\"kmsg\":\"6,4,1,-;a\""};
  const auto back = decode_letter(encode_letter(l));
  ASSERT_TRUE(back);
  EXPECT_EQ(encode_letter(*back), encode_letter(l));
  const auto age = [&](const char* machine) {
    const auto v = parse_json(render_batch("n1", {l}, "", machine, Time{3'000'000'000}, Time{99'000'000'000}));
    EXPECT_TRUE(v);
    return *(*v->find("items")->array())[0].find("age_ms")->integer();
  };
  EXPECT_EQ(age("m1"), 2000) << "the wall clock may say what it likes";
  EXPECT_EQ(age("m2"), 90'000) << "after a boot there is nothing else";
  EXPECT_FALSE(decode_letter("torn\tline"));
}

TEST(AgentLetters, ABatchHoldsOneIncarnationOfEachStream) {
  const auto letter = [](const char* stream, const char* boot) { return Letter{stream, boot, 1, {}, {}, "", ""}; };
  EXPECT_EQ(batch_length({letter("kernel", "a"), letter("agent", "b"), letter("kernel", "a")}), 3U);
  EXPECT_EQ(batch_length({letter("kernel", "a"), letter("agent", "b"), letter("kernel", "c")}), 2U);
}

std::vector<ProbeReport> wait_for(Probes& p, std::size_t count, int most_ms) {
  std::vector<ProbeReport> all;
  for (const Time until = monotonic_now() + milliseconds(most_ms); all.size() < count && monotonic_now() < until;) {
    pollfd fd{p.fd(), POLLIN, 0};
    poll(&fd, 1, 50);
    auto r = p.read();
    if (!r) break;
    all.insert(all.end(), r->begin(), r->end());
  }
  return all;
}

TEST(AgentProbes, AHungProbeIsToldOnceAndHoldsUpNoOther) {
  ProbeSpec hangs{"stuck probe", milliseconds(50), milliseconds(200), [] {
                    for (;;) pause();
                    return std::string();
                  }};
  ProbeSpec answers{"quick", milliseconds(50), milliseconds(200), [] { return std::string("line\n"); }};
  ProbeSpec dies{"dies", milliseconds(50), milliseconds(200), []() -> std::string { _exit(3); }};
  auto p = Probes::start({hangs, answers, dies}, {});
  ASSERT_TRUE(p);
  int hung = 0, ok = 0, died = 0;
  for (const ProbeReport& r : wait_for(**p, 12, 5000)) {
    hung += r.name == "stuck probe" && r.state == ProbeState::hung ? 1 : 0;
    ok += r.name == "quick" && r.state == ProbeState::ok && r.text == "line\n" ? 1 : 0;
    died += r.name == "dies" && r.state == ProbeState::died ? 1 : 0;
  }
  EXPECT_EQ(hung, 1);
  EXPECT_GE(ok, 8);
  EXPECT_EQ(died, 1);
}

TEST(AgentProbes, AWatcherTellsWithoutBeingAskedEvenWhileTheAnswerIsLate) {
  ProbeSpec s{"watched", milliseconds(20), seconds(5), [] {
                usleep(300'000);
                return std::string(50'000, 'a');
              }};
  s.watch = [](const auto& tell) {
    for (int i = 0;; ++i) {
      tell("xid 0 " + std::to_string(i) + std::string(5000, ' '));
      usleep(20'000);
    }
  };
  auto p = Probes::start({s}, {});
  std::size_t told = 0, answers = 0;
  for (const ProbeReport& r : wait_for(**p, 20, 5000)) {
    if (r.state == ProbeState::ok) {
      ++answers;
      EXPECT_EQ(r.text, std::string(50'000, 'a'));
    } else if (r.state == ProbeState::told) {
      EXPECT_EQ(r.text.rfind("xid 0 " + std::to_string(told) + " ", 0), 0U) << r.text.substr(0, 20);
      ++told;
    }
  }
  EXPECT_GE(told, 15U);
  EXPECT_GE(answers, 1U);
}

TEST(AgentProbes, OneThatIsAskedRarelyEndsInBetweenAndThatIsNoDeath) {
  auto p = Probes::start({{"rare", minutes(10), seconds(5), [] { return std::to_string(getpid()); }}}, {});
  const auto r = wait_for(**p, 2, 1000);
  ASSERT_EQ(r.size(), 1U);
  EXPECT_EQ(r[0].state, ProbeState::ok);
  EXPECT_NE(kill(static_cast<pid_t>(std::stoi(r[0].text)), 0), 0) << "its process is still there";
}

TEST(AgentZeroPages, MemoryThatWasOnlyZeroedIsGivenBackAndWhatWasWrittenStays) {
  // In a process of its own, with one thread.
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char> zeros(8 << 20, 0), ones(8 << 20, 1);
    std::fill(zeros.begin(), zeros.end(), static_cast<char>(0));
    const std::size_t released = release_zero_pages();
    const bool kept = std::all_of(ones.begin(), ones.end(), [](char c) { return c == 1; }) &&
                      std::all_of(zeros.begin(), zeros.end(), [](char c) { return c == 0; });
    zeros[12345] = 7;
    _exit(kept && zeros[12345] == 7 && released >= (8U << 20) - 8192 && released < (15U << 20) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AgentZeroPages, CodeAndTablesThatWereReadComeBackWhenTheyAreNeeded) {
  const pid_t child = fork();
  if (child == 0) {
    const auto resident_kb = [] {
      std::ifstream f("/proc/self/smaps_rollup");
      std::string word;
      while (f >> word && word != "Rss:") {
      }
      long kb = 0;
      f >> kb;
      return kb;
    };
    const bool before = parse_json("{\"a\": [1, 2]}").has_value();
    const long had = resident_kb();
    release_code();
    const long has = resident_kb();
    const bool after = parse_json("{\"a\": [1, 2]}").has_value();
    _exit(before && after && has < had - 500 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AgentTopology, TheNearestNicIsTheOneUnderTheSameSwitch) {
  char name[] = "/tmp/muster-sys-XXXXXX";
  const std::filesystem::path root = mkdtemp(name);
  const auto device = [&](const std::string& path, const char* vendor, const char* kind, const char* numa) {
    const auto folder = root / "sys/devices" / path;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor << "\n";
    std::ofstream(folder / "class") << kind << "\n";
    std::ofstream(folder / "numa_node") << numa << "\n";
    std::filesystem::create_directories(root / "sys/bus/pci/devices");
    std::filesystem::create_directory_symlink(folder, root / "sys/bus/pci/devices" / folder.filename());
    return folder;
  };
  device("pci0000:17/0000:17:01.0/0000:18:00.0/0000:1b:00.0", "0x10de", "0x030200", "0");
  const auto far = device("pci0000:17/0000:17:05.0/0000:2a:00.0", "0x15b3", "0x020700", "0");
  const auto near = device("pci0000:17/0000:17:01.0/0000:18:00.0/0000:1c:00.0", "0x15b3", "0x020700", "0");
  for (const auto& [nic, at] : {std::pair("mlx5_0", far), {"mlx5_1", near}}) {
    std::filesystem::create_directories(root / "sys/class/infiniband" / nic / "ports/1");
    std::filesystem::create_directory_symlink(at, root / "sys/class/infiniband" / nic / "device");
  }
  const Readings r = parse_readings(ask_versions(root.string()));
  std::filesystem::remove_all(root);
  EXPECT_EQ(r.node.at("topology_gpu_0000:1b:00.0"), "numa 0, nearest mlx5_1 (same switch)");
  EXPECT_EQ(r.node.at("nic_mlx5_0"), "0000:2a:00.0, numa 0, board , 1 ports");
}

TEST(AgentProbes, ALongAnswerComesWhole) {
  const std::string text(100'000, 'x');
  auto p = Probes::start({{"long", seconds(10), seconds(5), [text] { return text; }}}, {});
  const auto r = wait_for(**p, 1, 5000);
  ASSERT_EQ(r.size(), 1U);
  EXPECT_EQ(r[0].text, text);
}

}  // namespace
}  // namespace muster::agent
