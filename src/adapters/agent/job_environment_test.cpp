#include "adapters/agent/job_environment.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

// A file of a process's own file system, as it is seen from outside.
std::string inside(int pid, const std::string& path) { return "/proc/" + std::to_string(pid) + "/root" + path; }

// A folder that stands for /, with processes in it.
struct EnvironmentWatchTest : ::testing::Test {
  EnvironmentWatchTest() {
    char folder[] = "/tmp/muster-environment-XXXXXX";
    root = mkdtemp(folder);
    write("/proc/sys/kernel/osrelease", "6.8.0-85-generic\n");
    write("/sys/module/nvidia/version", "580.159.04\n");
    write("/sys/class/infiniband/mlx5_0/fw_ver", "28.43.2026\n");
  }
  ~EnvironmentWatchTest() override { fs::remove_all(root); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path, std::ios::binary) << text;
  }
  // With a file system of its own.
  void process(int pid, const std::string& job, const std::string& maps, const std::string& environ,
               const std::string& command = "python3\ntrain.py") {
    const std::string base = "/proc/" + std::to_string(pid);
    write(base + "/cgroup", "0::/system.slice/slurmstepd.scope/job_" + job + "/step_0/user/task_0\n");
    write(base + "/maps", maps);
    const auto zeros = [](std::string s) {
      for (char& c : s) c = c == '\n' ? '\0' : c;
      return s + '\0';
    };
    write(base + "/environ", zeros(environ));
    write(base + "/cmdline", zeros(command));
  }
  static std::string mapped(const std::string& path) {
    return "7f1200000000-7f1200001000 r-xp 00000000 08:02 1234                       " + path + "\n";
  }
  std::string look(EnvironmentWatch& w) {
    w.ask(Time{1});  // sees the processes
    return w.ask(Time{1} + seconds(11));
  }
  std::string root;
};

constexpr const char* kNccl = "/opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";

TEST_F(EnvironmentWatchTest, AJobsLibrariesVariablesAndFilesAreTold) {
  process(100, "17", mapped(kNccl) + mapped("/usr/lib/libcuda.so.580.159.04") + mapped("/usr/lib/libcudart.so.12.8.90"),
          "SLURM_JOB_ID=17\nNCCL_ALGO=Ring\nOMP_NUM_THREADS=8\nHF_TOKEN=abc\nHOME=/home/ann\nNCCL_AUTH_TOKEN=s3cret",
          "python3\ntrain.py\n--config\nrun.yaml\n--local_rank=3");
  write(inside(100, kNccl), std::string(1000, '\0') + "NCCL version 2.27.5+cuda12.9" + std::string(10, '\0'));
  write(inside(100, "/opt/venv/lib/python3.12/site-packages/torch-2.8.0+cu128.dist-info/METADATA"), "");
  write(inside(100, "/etc/os-release"), "ID=ubuntu\nPRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n");
  write(inside(100, "/var/lib/dpkg/status"), "Package: libc6\n");
  write("/proc/100/cwd/run.yaml", "lr: 3e-4\n");
  EnvironmentWatch w(root);
  EXPECT_EQ(w.ask(Time{1}), "") << "not while it is still starting";
  const std::string said = w.ask(Time{1} + seconds(11));
  for (const char* part :
       {R"("job":"17")", R"("nccl.version":"2.27.5+cuda12.9")", R"("cuda.runtime":"12.8.90")",
        R"("cuda.driver_library":"580.159.04")", R"("driver.loaded":"580.159.04")", R"("torch.version":"2.8.0+cu128")",
        R"("image.os":"Ubuntu 24.04.3 LTS")", R"("image.packages":")", R"("env.NCCL_ALGO":"Ring")",
        R"("env.OMP_NUM_THREADS":"8")", R"("config.program":"train.py")", R"("config.file.run.yaml":")",
        R"("kernel.release":"6.8.0-85-generic")", R"("nic.firmware":"28.43.2026")"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
  for (const char* part : {"abc", "s3cret", "HF_TOKEN", "NCCL_AUTH_TOKEN", "/home/ann", "HOME"})
    EXPECT_EQ(said.find(part), std::string::npos) << part;
  EXPECT_EQ(w.ask(Time{1} + seconds(12)), "") << "it is not looked at again at once";
}

TEST_F(EnvironmentWatchTest, AnotherConfigurationIsSeenByItsHashAndTheRankIsNone) {
  process(100, "17", mapped(kNccl), "A=b", "python3\ntrain.py\nrun.yaml\n--local_rank=3\n--hf-token\nabc");
  write("/proc/100/cwd/run.yaml", "lr: 3e-4\n");
  EnvironmentWatch one(root);
  const std::string before = look(one);
  process(100, "17", mapped(kNccl), "A=b", "python3\ntrain.py\nrun.yaml\n--local_rank=5\n--hf-token\nxyz");
  EnvironmentWatch two(root);
  EXPECT_EQ(look(two), before);
  write("/proc/100/cwd/run.yaml", "lr: 1e-4, and more\n");
  EnvironmentWatch three(root);
  EXPECT_NE(look(three), before);
}

TEST_F(EnvironmentWatchTest, AnArraysMemberIsNamedAsTheEngineNamesIt) {
  process(100, "17", mapped(kNccl), "SLURM_JOB_ID=17\nSLURM_ARRAY_JOB_ID=15\nSLURM_ARRAY_TASK_ID=2");
  EnvironmentWatch w(root);
  EXPECT_NE(look(w).find(R"("job":"15_2")"), std::string::npos);
  process(100, "17", mapped(kNccl), "SLURM_JOB_ID=99\nSLURM_ARRAY_JOB_ID=15\nSLURM_ARRAY_TASK_ID=2");
  EnvironmentWatch other(root);
  EXPECT_NE(look(other).find(R"("job":"17")"), std::string::npos) << "its group says that it is not of that array";
}

