#include "ingest/log_events.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace muster {
namespace {

std::vector<LogEvent> read(std::string_view text, LogCounts* counts = nullptr) {
  LogReader r;
  r.feed(text);
  r.finish();
  auto events = r.take();
  if (counts != nullptr) *counts = r.counts();
  return events;
}

LogEvent one(const std::string& line) {
  const auto events = read(line);
  EXPECT_EQ(events.size(), 1u) << line;
  return events.empty() ? LogEvent{} : events[0];
}

constexpr const char* kXid79 = "NVRM: Xid (PCI:0000:c3:00): 79, pid=1122, name=python3, GPU has fallen off the bus.";

TEST(LogPrefix, AMessageHasAFirstByteBehindEveryKnownPrefix) {
  const struct {
    const char* prefix;
    Origin origin;
    LogClock clock;
  } forms[] = {
      {"", Origin::bare, LogClock::none},
      {"4,358,28111765,c;", Origin::record, LogClock::boot},
      {"6,358,28111765,-,caller=T12;", Origin::record, LogClock::boot},
      {"[12345.678901] ", Origin::kernel, LogClock::boot},
      {"[    0.678901] ", Origin::kernel, LogClock::boot},
      {"[12345.678901][ T1234] ", Origin::kernel, LogClock::boot},
      {"<4>[16450.07] ", Origin::kernel, LogClock::boot},
      {"[  +0.000844] ", Origin::kernel, LogClock::step},
      {"[Sun Nov 15 02:03:04 2026] ", Origin::kernel, LogClock::wall},
      {"kern  :err   : [12345.678901] ", Origin::kernel, LogClock::boot},
      {"kern  :warn  : [12345,678901] ", Origin::kernel, LogClock::boot},
      {"kern  :err   : [Sun Nov 15 02:03:04 2026] ", Origin::kernel, LogClock::wall},
      {"10.0.0.1: kern: err: [2026-01-01T00:00:00.0Z]: ", Origin::kernel, LogClock::wall},
      {"kern:    info: [2026-01-01T00:00:00.0Z]: ", Origin::kernel, LogClock::wall},
      {"Nov 15 02:03:04 node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"Nov 15 02:03:04 node0001 kernel: [12345.678901] ", Origin::kernel, LogClock::boot},
      {"Nov  5 02:03:04 kernel: ", Origin::kernel, LogClock::wall},
      {"Okt 15 02:03:04 node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"d\xc3\xa9"
       "c. 15 02:03:04 node0001 kernel: ",
       Origin::kernel, LogClock::wall},
      {"Nov 15 02:03:04.123456 node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"2026-11-15T02:03:04.123456+00:00 node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"2026-11-15T02:03:04,123456+00:00 ", Origin::kernel, LogClock::wall},
      {"Sun 2026-11-15 02:03:04 UTC node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"1699999999.123456 node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"[12345.678901] node0001 kernel: ", Origin::kernel, LogClock::boot},
      {"<4>1 2026-11-15T02:03:04.1Z node0001 kernel - - - ", Origin::kernel, LogClock::wall},
      {"/var/log/syslog.1:Nov 15 02:03:04 node0001 kernel: ", Origin::kernel, LogClock::wall},
      {"node0001: [12345.678901] ", Origin::kernel, LogClock::boot},
      {"kernel: ", Origin::kernel, LogClock::none},
      {"[gpu-health] [WARN] GPU-3298439a-810e-95f0: XID: ", Origin::wrapped, LogClock::none},
      {"2026-11-15T02:03:04.1Z stdout F [12345.678901] ", Origin::kernel, LogClock::boot},
  };
  for (const auto& f : forms) {
    const std::string line = std::string(f.prefix) + kXid79;
    const LogPrefix p = read_log_prefix(line);
    EXPECT_EQ(p.size, std::string_view(f.prefix).size()) << f.prefix;
    EXPECT_EQ(p.origin, f.origin) << f.prefix;
    EXPECT_EQ(p.clock, f.clock) << f.prefix;
    EXPECT_EQ(one(line).code, "Xid 79") << f.prefix;
  }
}

TEST(LogPrefix, OtherFacilitiesAndTagsAreNotTheKernels) {
  for (const char* prefix :
       {"12,358,28111765,-;", "<12>[16450.07] ", "<14>", "user  :notice: [12345.678901] ", "daemon:info  : [1.5] ",
        "10.0.0.1: user: warning: [2026-01-01T00:00:00.0Z]: ", "Nov 15 02:03:04 node0001 python3[123]: ",
        "Nov 15 02:03:04 node0001 logger: ", "Nov 15 02:03:04 node0001 ", "2026-11-15T02:03:04.1Z node0001 job[1]: ",
        "Nov 15 02:03:04 node0001 kernel-helper: ", "  ", "x ", "kernel ", "- ", "> ", ";", "\\x0a", "#012"}) {
    LogCounts counts;
    EXPECT_TRUE(read(std::string(prefix) + kXid79, &counts).empty()) << prefix;
    EXPECT_EQ(counts.look_alikes, 1u) << prefix;
  }
}

TEST(LogEvents, ReadsEveryFormOfAnXid) {
  const struct {
    const char* text;
    const char *code, *pci, *mig, *process;
    std::int64_t pid;
  } forms[] = {
      {"NVRM: Xid (PCI:0000:c3:00): 31, pid=7301, name=python3, channel 0x12", "Xid 31", "0000:c3:00", "", "python3", 7301},
      {"NVRM: Xid (PCI:0000:C3:00 GPU-I:05): 94, pid=7194, Contained", "Xid 94", "0000:c3:00", "GPU-I:05", "", 7194},
      {"NVRM: Xid (PCI:0000:c3:00 GPU-I:05 GPU-CI:00): 31, pid=1, name=a, b", "Xid 31", "0000:c3:00", "GPU-I:05 GPU-CI:00", "a",
       1},
      {"NVRM: Xid (0000:03:00): 14, old", "Xid 14", "0000:03:00", "", "", -1},
      {"NVRM: Xid (PCI:0000:03:00.0): 14, old", "Xid 14", "0000:03:00", "", "", -1},
      {"NVRM: Xid (0001:00): 13, 0003", "Xid 13", "0000:01:00", "", "", -1},
      {"NVRM: Xid: 13, 0003 00000000", "Xid 13", "", "", "", -1},
      {"NVRM: Xid (PCI:...): 13, 0003", "Xid 13", "", "", "", -1},
      {"NVRM: Xid (PCI:0000:c3:00): 79, pid=1122, GPU has fallen off the bus.", "Xid 79", "0000:c3:00", "", "", 1122},
      {"NVRM: Xid (PCI:0000:c3:00): 79, pid='<unknown>', name=<unknown>, GPU", "Xid 79", "0000:c3:00", "", "", -1},
      {"NVRM: Xid (PCI:0000:c3:00): 79, pid=<unknown>, name=<unknown>, GPU", "Xid 79", "0000:c3:00", "", "", -1},
      {"NVRM: Xid (PCI:0000:c3:00): 119, pid='N/A', name=x, Timeout", "Xid 119", "0000:c3:00", "", "x", -1},
      {"NVRM: Xid (PCI:0000:c3:00): 43, pid=470,   name=ray::WorkerDict, channel", "Xid 43", "0000:c3:00", "", "ray::WorkerDict",
       470},
      {"NVRM: Xid (PCI:0000:c3:00): 63, pid=1896, name=nvc:[driver], Row Remapper", "Xid 63", "0000:c3:00", "", "nvc:[driver]",
       1896},
      {"NVRM: Xid (PCI:0000:c3:00): 137, NVLink: fault", "Xid 137", "0000:c3:00", "", "", -1},
      {"NVRM: Xid (PCI:0000:c3:00): 999, who knows", "Xid 999", "0000:c3:00", "", "", -1},
  };
  for (const auto& f : forms) {
    const LogEvent e = one(f.text);
    EXPECT_EQ(e.code, f.code) << f.text;
    EXPECT_EQ(e.pci, f.pci) << f.text;
    EXPECT_EQ(e.mig, f.mig) << f.text;
    EXPECT_EQ(e.process, f.process) << f.text;
    EXPECT_EQ(e.pid, f.pid) << f.text;
  }
  EXPECT_EQ(one("NVRM: Xid (PCI:0000:c3:00): 45, pid=7, name=p, Ch 00000009 caused by previous Xid 94").caused_by, 94);
  EXPECT_EQ(one("NVRM: Xid (PCI:0000:c3:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node "
                "Reboot Required)")
                .verdict,
            2);
  EXPECT_TRUE(read("NVRM: Xid (PCI:0000:c3:00): 7").empty());
  EXPECT_TRUE(read("NVRM: Xid (PCI:0000:c3:00): 154").empty());
}

TEST(LogEvents, AXidCutAfterItsCodeGoesOnInTheNextLine) {
  for (const char* text : {"[1.5] NVRM: Xid (PCI:0000:c3:00): 79,\n[1.5] pid=1122, name=sh, GPU has fallen off the bus.\n",
                           "[1.5] NVRM: Xid (PCI:0000:c3:00): 79, \npid=1122, name=sh, GPU has fallen off the bus.\n",
                           "NVRM: Xid (PCI:0000:c3:00): 79,\n  pid=1122, name=sh, GPU has fallen off the bus.\n"}) {
    const auto events = read(text);
    ASSERT_EQ(events.size(), 1u) << text;
    EXPECT_EQ(events[0].line_last, 2u) << text;
    EXPECT_EQ(events[0].pid, 1122) << text;
    EXPECT_EQ(events[0].process, "sh") << text;
  }
  EXPECT_EQ(read("[1.5] NVRM: Xid (PCI:0000:c3:00): 79,\n[1.5] usb 1-1: new device\n")[0].line_last, 1u);
}

TEST(LogEvents, FoldsTheLinesOfOneEventAndNoOthers) {
  const auto events = read(
      "4,361,30016664,c;NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): x\n"
      "4,362,30018154,c;NVRM: Xid (PCI:0000:00:07): 13, Graphics SM Global Exception\n"
      "4,363,30019679,c;NVRM: Xid (PCI:0000:00:06): 13, Graphics Exception: ESR 0x519730=0xc00000b\n"
      "4,364,30021246,c;NVRM: Xid (PCI:0000:00:06): 13, pid=458, name=f, Graphics Exception: channel 0x0000000a\n"
      "4,365,36259928,c;NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): y\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].line_first, 1u);
  EXPECT_EQ(events[0].line_last, 4u);
  EXPECT_EQ(events[0].lines, 3u);
  EXPECT_EQ(events[0].pid, 458);
  EXPECT_EQ(events[1].line_first, 2u);
  EXPECT_EQ(events[2].line_first, 5u);
  EXPECT_GT(events[0].confidence(), one(kXid79).confidence()) << "a record is worth more than a line of a file";
}

TEST(LogEvents, AGpuThatLeftIsOneEventHoweverOftenItIsTold) {
  const auto events = read(
      "[10.0] NVRM: Xid (PCI:0000:c3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
      "[10.1] NVRM: GPU 0000:c3:00.0: GPU has fallen off the bus.\n"
      "[10.1] NVRM: GPU 0000:c3:00.0: GPU serial number is 1654024074452.\n"
      "[10.2] NVRM: krcRcAndNotifyAllChannels_IMPL: RC all channels for critical error 79.\n"
      "[10.3] NVRM: nvAssertFailedNoLog: Assertion failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F)\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].code, "Xid 79");
  EXPECT_EQ(events[0].line_last, 5u);
  const auto start = read(
      "[3.0] NVRM: The NVIDIA GPU 0000:c3:00.0\n[3.0] NVRM: (PCI ID: 10de:2335) installed in this system has\n"
      "[3.0] NVRM: fallen off the bus and is not responding to commands.\n");
  ASSERT_EQ(start.size(), 1u);
  EXPECT_EQ(start[0].code, "Fallen off bus, no Xid");
  EXPECT_EQ(start[0].pci, "0000:c3:00");
  EXPECT_EQ(start[0].line_first, 1u);
  EXPECT_EQ(start[0].line_last, 3u);
  EXPECT_EQ(one("NVRM: GPU at 0000:01:00.0 has fallen off the bus.").code, "Fallen off bus, no Xid");
  EXPECT_TRUE(read("NVRM: GPU at 0000:01:00.0 has software scheduler DISABLED with policy BEST_EFFORT.").empty());
  EXPECT_TRUE(read("NVRM: fallen off the bus and is not responding to commands.").empty());
}

TEST(LogEvents, ReadsSwitchErrorsAndFabricManager) {
  const auto events = read(
      "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)\n"
      "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Severity 0 Engine instance 32 Sub-engine instance 00\n"
      "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Data {0x00140004, 0x00000000}\n"
      "nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].code, "SXid 12028");
  EXPECT_EQ(events[0].pci, "0000:05:00.0");
  EXPECT_EQ(events[0].line_last, 3u);
  EXPECT_EQ(events[0].said, Said::nonfatal);
  EXPECT_EQ(events[1].said, Said::fatal);
  const std::string fm =
      "detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:05:00.0 physical id 3 port 61";
  for (const char* prefix : {"[Nov 15 2026 02:03:04] [ERROR] [tid 2345] ", "Nov 15 02:03:04 node0001 nv-fabricmanager[123]: "}) {
    EXPECT_EQ(one(prefix + fm).code, "SXid 12028") << prefix;
    EXPECT_EQ(one(prefix + fm).pci, "0000:05:00.0") << prefix;
  }
  EXPECT_TRUE(read(fm).empty());
  EXPECT_TRUE(read("Nov 15 02:03:04 node0001 evil[123]: " + fm).empty());
}

TEST(LogEvents, ReadsWhatTheDriverSaysWithoutANumber) {
  const struct {
    const char *text, *code, *pci;
  } forms[] = {
      {"NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x25:0x28:1169)", "NVRM init failed", "0000:01:00"},
      {"NVRM: RmInitAdapter failed! (0x25:0x28:1169)", "NVRM init failed", ""},
      {"NVRM: rm_init_adapter failed for device bearing minor number 0", "NVRM init failed", ""},
      {"NVRM: nvCheckOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x0000006F)", "NVRM reset required",
       ""},
      {"NVRM: _kgspIsHeartbeatTimedOut: GSP heartbeat timed out", "NVRM GSP heartbeat", ""},
      {"NVRM: GPU0 GSP-CrashCat Report: **", "NVRM GSP crash", ""},
      {"NVRM: GPU1 pmuHalt: PMU has halted", "NVRM PMU halted", ""},
      {"NVRM: gpuWaitForGfwBootComplete: failed to wait for GFW_BOOT: (progress 0x0)", "NVRM GFW boot", ""},
  };
  for (const auto& f : forms) {
    EXPECT_EQ(one(f.text).code, f.code) << f.text;
    EXPECT_EQ(one(f.text).pci, f.pci) << f.text;
  }
}

TEST(LogEvents, ReadsPcieNetworkAndHost) {
  const struct {
    const char *text, *code, *pci;
  } forms[] = {
      {"pcieport 0000:c0:01.1: AER: Correctable error message received from 0000:c3:00.0", "AER corrected", "0000:c3:00.0"},
      {"pcieport 0000:00:1c.0: AER: Corrected error received: id=00e0", "AER corrected", "0000:00:1c.0"},
      {"pcieport 0000:c0:01.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, id=c008(Transmitter ID)",
       "AER corrected", "0000:c0:01.1"},
      {"nvidia 0000:c3:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver ID)",
       "AER uncorrected", "0000:c3:00.0"},
      {"nvidia 0000:c3:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccessible, (Unregistered Agent ID)",
       "AER fatal", "0000:c3:00.0"},
      {"mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 268269): Detected insufficient power on the PCIe slot (27W).",
       "mlx5 slot power", "0000:5c:00.0"},
      {"mlx5_core 0000:d2:00.0: poll_health:825: device's health compromised - reached miss count.", "mlx5 health miss",
       "0000:d2:00.0"},
      {"mlx5_core 0000:d2:00.1: poll_health:825:(pid 0): device's health compromised - reached miss count.", "mlx5 health miss",
       "0000:d2:00.1"},
      {"mlx5_core 0000:03:00.0: wait_func:1195:(pid 1967079): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource",
       "mlx5 cmd timeout", "0000:03:00.0"},
      {"mlx5_core 0000:5c:00.0: Port module event[error]: module 2, Cable error, High Temperature", "mlx5 module hot",
       "0000:5c:00.0"},
      {"mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged", "mlx5 cable out", "0000:5c:00.0"},
      {"mlx5_core 0000:5c:00.0 ibp92s0: Link down", "mlx5 link down", "0000:5c:00.0"},
      {"mlx5_core 0000:65:00.0 ens15np0: TX timeout detected", "mlx5 tx timeout", "0000:65:00.0"},
      {"NETDEV WATCHDOG: ens15np0 (mlx5_core): transmit queue 5 timed out", "mlx5 netdev watchdog", ""},
      {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "HOST EDAC CE", ""},
      {"EDAC MC1: 1 UE memory scrubbing error on any memory", "HOST EDAC UE", ""},
      {"mce: [Hardware Error]: Machine check events logged", "HOST MCE logged", ""},
      {"mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: b200000000070f0f", "HOST MCE uncorrected", ""},
      {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 8: 8c00004000010090", "HOST MCE logged", ""},
      {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 8: bd80000000100134", "HOST MCE uncorrected", ""},
      {"{1}[Hardware Error]: event severity: fatal", "HOST CPER fatal", ""},
      {"watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python3:123]", "HOST soft lockup", ""},
      {"I/O error, dev nvme0n1, sector 123 op 0x0:(READ)", "HOST nvme io error", ""},
      {"nvme nvme0: I/O 123 QID 4 timeout, aborting", "HOST nvme timeout", ""},
      {"XFS (nvme0n1): Log I/O Error Detected. Shutting down filesystem", "HOST xfs shutdown", ""},
      {"EXT4-fs (sda1): Remounting filesystem read-only", "HOST read-only fs", ""},
      {"Kernel panic - not syncing: Fatal exception", "HOST kernel panic", ""},
      {"nfs: server 10.0.0.9 not responding, still trying", "HOST nfs not responding", ""},
  };
  for (const auto& f : forms) {
    EXPECT_EQ(one(f.text).code, f.code) << f.text;
    EXPECT_EQ(one(f.text).pci, f.pci) << f.text;
  }
  const auto aer = read(
      "pcieport 0000:c0:01.1: AER: Correctable error message received from 0000:c3:00.0\n"
      "nvidia 0000:c3:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)\n"
      "nvidia 0000:c3:00.0:   device [10de:2335] error status/mask=00000001/0000a000\n"
      "nvidia 0000:c3:00.0:    [ 0] RxErr                  (First)\n");
  ASSERT_EQ(aer.size(), 1u);
  EXPECT_EQ(aer[0].code, "AER corr RxErr");
  EXPECT_EQ(aer[0].line_last, 4u);
}

TEST(LogEvents, ReadsWhatHappenedToProcesses) {
  const auto oom = read(
      "[5.0] evil: x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n[5.1] Mem-Info:\n"
      "[5.2] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/NVRM: Xid (PCI:0000:c3:00): 79, x,task=a,pid=4,uid=0\n"
      "[5.2] Memory cgroup out of memory: Killed process 4321 (VLLM::Worker) total-vm:1kB, anon-rss:1kB\n");
  ASSERT_EQ(oom.size(), 1u);
  EXPECT_EQ(oom[0].code, "HOST OOM kill");
  EXPECT_EQ(oom[0].line_first, 1u);
  EXPECT_EQ(oom[0].line_last, 4u);
  EXPECT_EQ(oom[0].pid, 4321);
  EXPECT_EQ(oom[0].process, "VLLM::Worker");
  const LogEvent hung = one("INFO: task ray::Worker:Dict:77 blocked for more than 120 seconds.");
  EXPECT_EQ(hung.code, "HOST hung task");
  EXPECT_EQ(hung.pid, 77);
  EXPECT_EQ(hung.process, "ray::Worker:Dict");
  const LogEvent nccl =
      one("pt_main_thread[2536443]: segfault at 7f797fe00000 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in "
          "libnccl.so.2[7f7c7ac00000+d3d3000]");
  EXPECT_EQ(nccl.code, "libnccl segfault");
  EXPECT_EQ(nccl.pid, 2536443);
  EXPECT_TRUE(read("a[1]: segfault at 0 ip 0 sp 0 error 4 in libc.so.6[7f00+1000]").empty());
}

TEST(LogEvents, IsTheSameInPiecesOfAnySize) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "[" + std::to_string(i) + ".5] NVRM: Xid (PCI:0000:c3:00): " + std::to_string(31 + i % 3) + ", pid=1, name=a, b\r\n";
    text += std::string(static_cast<std::size_t>(i * 300), 'x') + "\n";
  }
  const auto whole = read(text);
  for (const std::size_t size : {1u, 7u, 4096u}) {
    LogReader r;
    for (std::size_t i = 0; i < text.size(); i += size) r.feed(std::string_view(text).substr(i, size));
    r.finish();
    const auto pieces = r.take();
    ASSERT_EQ(pieces.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(pieces[i].line_first, whole[i].line_first);
      EXPECT_EQ(pieces[i].line_last, whole[i].line_last);
      EXPECT_EQ(pieces[i].code, whole[i].code);
    }
    EXPECT_EQ(r.counts().cut, 12u);
  }
}

TEST(LogEvents, DamagedInputIsCountedAndHarmsNothing) {
  LogCounts counts;
  EXPECT_TRUE(read(std::string("NVRM: Xid (PCI:0000:c3:00): 79, a\x01"
                               "b\n"),
                   &counts)
                  .empty());
  EXPECT_EQ(counts.damaged, 1u);
  for (const char* text : {"4,1,1,-;watchdog: ", "4,1,1,-;NMI watchdog: ", "[9999999999.9] x", "9999-12-31T23:59:59Z n kernel: x",
                           "[+999999999.9] a\n[+999999999.9] b\n[+999999999.9] c\n"})
    EXPECT_TRUE(read(text).empty()) << text;
  LogReader r;
  for (int i = 0; i < 300; ++i) r.feed(std::string(65536, static_cast<char>(i)));
  r.finish();
  EXPECT_TRUE(r.take().empty());
}

TEST(LogEvents, ReadsThePublicSample) {
  const char* folder = std::getenv("MUSTER_DATA");
  std::ifstream file(std::string(folder != nullptr ? folder : "") + "/faults/sample_kernel_log.txt");
  if (folder == nullptr || !file) GTEST_SKIP() << "MUSTER_DATA is not set: the sample is not here";
  // Each line has a letter before it that says where it is from; each form is told apart, so each is read by itself.
  std::size_t understood = 0, silent = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 3 || line[0] == '#') continue;
    (read(line.substr(2)).empty() ? silent : understood) += 1;
  }
  // Silent: UUID and serial (3), the three lines of a start that are one event together, and four that go with an error above.
  EXPECT_EQ(understood, 37u);
  EXPECT_EQ(silent, 10u);
}

TEST(LogEvents, IsFastEnoughForAGigabyte) {
  std::string text;
  for (int i = 0; text.size() < 8'000'000; ++i) {
    text +=
        "Nov 15 02:03:04 node0001 kernel: [12345.678901] audit: type=1400 audit(1699999999.123:4): apparmor=\"ALLOWED\" "
        "pid=123\n";
    if (i % 50 == 0) text += "Nov 15 02:03:04 node0001 kernel: [12345.678901] " + std::string(kXid79) + "\n";
  }
  const std::clock_t from = std::clock();
  LogReader r;
  for (std::size_t i = 0; i < text.size(); i += 1 << 16) r.feed(std::string_view(text).substr(i, 1 << 16));
  r.finish();
  const double s = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  EXPECT_FALSE(r.take().empty());
  std::printf("LogReader: %.0f MB per CPU-second\n", static_cast<double>(text.size()) / 1e6 / s);
}

std::size_t events_in(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  reader.finish();
  return reader.take().size();
}

TEST(LogEvents, OneHostsEventIsNotAnothers) {
  EXPECT_EQ(events_in("Mar  4 10:11:12 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
                      "Mar  4 10:11:12 n2 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"),
            2U);
  EXPECT_EQ(events_in("n1: [1.0] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
                      "n2: [1.0] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"),
            2U);
}

TEST(LogEvents, ABootEndsWhatWasBefore) {
  EXPECT_EQ(events_in("[5.000000] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
                      "[0.000000] Linux version 6.1\n"
                      "[5.500000] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"),
            2U);
}

TEST(LogEvents, OneProgramsErrorIsNotAnothers) {
  EXPECT_EQ(events_in("[1.000000] NVRM: Xid (PCI:0000:1b:00): 31, pid=88, name=python, MMU Fault\n"
                      "[1.100000] NVRM: Xid (PCI:0000:1b:00): 31, pid=99, name=other, MMU Fault\n"),
            2U);
}

TEST(LogEvents, ColoursAreNotWords) {
  EXPECT_EQ(
      events_in("\x1b[32m[  100.100000] \x1b[0m\x1b[33mNVRM: \x1b[0mXid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"),
      1U);
}

TEST(LogEvents, TheKernelHasNoPid) {
  EXPECT_EQ(events_in("Mar  4 10:11:12 n1 kernel[321]: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"), 0U);
}

}  // namespace
}  // namespace muster
