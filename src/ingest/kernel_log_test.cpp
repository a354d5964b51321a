#include "ingest/kernel_log.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Site site() {
  Site s;
  s.gpus_per_node = 8;
  s.gpu_pci = {"0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00", "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00"};
  s.nodes.resize(2);
  return s;
}

std::optional<KernelRecord> kmsg(std::string_view record) { return parse_kmsg(record, NodeId{1}, 77, Time{5}, site()); }
std::optional<KernelRecord> line(std::string_view text) { return kmsg("4,358,28111765,c;" + std::string(text)); }

TEST(KernelLog, ReadsARecordWithItsIdentity) {
  const auto r = kmsg(
      "3,364,30021246,-,caller=T12;NVRM: Xid (PCI:0000:c3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
      "the bus.\n SUBSYSTEM=pci\n DEVICE=+pci:0000:c3:00.0\n");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->kind, KernelKind::xid);
  EXPECT_EQ(r->code, 79);
  EXPECT_EQ(r->slot, 5);
  EXPECT_EQ(r->seq, 364u);
  EXPECT_EQ(r->boot, 77u);
  EXPECT_EQ(r->node, NodeId{1});
  EXPECT_EQ(r->text.substr(0, 9), "NVRM: Xid");
  EXPECT_EQ(r->text.find('\n'), std::string::npos);
}

TEST(KernelLog, ReadsEveryFormOfXid) {
  const struct {
    const char* text;
    int code, slot;
  } forms[] = {
      {"NVRM: Xid (PCI:0000:c3:00): 31, pid=452, name=f, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS", 31, 5},
      {"NVRM: Xid (PCI:0000:c3:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): Illegal Instruction", 13, 5},
      {"NVRM: Xid (PCI:0000:c3:00.0): 79, GPU has fallen off the bus.", 79, 5},
      {"NVRM: Xid (PCI:0000:c3:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No", 94, 5},
      {"NVRM: Xid (PCI:0000:c3:00 GPU-I:05 GPU-CI:00): 31, pid=7301, name=python3, channel 0x00000012", 31, 5},
      {"NVRM: Xid (0000:c3:00): 14, old form", 14, 5},
      {"NVRM: Xid (PCI:0000:c3:00): 79, pid=1122, GPU has fallen off the bus.", 79, 5},
      {"NVRM: Xid (PCI:0000:c3:00): 45, pid=7062, name=python3, Ch 00000009 caused by previous Xid 94", 45, 5},
      {"NVRM: Xid (PCI:0000:c3:00): 140, pid=<unknown>, name=<unknown>, An uncorrectable ECC error", 140, 5},
      {"NVRM: Xid (PCI:0000:c3:00): 119, pid='N/A', name=x", 119, 5},
      {"NVRM: Xid (PCI:0000:1b:00): 43, pid=470,   name=ray::WorkerDict, channel 0x0000000a", 43, 0},
      {"NVRM: Xid (PCI:0000:df:00): 63, pid=1896, name=nvc:[driver], Row Remapper", 63, 7},
      {"NVRM: Xid (PCI:0000:43:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node Reboot "
       "Required)",
       154, 1},
      {"NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000)", 149, -1},
      {"NVRM: Xid (PCI:0000:c3:00): 79,", 79, 5},
      {"NVRM: Xid (PCI:10000:c3:00): 79, a domain of five digits", 79, -1},
  };
  for (const auto& f : forms) {
    const auto r = line(f.text);
    ASSERT_TRUE(r) << f.text;
    EXPECT_EQ(r->kind, KernelKind::xid);
    EXPECT_EQ(r->code, f.code) << f.text;
    EXPECT_EQ(r->slot, f.slot) << f.text;
  }
}

TEST(KernelLog, ALineCutInsideTheCodeIsNothing) {
  const std::string whole = "NVRM: Xid (PCI:0000:c3:00): 119, pid=1811, name=nvidia-smi, Timeout after 45s";
  for (std::size_t n = 0; n < whole.find("119,") + 4; ++n) EXPECT_FALSE(line(whole.substr(0, n))) << n;
  EXPECT_EQ(line(whole.substr(0, whole.find("119,") + 4))->code, 119);
}

