// The probe on trees of files that stand for nodes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/agent/facts_probe.h"
#include "adapters/facts/book_reader.h"
#include "adapters/facts/driver.h"
#include "adapters/facts/elf.h"
#include "adapters/facts/gather.h"
#include "adapters/facts/machine.h"
#include "adapters/facts/network.h"
#include "adapters/facts/packages.h"
#include "adapters/facts/pci.h"
#include "adapters/facts/probe.h"
#include "adapters/facts/software.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"

namespace muster::facts {
namespace {

namespace fs = std::filesystem;

class Tree {
 public:
  Tree() {
    char name[] = "/tmp/muster-facts-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Tree& file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << text;
    return *this;
  }
  Tree& link(const std::string& path, const std::string& target) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::create_symlink(target, root_ + path);
    return *this;
  }
  const std::string& root() const { return root_; }
  FactTable probe(bool live = true) const {
    FactTable t;
    ProbeOptions o;
    o.node = "n1";
    o.root = root_;
    o.live = live;
    EXPECT_TRUE(read_host(o, fact_book(), t));
    return t;
  }

 private:
  std::string root_;
};

std::string value(const FactTable& t, std::string_view key, std::string_view part = "") {
  const std::ptrdiff_t c = t.find_column(part, key);
  if (c < 0) return "unknown";
  const FactColumn& column = t.columns()[static_cast<std::size_t>(c)];
  if (const std::string* v = column.value(0)) return *v;
  return column.code(0) == kFactAbsent ? "absent" : column.code(0) == kFactUnreadable ? "unreadable" : "unknown";
}

// Configuration space with a PCI Express capability at 0x60: relaxed ordering, payload 256, reads of 4,096.
std::string config_space() {
  std::string c(256, '\0');
  c[0x34] = 0x40;
  c[0x40] = 0x01;
  c[0x41] = 0x60;
  c[0x60] = 0x10;
  const unsigned control = 0x10 | 1U << 5 | 5U << 12;
  c[0x68] = static_cast<char>(control & 0xff);
  c[0x69] = static_cast<char>(control >> 8);
  return c;
}

Tree& with_gpu(Tree& t, const std::string& address, const std::string& config) {
  const std::string folder = "/sys/devices/pci0000:15/0000:15:01.0/" + address + "/";
  t.file(folder + "vendor", "0x10de\n").file(folder + "device", "0x2335\n").file(folder + "class", "0x030200\n");
  t.file(folder + "numa_node", "0\n").file(folder + "current_link_speed", "32.0 GT/s PCIe\n");
  t.file(folder + "current_link_width", "16\n").file(folder + "max_link_width", "16\n");
  t.file(folder + "config", config);
  t.link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:15/0000:15:01.0/" + address);
  return t;
}

TEST(FactsProbe, SaysOfEachFactWhetherItIsThereAbsentOrUnreadable) {
  Tree t;
  t.file("/proc/sys/vm/swappiness", "10\n").file("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
  t.file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=1 iommu=pt pci=realloc=off pci=noaer quiet\n");
  t.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  t.file("/etc/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\n");
  fs::create_directories(t.root() + "/sys/class/dmi/id/bios_version");  // no file: it cannot be read
  const FactTable f = t.probe();
  EXPECT_EQ(value(f, "sysctl.vm.swappiness"), "10");
  EXPECT_EQ(value(f, "sysctl.net.ipv4.tcp_rmem"), "4096 131072 6291456");
  EXPECT_EQ(value(f, "sysctl.vm.zone_reclaim_mode"), "absent");
  EXPECT_EQ(value(f, "bios.version"), "unreadable");
  EXPECT_EQ(value(f, "bmc.version"), "unknown") << "no program on the node can know it";
  EXPECT_EQ(value(f, "cmdline.iommu"), "pt");
  EXPECT_EQ(value(f, "cmdline.pci"), "realloc=off,noaer");
  EXPECT_EQ(value(f, "cmdline.amd_iommu"), "absent");
  EXPECT_EQ(value(f, "kernel.cmdline"), "iommu=pt pci=realloc=off pci=noaer quiet");
  EXPECT_EQ(value(f, "thp.enabled"), "madvise");
  EXPECT_EQ(value(f, "os.id") + " " + value(f, "os.version"), "ubuntu 24.04");
}

TEST(FactsProbe, ReadsTheDriverWithoutTouchingADevice) {
  Tree t;
  with_gpu(t, "0000:16:00.0", config_space());
  t.file("/sys/module/nvidia/version", "580.159.04\n").file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
  t.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04\n");
  t.file("/proc/driver/nvidia/gpus/0000:16:00.0/information",
         "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-1\nVideo BIOS: \t ??.??.??.??.??\nGPU Firmware: \t 580.159.04\n");
  t.file("/lib/firmware/nvidia/580.159.04/gsp_ga10x.bin", "x");
  t.file("/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05", "x");
  t.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.580.95.05");
  t.file("/var/lib/dkms/nvidia/580.95.05/6.8.0-45-generic/x86_64/log", "x");
  const FactTable f = t.probe();
  EXPECT_EQ(value(f, "gpu.count"), "1");
  EXPECT_EQ(value(f, "gpu.class"), "hopper");
  EXPECT_EQ(value(f, "gpu.model", "gpu0"), "NVIDIA H200");
  EXPECT_EQ(value(f, "vbios.version", "gpu0"), "unreadable") << "nobody has opened the GPU yet";
  EXPECT_EQ(value(f, "gpu.max_read_request", "gpu0"), "4096");
  EXPECT_EQ(value(f, "gpu.max_payload", "gpu0"), "256");
  EXPECT_EQ(value(f, "gpu.relaxed_ordering", "gpu0"), "on");
  EXPECT_EQ(value(f, "driver.flavour"), "open");
  EXPECT_EQ(value(f, "driver.gsp"), "580.159.04");
  EXPECT_EQ(value(f, "driver.on_disk"), "580.95.05") << "an upgrade that waits for its reboot";
  EXPECT_EQ(value(f, "libcuda.version"), "580.95.05");
  EXPECT_EQ(value(f, "cuda.driver_max"), "13.0");
  EXPECT_EQ(value(f, "gpu.power_limit_w", "gpu0"), "unknown") << "that is NVML's to say";
}

TEST(FactsProbe, WithoutRootTheRestOfConfigurationSpaceIsUnreadable) {
  Tree t;
  with_gpu(t, "0000:16:00.0", config_space().substr(0, 64));
  const FactTable f = t.probe();
  EXPECT_EQ(value(f, "gpu.max_read_request", "gpu0"), "unreadable");
  EXPECT_EQ(value(f, "pcie.acs_redirect"), "unreadable");
}

TEST(FactsProbe, CountsBridgesThatRedirect) {
  Tree t;
  with_gpu(t, "0000:16:00.0", config_space());
  std::string bridge(4096, '\0');
  bridge[0x100] = 0x01;  // some capability, the next at 0x148
  bridge[0x102] = 0x01;
  bridge[0x102] = static_cast<char>(0x81);
  bridge[0x103] = 0x14;
  bridge[0x148] = 0x0d;
  bridge[0x14e] = 0x1d;
  t.file("/sys/devices/pci0000:15/0000:15:01.0/config", bridge);
  EXPECT_EQ(value(t.probe(), "pcie.acs_redirect"), "1");
  bridge[0x14e] = 0;
  t.file("/sys/devices/pci0000:15/0000:15:01.0/config", bridge);
  EXPECT_EQ(value(t.probe(), "pcie.acs_redirect"), "0");
}

TEST(FactsProbe, OfAnImageTellsNothingOfTheKernelThatRuns) {
  Tree t;
  t.file("/proc/sys/vm/swappiness", "10\n")
      .file("/boot/vmlinuz-6.8.0-45-generic", "x")
      .file("/boot/vmlinuz-6.8.0-101-generic", "x");
  t.file("/etc/slurm/cgroup.conf", "# CgroupAutomount=no\nConstrainDevices=yes CgroupAutomount=yes\n");
  const FactTable f = t.probe(false);
  EXPECT_EQ(value(f, "sysctl.vm.swappiness"), "unknown");
  EXPECT_EQ(value(f, "limit.memlock"), "unknown");
  EXPECT_EQ(value(f, "node.virt"), "unknown");
  EXPECT_EQ(value(f, "kernel.installed"), "6.8.0-101-generic");
  EXPECT_EQ(value(f, "slurm.cgroup_automount"), "yes");
  EXPECT_EQ(value(f, "slurm.constrain_devices"), "yes");
}

TEST(FactsProbe, LinksOfAnImageDoNotLeadOutOfIt) {
  Tree t;
  t.link("/etc/machine-id", "/etc/shadow-of-the-host").file("/etc/shadow-of-the-host", "inside\n");
  EXPECT_EQ(value(t.probe(false), "node.machine_id"), "inside");
}

TEST(FactsProbe, EachFactThatItSaysItCanReadIsReadOnANodeThatHasAll) {
  Tree t;
  with_gpu(t, "0000:16:00.0", config_space());
  t.file("/sys/module/nvidia/version", "580.159.04\n");
  t.file("/sys/class/infiniband/mlx5_0/hca_type", "MT4129\n").file("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  t.link("/sys/class/net/eth0", "../../devices/eth0").file("/sys/devices/eth0/mtu", "9000\n");
  t.link("/sys/devices/eth0/device", "../virtio0");
  const FactTable f = t.probe();
  for (const FactMeaning& m : fact_book().rows) {
    if (m.read == "given" || m.read == "nvml" || m.key == "node.role") continue;
    // Asked of the kernel, not of a file below the tree.
    if (m.key == "time.synchronised" || m.key == "shm.bytes") continue;
    const std::string part = m.of == "gpu" ? "gpu0" : m.of == "nic" ? "mlx5_0" : m.of == "netif" ? "eth0" : "";
    EXPECT_NE(value(f, m.key, part), "unknown") << m.key;
  }
  EXPECT_EQ(value(f, "nic.model", "mlx5_0"), "ConnectX-7");
  EXPECT_EQ(value(f, "nic.state", "mlx5_0"), "ACTIVE");
  EXPECT_EQ(value(f, "netif.mtu", "eth0"), "9000");
}

TEST(FactsProbe, NcclOfAJobIsReadFromItsMapsAndTheHeaderBesideIt) {
  Tree t;
  t.file("/sys/module/nvidia/version", "580.159.04\n").file("/proc/77/statm", "90000000 1 1 1 0 1 0\n");
  t.file("/proc/78/statm", "2000 1 1 1 0 1 0\n").file("/proc/78/maps", "1-2 r-xp 0 0:1 1 /opt/libnccl.so.2.1.1\n");
  t.file("/proc/77/maps", "7f00-7f01 r-xp 00000000 08:01 12 /venv/nvidia/nccl/lib/libnccl.so.2\n7f02-7f03 rw-p 0 0:0 0\n");
  const std::string inside = "/proc/77/root", nccl = inside + "/venv/nvidia/nccl";
  t.file(nccl + "/include/nccl.h",
         "#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n#define NCCL_SUFFIX \"\"\n");
  t.file(nccl + "/lib/libnccl.so.2", "x");
  const FactTable f = t.probe();
  EXPECT_EQ(value(f, "nccl.mapped"), "2.28.9") << "the small process is no job on a GPU and not looked at";
  EXPECT_EQ(value(f, "libcuda.mapped"), "absent");
}

TEST(FactsProbe, ProcessesThatBeganBeforeAnUpgradeHoldTheOldLibcuda) {
  Tree t;
  t.file("/sys/module/nvidia/version", "580.159.04\n").file("/proc/driver/nvidia/params", "A: 1\nRmProfilingAdminOnly: 0\n");
  const std::string lib = "/usr/lib/x86_64-linux-gnu/libcuda.so.";
  t.file("/proc/77/maps", "1-2 r-xp 0 08:01 12 /opt/libnccl.so.2.21.5\n3-4 r-xp 0 08:01 9 " + lib + "570.124.06 (deleted)\n");
  t.file("/proc/78/maps", "3-4 r-xp 0 08:01 9 " + lib + "580.159.04\n5-6 rw-p 0 0:0 0\n");
  t.file("/proc/79/maps", "3-4 r-xp 0 08:01 9 /usr/local/cuda/compat/libcuda.so.590.1.2\n");
  for (const char* pid : {"77", "78", "79"}) t.file(std::string("/proc/") + pid + "/statm", "90000000 1 1 1 0 1 0\n");
  const FactTable f = t.probe();
  EXPECT_EQ(value(f, "libcuda.mapped"), "570.124.06,580.159.04");
  EXPECT_EQ(value(f, "nccl.mapped"), "2.21.5");
  EXPECT_EQ(value(f, "driver.profiling_admin_only"), "off");
}

TEST(FactsPackages, VersionsAreThoseOfTheMakers) {
  const auto all = parse_dpkg_status(
      "Package: zlib1g\nStatus: install ok installed\nVersion: 1.3\n\n"
      "Package: docker-ce\nStatus: install ok installed\nVersion: 5:27.3.1-1~ubuntu.22.04~jammy\nDescription: Package: munge\n\n"
      "Package: nvidia-fabricmanager-580\nStatus: hold ok installed\nVersion: 580.159.04-0ubuntu1\n\n"
      "Package: munge\nStatus: deinstall ok config-files\nVersion: 0.5\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].version, "27.3.1");
  EXPECT_EQ(all[1].name, "nvidia-fabricmanager-580");
  EXPECT_EQ(all[1].version, "580.159.04");
  EXPECT_TRUE(all[1].held);
  EXPECT_TRUE(parse_dpkg_status("").empty());
}

TEST(FactsPackages, AFileLargerThanItsPiecesIsReadWhole) {
  Tree t;
  std::string status;
  for (int i = 0; i < 3000; ++i)
    status +=
        "Package: filler" + std::to_string(i) + "\nStatus: install ok installed\nDescription: " + std::string(60, 'x') + "\n\n";
  status += "Package: munge\nStatus: install ok installed\nVersion: 0.5.15-2\n";
  t.file("/var/lib/dpkg/status", status);
  EXPECT_EQ(value(t.probe(false), "munge.version"), "0.5.15");
}

TEST(FactsWords, OfLists) {
  EXPECT_EQ(cpus_in("0-3,8,10-11\n"), 7U);
  EXPECT_EQ(cpus_in(""), 0U);
  EXPECT_EQ(selected("a [b] c"), "b");
  EXPECT_EQ(selected("none"), "none");
  EXPECT_EQ(command_line_argument("quiet nohz_full", "nohz_full").text, "set");
  EXPECT_FALSE(command_line_argument("iommu.passthrough=1", "iommu").ok());
  EXPECT_EQ(gpu_class(0x2901), "blackwell");
  EXPECT_EQ(gpu_class(0x20b2), "ampere");
  EXPECT_EQ(gpu_class(0x9999), "");
  EXPECT_EQ(cuda_of_driver("999.1"), "") << "a branch nobody has told of is unknown";
  EXPECT_EQ(module_info(std::string_view("license=x\0version=580.1\0", 24), "version"), "580.1");
}

TEST(FactsGather, ANodeThatFailsOrHangsHoldsNobodyUp) {
  std::vector<Errand> errands{{"good", {"sh", "-c", "cat"}},
                              {"bad", {"sh", "-c", "echo no route >&2; exit 255"}},
                              {"stuck", {"sh", "-c", "exec sleep 100"}},
                              {"missing", {"/no/such/program"}}};
  std::map<std::string, Answer> told;
  gather(errands, {.at_once = 2, .deadline_s = 1, .input = "facts\n"}, [&](Answer a) { told[a.node] = a; });
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told["good"].out, "facts\n");
  EXPECT_EQ(told["good"].trouble, "");
  EXPECT_EQ(told["bad"].trouble, "exit code 255: no route");
  EXPECT_EQ(told["stuck"].trouble, "did not answer in time");
  EXPECT_NE(told["missing"].trouble.find("/no/such/program"), std::string::npos);
}

TEST(FactsGather, WhatTakesTooLongIsToldToEndSoThatItCanTakeBackWhatItBegan) {
  Tree t;
  t.file("/queue", "a job");
  const std::string script = "trap 'rm " + t.root() + "/queue; exit 1' TERM; echo waiting >&2; sleep 100 & wait";
  std::vector<Answer> told;
  gather({{"slow", {"sh", "-c", script}}, {"deaf", {"sh", "-c", "trap '' TERM; sleep 100; sleep 100"}}},
         {.at_once = 2, .deadline_s = 1}, [&](Answer a) { told.push_back(std::move(a)); });
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].node, "slow");
  EXPECT_EQ(told[0].trouble, "did not answer in time: waiting");
  EXPECT_FALSE(fs::exists(t.root() + "/queue"));
  EXPECT_EQ(told[1].trouble, "did not answer in time") << "and what does not listen is ended";
}

TEST(FactsOfTheAgent, AreThoseOfTheDriverThatIsLoadedNow) {
  Tree t;
  t.file("/sys/module/nvidia/version", "580.95.05\n");
  EXPECT_NE(agent::ask_facts("n1", t.root()).find("580.95.05"), std::string::npos);
  t.file("/sys/module/nvidia/version", "580.159.04\n");
  EXPECT_NE(agent::ask_facts("n1", t.root()).find("580.159.04"), std::string::npos);
}

}  // namespace
}  // namespace muster::facts