TEST_F(EnvironmentWatchTest, ProcessesOfOneJobThatDifferAreBothTold) {
  for (int pid : {100, 101}) {
    process(pid, "17", mapped("/a/libnccl.so.2"), "A=b");
    write(inside(pid, "/a/libnccl.so.2"),
          "NCCL version 2.2" + std::to_string(pid - 94) + ".1+cuda12.4" + std::string(static_cast<std::size_t>(pid), '\0'));
  }
  EnvironmentWatch w(root);
  EXPECT_NE(look(w).find(R"("nccl.version":"2.26.1+cuda12.4 | 2.27.1+cuda12.4")"), std::string::npos);
}

TEST_F(EnvironmentWatchTest, AJobThatHasLoadedNothingYetIsWaitedFor) {
  process(100, "17", mapped("/usr/lib/libc.so.6"), "A=b", "bash\nrun.sh");
  EnvironmentWatch w(root);
  EXPECT_EQ(look(w), "");
  EXPECT_NE(w.ask(Time{1} + minutes(3)).find(R"("config.program":"run.sh")"), std::string::npos) << "it will load nothing";
}

TEST_F(EnvironmentWatchTest, WhatTheAgentMayNotSeeIsSaid) {
  process(100, "17", "", "A=b");
  fs::remove(root + "/proc/100/maps");
  EnvironmentWatch w(root);
  w.ask(Time{1});
  EXPECT_NE(w.ask(Time{1} + minutes(3)).find("CAP_SYS_PTRACE"), std::string::npos);
}

TEST_F(EnvironmentWatchTest, FifosEndlessValuesAndEscapesAreHarmless) {
  process(100, "17", mapped("/a/libnccl.so.2"), "NCCL_X=" + std::string(100'000, 'x') + "\nNCCL_Y=\x1b[2J",
          "python3\n../../../../etc/passwd.yaml\n/pipe.yaml");
  fs::create_directories(root + inside(100, "/a"));
  ASSERT_EQ(mkfifo((root + inside(100, "/a/libnccl.so.2")).c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((root + inside(100, "/pipe.yaml")).c_str(), 0600), 0);
  EnvironmentWatch w(root);
  const std::string said = look(w);
  EXPECT_LT(said.size(), 2000U);
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
  EXPECT_NE(said.find(R"("nccl.version":")"), std::string::npos);
  EXPECT_EQ(said.find("passwd.yaml"), std::string::npos);
}

TEST(TellingVariables, SecretsAreNeverTakenAndAddressesWithNamesNotShown) {
  for (const char* yes :
       {"NCCL_IB_HCA", "CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "LD_PRELOAD"})
    EXPECT_TRUE(tells_how(yes)) << yes;
  for (const char* no :
       {"HOME", "AWS_SECRET_ACCESS_KEY", "NCCL_SECRET", "TORCH_API_KEY", "CUDA_VISIBLE_DEVICES", "WANDB_API_KEY"})
    EXPECT_FALSE(tells_how(no)) << no;
  EXPECT_EQ(shown_value("http://ann:pw@host/").find("pw"), std::string::npos);
  EXPECT_EQ(shown_value("a\nb").find('\n'), std::string::npos);
}

// The version stands in .rodata, behind as much else as there is.
TEST_F(EnvironmentWatchTest, OfALibraryOnlyItsConstantsAreReadAndABrokenOneIsHarmless) {
  const std::string names = std::string("\0.rodata\0.shstrtab\0", 19);
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shnum = 3;
  h.e_shstrndx = 2;
  const std::uint64_t far = 40 << 20;  // beyond what is read of a file without sections
  const std::string constants("NCCL version %d.%d\0NCCL version 2.19 or newer\0NCCL version 2.28.3+cuda13.0\0", 75);
  h.e_shoff = far + 4096;
  Elf64_Shdr s[3] = {};
  s[1].sh_name = 1, s[1].sh_type = SHT_PROGBITS, s[1].sh_offset = far, s[1].sh_size = constants.size();
  s[2].sh_name = 9, s[2].sh_type = SHT_STRTAB, s[2].sh_offset = far + 1024, s[2].sh_size = names.size();
  const std::string path = root + "/libnccl.so.2";
  {
    std::ofstream f(path, std::ios::binary);
    f.write(reinterpret_cast<const char*>(&h), sizeof h);
    f.seekp(static_cast<std::streamoff>(far));
    f << constants;
    f.seekp(static_cast<std::streamoff>(far + 1024));
    f << names;
    f.seekp(static_cast<std::streamoff>(far + 4096));
    f.write(reinterpret_cast<const char*>(s), sizeof s);
  }
  EXPECT_EQ(find_nccl_version(path), "2.28.3+cuda13.0");
  for (const std::uint64_t off : {std::uint64_t{0}, UINT64_MAX, UINT64_MAX - 63, std::uint64_t{1} << 62}) {
    h.e_shoff = off;
    std::fstream f(path, std::ios::binary | std::ios::in | std::ios::out);
    f.write(reinterpret_cast<const char*>(&h), sizeof h);
    f.close();
    EXPECT_EQ(find_nccl_version(path), "") << off;
  }
}

}  // namespace
}  // namespace muster::agent