TEST(KernelLog, ReadsAGpuThatLeftWithoutAnXid) {
  for (const char* text :
       {"NVRM: GPU 0000:c3:00.0: GPU has fallen off the bus.", "NVRM: GPU at 0000:c3:00.0 has fallen off the bus.",
        "NVRM: GPU at PCI:0000:c3:00: GPU has fallen off the bus.",
        "NVRM: The NVIDIA GPU 0000:c3:00.0\\x0aNVRM: (PCI ID: 10de:2335) installed in this system has\\x0aNVRM: fallen "
        "off the bus "
        "and is not responding to commands."}) {
    const auto r = line(text);
    ASSERT_TRUE(r) << text;
    EXPECT_EQ(r->kind, KernelKind::off_bus);
    EXPECT_EQ(r->slot, 5);
  }
  EXPECT_FALSE(line("NVRM: GPU at 0000:c3:00.0 has software scheduler DISABLED with policy BEST_EFFORT."));
  EXPECT_FALSE(line("NVRM: GPU at PCI:0000:c3:00: GPU-3298439a-810e-95f0-e3b8-da8e2434f657"));
}

TEST(KernelLog, ReadsLinksAtTheAddressTheTwinGivesThem) {
  const Site s = site();
  for (int slot = 0; slot < 8; ++slot) {
    const auto down = line("mlx5_core " + nic_pci(s, slot) + " ibp27s0: Link down");
    ASSERT_TRUE(down);
    EXPECT_EQ(down->kind, KernelKind::link_down);
    EXPECT_EQ(down->slot, slot);
    EXPECT_EQ(line("mlx5_core " + nic_pci(s, slot) + " ibp27s0: Link up")->kind, KernelKind::link_up);
  }
  EXPECT_EQ(nic_pci(s, 0), "0000:1b:01.0");
  EXPECT_EQ(nic_pci(s, 8), "");
  EXPECT_EQ(line("mlx5_core 0000:5c:00.0 ibp92s0: Link down")->slot, -1);
  EXPECT_FALSE(line("mlx5_core 0000:5c:00.0 ibp92s0: Link down soon"));
  EXPECT_EQ(line("mlx5_core 0000:5c:00.0: Port module event[error]: module 2, Cable error, High Temperature")->kind,
            KernelKind::nic_fault);
}

TEST(KernelLog, ReadsPcieErrorsOldAndNew) {
  const struct {
    const char* text;
    int code, slot;
  } forms[] = {
      {"nvidia 0000:c3:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)", 0, 5},
      {"pcieport 0000:c0:01.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, id=c008(Transmitter ID)", 0, -1},
      {"mlx5_core 0000:c3:01.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver "
       "ID)",
       1, 5},
      {"pcieport 0000:c0:01.1: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)", 2, -1},
      {"pcieport 0000:c0:01.1: AER: Correctable error message received from 0000:c3:00.0", 0, 5},
      {"pcieport 0000:c0:01.1: AER: Multiple Uncorrected (Fatal) error received: 0000:c3:00.0", 2, 5},
  };
  for (const auto& f : forms) {
    const auto r = line(f.text);
    ASSERT_TRUE(r) << f.text;
    EXPECT_EQ(r->kind, KernelKind::pcie_error);
    EXPECT_EQ(r->code, f.code) << f.text;
    EXPECT_EQ(r->slot, f.slot) << f.text;
  }
}

TEST(KernelLog, KeepsCauseVerdictAndGravity) {
  EXPECT_EQ(line("NVRM: Xid (PCI:0000:1b:00): 45, pid=7062, name=python3, Ch 00000009 caused by previous Xid 94")->caused_by, 94);
  EXPECT_EQ(
      line("NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")->verdict,
      2);
  const auto nvlink = [](std::string_view word) {
    return line("NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT  " + std::string(word) +
                "   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)");
  };
  EXPECT_TRUE(nvlink("Fatal")->fatal);
  EXPECT_FALSE(nvlink("Nonfatal")->fatal);
  const auto sxid = line("nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
  ASSERT_TRUE(sxid);
  EXPECT_EQ(sxid->kind, KernelKind::sxid);
  EXPECT_EQ(sxid->slot, -1);
  EXPECT_TRUE(sxid->fatal);
}

TEST(KernelLog, WhatAProgramsNameCanImitateNeedsMoreThanItsBeginning) {
  EXPECT_FALSE(line("EDAC MC0: 1 UE [2536443]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so.2[0+1]"));
  EXPECT_FALSE(line("NVRM: CrashCat[2536443]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so.2[0+1]"));
  const auto real = line("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)");
  ASSERT_TRUE(real);
  EXPECT_EQ(real->kind, KernelKind::host_memory);
}

TEST(KernelLog, RefusesWhatAUserCanForge) {
  const char* real = "NVRM: Xid (PCI:0000:c3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
  for (const char* head : {"12,1,1,-;", "11,1,1,-;", "30,1,1,-;", "8,1,1,-;", "2051,1,1,-;", "65539,1,1,-;", "524291,1,1,-;"}) {
    EXPECT_FALSE(kmsg(std::string(head) + real)) << head;
  }
  for (const char* text :
       {"NVRM: Xid (PCI:[25034]: unhandled exception: DABT (lower EL), ESR 0x92000006",
        "NVRM: Xid: 79, [25034]: unhandled exception: DABT (lower EL), ESR 0x92000006",
        "NVRM: Xid: 79, segfault at 0 ip 0000000000401126 sp 00007ffd error 6",
        ";NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.",
        " NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.",
        "a[1]: segfault at 0 ip 0 sp 0 error 4 in ;NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the "
        "bus.[5555+1000]",
        "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the "
        "bus.,task=a",
        "x\\x0aNVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.", "NVRM: Xid (PCI:0000:c3:00):79, no blank",
        "NVRM: Xid (PCI:0000:c3:00): 079, leading zero", "NVRM: Xid (PCI:0000:c3:00): 0, none",
        "NVRM: Xid (PCI:0000:c3:00): 7979, four digits", "NVRM: Xid (PCI:0000:c3:00): -79, sign",
        "NVRM: Xid (PCI:0000:c3:3f): 79, no such device", "NVRM: Xid (PCI:c3:00): 79, short",
        "NVRM: Xid (PCI:0000:c3:00): 79,pid=1", "NVRM: xid (PCI:0000:c3:00): 79, case",
        "NVRM: Xid (PCI:0000:c3:00): 79, pid=x, name=y", "NVRM:  Xid (PCI:0000:c3:00): 79, two blanks"}) {
    EXPECT_FALSE(line(text)) << text;
  }
}

TEST(KernelLog, RefusesWhatIsNoRecord) {
  const std::string text = "NVRM: Xid (PCI:0000:c3:00): 79, x";
  EXPECT_TRUE(kmsg("4,1,1,-;" + text));
  for (const char* head : {"", ";", "4;", "4,1;", "4,1,1;", "4,1,1,;", "4,1,1,x;", "4,-1,1,-;", "x,1,1,-;", "<4>,1,1,-;",
                           "04,1,1,-;", "4, 1,1,-;", "4,99999999999999999999,1,-;"}) {
    EXPECT_FALSE(kmsg(head + text)) << head;
  }
  EXPECT_FALSE(kmsg("4,1,1,-," + std::string(200, 'x') + ";" + text));
  EXPECT_FALSE(kmsg("4,1,1,-;" + text + "\x01"));
  EXPECT_FALSE(kmsg("4,1,1,-;" + text + std::string(10000, 'x')));
  EXPECT_EQ(kmsg("4,1,1,-;" + text + std::string(2000, 'x'))->text.size(), kKernelTextMax);
}

TEST(LogLine, AcceptsThePrefixesPeoplePaste) {
  const char* core = "NVRM: Xid (PCI:0000:C3:00): 79, pid=1122, GPU has fallen off the bus.\n";
  for (const char* prefix :
       {"", "Nov 15 02:03:04 node0001 kernel: ", "[12345.678901] ", "<4>[16450.07] ", "[  +0.000844] ", "kern  :err   : [,123] ",
        "10.0.0.1: kern: err: [2026-01-01T00:00:00.0Z]: ", "[gpu-health] [WARN] GPU-3298439a: XID: ", "4,358,28111765,c;"}) {
    const auto l = parse_log_line(prefix + std::string(core));
    ASSERT_TRUE(l) << prefix;
    EXPECT_EQ(l->event.code, "Xid 79");
    EXPECT_EQ(l->event.pci, "0000:c3:00");
  }
}

TEST(LogLine, AcceptsOldAndOddForms) {
  EXPECT_EQ(parse_log_line("NVRM: Xid: 13, 0003 00000000")->event.code, "Xid 13");
  EXPECT_EQ(parse_log_line("NVRM: Xid (0001:00): 13, 0003")->event.code, "Xid 13");
  EXPECT_EQ(parse_log_line("NVRM: Xid (PCI:...): 13, 0003")->event.pci, "");
  EXPECT_EQ(
      parse_log_line("NVRM: Xid (PCI:0000:c3:00): 45, pid=1, name=p, Ch 00000009 caused by previous Xid 94")->event.caused_by,
      94);
  EXPECT_EQ(parse_log_line("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress")->event.code,
            "SXid 12028");
  EXPECT_EQ(parse_log_line("mlx5_core 0000:5c:00.0 ibp92s0: Link down")->event.code, "mlx5 link down");
  EXPECT_EQ(parse_log_line("NVRM: GPU at 0000:01:00.0 has fallen off the bus.")->event.code, "Fallen off bus, no Xid");
  EXPECT_FALSE(parse_log_line("NVRM: Xid (PCI:0000:c3:00): 7"));
  EXPECT_FALSE(parse_log_line("all is well"));
  EXPECT_FALSE(parse_log_line(""));
}

}  // namespace
}  // namespace muster
