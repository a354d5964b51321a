#include "adapters/sqlite/nsys_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "adapters/sqlite/database.h"

namespace muster::sqlite {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kProcess = (std::int64_t{1} << 48) | (std::int64_t{4242} << 24);  // process 4242 of machine 1

// What exports of 2024 and later have.
constexpr const char* kToday = R"(
CREATE TABLE META_DATA_EXPORT(name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION','3.16.0');
CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES(1,'gemm'),(2,'void gemm<float>(float*)'),(3,'cudaLaunchKernel_v7000'),
  (4,'cudaStreamSynchronize_v3020'),
  (5,'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)'),(6,'ncclAllReduce'),(7,'step 1'),
  (8,'{"NCCL communicator ID":77,"Message size [bytes]":1048576}'),(9,'not wanted by anybody');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
  domainId INTEGER, jsonTextId INTEGER, jsonText TEXT);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES(0,'NVIDIA A',108),(3,'NVIDIA H200',132);
CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(3,0,4242);
CREATE TABLE TARGET_INFO_SYSTEM_ENV(name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES('OsVersion','x'),('Hostname','node-7');
)";

class NsysFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(::testing::TempDir()) / fmt::format("nsys_{}.sqlite", info->name());
    fs::remove(path_);
  }
  void TearDown() override { fs::remove(path_); }

  void write(const std::string& sql) {
    auto db = Database::open({path_.string(), {}}, Access::create);
    ASSERT_TRUE(db) << db.error().what;
    const auto r = db->exec("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF;" + sql);
    ASSERT_TRUE(r) << r.error().what;
  }
  void write_today(const std::string& more) { write(std::string(kToday) + more); }
  // A kernel with the call that launched it.
  static std::string kernel(std::int64_t start, std::int64_t end, int correlation, int name = 2, int device = 0,
                            std::int64_t process = kProcess) {
    return fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES({},{},{},1,NULL,7,{},{},{},1,NULL,64,10,2,1,256,1,1,1024,2048,NULL);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES({},{},0,{},{},3,0);",
        start, end, device, correlation, process, name, start - 50, start - 40, process | 99, correlation);
  }
  static std::string range(std::int64_t start, std::int64_t end, const std::string& text, int thread = 99) {
    return fmt::format("INSERT INTO NVTX_EVENTS VALUES({},{},59,'{}',{},NULL,0,NULL,NULL);", start, end, text, kProcess | thread);
  }
  Trace only() {
    auto all = read_nsys_file(path_.string());
    EXPECT_TRUE(all) << all.error().what;
    if (!all || all->empty()) return {};
    EXPECT_EQ(all->size(), 1U);
    return std::move(all->front());
  }
  std::string error() {
    const auto all = read_nsys_file(path_.string());
    return all ? "read" : all.error().what.substr(path_.string().size());
  }
  fs::path path_;
};

TEST_F(NsysFile, WhatRanOnTheGpu) {
  write_today(kernel(1000, 1500, 11) + kernel(1600, 1700, 12, 5) +
              fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1800,1900,0,7,13,{},4096,1,0,2);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(1950,1960,0,7,14,{},0,64,2);",
                          kProcess, kProcess));
  const Trace t = only();
  ASSERT_EQ(t.gpu.size(), 4U);
  EXPECT_EQ(t.names[t.gpu[0].name], "void gemm<float>(float*)");
  EXPECT_EQ(t.gpu[0].span.start_ns, 1000);
  EXPECT_EQ(t.gpu[0].work, GpuWork::compute);
  ASSERT_LT(t.gpu[0].detail, t.launches.size());
  EXPECT_EQ(t.launches[t.gpu[0].detail], (Launch{20, 256, 64, 3072, 0}));
  EXPECT_EQ(t.gpu[1].work, GpuWork::communication);
  EXPECT_EQ(t.gpu[1].detail, kNone);
  EXPECT_EQ(t.names[t.gpu[2].name], "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(t.gpu[2].bytes, 4096U);
  EXPECT_EQ(t.names[t.gpu[3].name], "Memset (Device)");
  ASSERT_EQ(t.calls.size(), 2U);
  EXPECT_EQ(t.names[t.calls[0].name], "cudaLaunchKernel") << "without the version";
  EXPECT_EQ(t.calls[0].correlation, t.gpu[0].correlation);
  EXPECT_EQ(t.threads[t.calls[0].thread], "99");
  EXPECT_EQ(t.host, "node-7");
  EXPECT_EQ(t.gpus, std::vector<std::string>{"NVIDIA H200"}) << "the process's first is the machine's fourth";
  EXPECT_EQ(t.units, std::vector<std::uint32_t>{132});
  for (const std::string& n : t.names) EXPECT_NE(n, "not wanted by anybody");
}

TEST_F(NsysFile, KindsOfCopiesAsTheFileTellsThem) {
  write_today(
      "CREATE TABLE ENUM_CUDA_MEM_KIND(id INTEGER, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUDA_MEM_KIND VALUES(70,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),"
      "(71,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','x');"
      "CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id INTEGER, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES(50,'CUDA_MEMCPY_KIND_UVM_DTOH','x');" +
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1800,1900,0,7,13,{},4096,50,71,70);", kProcess));
  const Trace t = only();
  ASSERT_EQ(t.gpu.size(), 1U);
  EXPECT_EQ(t.names[t.gpu[0].name], "Memcpy DtoH (Device -> Pinned)");
}

TEST_F(NsysFile, ExportsOf2019TellNoProcess) {
  write(R"(CREATE TABLE StringIds(id INTEGER, value TEXT);
    INSERT INTO StringIds VALUES(1,'axpy'),(2,'cudaLaunch');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT NOT NULL, end INT NOT NULL, deviceId INT, contextId INT, streamId INT,
      correlationId INT, shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100,200,0,1,7,5,1,1,1,1,32,1,1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId INT, nameId INT, returnValue INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(50,60,281474976710755,5,2,0);)");
  const Trace t = only();
  ASSERT_EQ(t.gpu.size(), 1U);
  EXPECT_EQ(t.names[t.gpu[0].name], "axpy");
  ASSERT_EQ(t.calls.size(), 1U);
  EXPECT_EQ(t.calls[0].correlation, t.gpu[0].correlation);
  EXPECT_TRUE(t.gpus.empty());
}

TEST_F(NsysFile, AGraphThatWasTracedAsOne) {
  write_today(
      fmt::format("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INT, end INT, deviceId INT, graphId INT, streamId INT,"
                  "correlationId INT, globalPid INT);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(10,20,0,109,7,3,{});",
                  kProcess));
  const Trace t = only();
  ASSERT_EQ(t.gpu.size(), 1U);
  EXPECT_EQ(t.names[t.gpu[0].name], "CUDA graph 109");
}

TEST_F(NsysFile, ProcessesAreApart) {
  constexpr std::int64_t kOther = kProcess + (std::int64_t{1} << 24);
  write_today(kernel(1000, 1500, 11) + kernel(1000, 1400, 11, 2, 0, kOther));
  const auto all = read_nsys_file(path_.string());
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].gpu[0].span.end_ns, 1500);
  EXPECT_EQ((*all)[0].calls.size(), 1U);
  EXPECT_EQ((*all)[1].gpu[0].span.end_ns, 1400);
}

TEST_F(NsysFile, GpusOfOneProcessAreApart) {
  write_today(kernel(1000, 1500, 11) + kernel(1000, 1400, 12, 2, 1) +
              fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1600,1700,0,{},15,4,0);", kProcess | 99));
  const auto all = read_nsys_file(path_.string());
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  for (const Trace& t : *all) {
    EXPECT_EQ(t.gpu.size(), 1U);
    ASSERT_EQ(t.calls.size(), 2U) << "its own, and the wait that is for none";
    EXPECT_EQ(t.calls[0].correlation, t.gpu[0].correlation);
    EXPECT_EQ(t.names[t.calls[1].name], "cudaStreamSynchronize");
  }
}

std::vector<std::string> step_names(const Trace& t) {
  std::vector<std::string> out;
  for (const Mark& m : t.steps) out.push_back(t.names[m.name]);
  return out;
}

TEST_F(NsysFile, StepsThatSayWhatTheyAre) {
  write_today(kernel(1000, 1500, 11) + range(900, 2000, "iteration 4") + range(950, 990, "optimizer step 4") +
              range(950, 980, "forward") + range(2000, 3000, "iteration 5") + range(2100, 2200, "forward"));
  const Trace t = only();
  EXPECT_EQ(step_names(t), (std::vector<std::string>{"iteration 4", "iteration 5"}));
  EXPECT_EQ(t.steps[1].span.start_ns, 2000);
  ASSERT_EQ(t.marks.size(), 3U) << "the others stay as marks";
  EXPECT_EQ(t.names[t.marks[0].name], "optimizer step 4");
}

TEST_F(NsysFile, StepsOfPyTorchComeFirst) {
  write_today(kernel(1000, 1500, 11) + range(0, 5000, "iteration 4") + range(5000, 9000, "iteration 5") +
              range(900, 2000, "ProfilerStep#2"));
  EXPECT_EQ(step_names(only()), std::vector<std::string>{"ProfilerStep#2"});
}

TEST_F(NsysFile, StepsByTheirRhythm) {
  std::string sql = kernel(1000, 1500, 11);
  for (int i = 0; i < 5; ++i) {
    sql += range(1000 * i, 1000 * i + 900, fmt::format("train batch {}", i));
    sql += range(1000 * i + 10, 1000 * i + 300, "forward");
    sql += range(1000 * i + 10, 1000 * i + 20, "reader", 100);
  }
  write_today(sql);
  EXPECT_EQ(step_names(only()).size(), 5U);
}

TEST_F(NsysFile, NoStepsWithoutARhythm) {
  write_today(kernel(1000, 1500, 11) + range(0, 10, "load") + range(4000, 4010, "load") + range(90'000, 90'010, "load"));
  EXPECT_TRUE(only().steps.empty());
}

TEST_F(NsysFile, OperatorsOfPyTorch) {
  write_today(kernel(1000, 1500, 11) + kernel(2000, 2100, 12) +
              range(900, 990, "aten::linear, seq = 3, sizes = [[32, 8], [4, 8]]") +
              range(940, 980, "aten::addmm, op_id = 9, sizes = [[4], [32, 8], [8, 4], [], []], input_op_ids = [(1, 0)]"));
  const Trace t = only();
  ASSERT_EQ(t.ops.size(), 2U);
  EXPECT_EQ(t.names[t.ops[1].name], "aten::addmm");
  ASSERT_LT(t.ops[1].inputs, t.inputs.size());
  const std::vector<OpInput>& inputs = t.inputs[t.ops[1].inputs];
  ASSERT_EQ(inputs.size(), 5U);
  EXPECT_EQ(inputs[1].shapes, (std::vector<std::vector<std::int64_t>>{{32, 8}}));
  EXPECT_TRUE(inputs[3].shapes.empty());
  EXPECT_EQ(t.gpu[0].external, t.ops[1].external) << "the innermost that its launch is in";
  EXPECT_EQ(t.gpu[1].external, kNone);
}

TEST_F(NsysFile, WhatNcclTells) {
  const std::string nccl = fmt::format(
      "INSERT INTO NVTX_EVENTS VALUES(0,NULL,75,'NCCL',{0},NULL,2,NULL,NULL);"
      "INSERT INTO NVTX_EVENTS VALUES(1,5,59,'ncclCommInitRank',{0},NULL,2,NULL,"
      "'{{\"NCCL communicator ID\":77,\"No. of ranks\":8,\"Rank\":3,\"CUDA device\":3}}');"
      "INSERT INTO NVTX_EVENTS VALUES(1540,1590,59,NULL,{0},6,2,8,NULL);",
      kProcess | 99);
  write_today(kernel(1600, 1700, 12, 5) + nccl);
  const Trace t = only();
  ASSERT_EQ(t.exchanges.size(), 1U);
  EXPECT_EQ(t.gpu[0].detail, 0U);
  EXPECT_EQ(t.names[t.exchanges[0].op], "allreduce");
  EXPECT_EQ(t.exchanges[0].in_elements, 1'048'576U);
  EXPECT_EQ(t.exchanges[0].ranks, 8U);
  EXPECT_EQ(t.rank, 3U);
  EXPECT_EQ(t.ranks, 8U);
}

TEST_F(NsysFile, RowsThatCannotBe) {
  write_today(kernel(1000, 1500, 11) + kernel(3000, 2500, 12) + kernel(-9, 20, 13) + kernel(100, INT64_MAX, 14));
  const Trace t = only();
  EXPECT_EQ(t.gpu.size(), 1U);
  EXPECT_EQ(t.damaged, 4U) << "and one of a call";
}

TEST_F(NsysFile, WhatIsNoProfile) {
  EXPECT_EQ(error(), ": there is no such file");
  std::ofstream(path_) << "";
  EXPECT_EQ(error(), ": it is empty");
  std::ofstream(path_) << "QuadD report";
  EXPECT_EQ(error(), ": this is no SQLite database");
  fs::remove(path_);
  write("CREATE TABLE StringIds(id INTEGER, value TEXT); CREATE TABLE NVTX_EVENTS(start INT, end INT, text TEXT);");
  EXPECT_EQ(error(), ": it holds nothing that ran on a GPU");
}

TEST_F(NsysFile, ADamagedFile) {
  std::string sql;
  for (int i = 1; i < 2000; ++i) sql += kernel(1000 * i, 1000 * i + 500, i);
  write_today("BEGIN;" + sql + "COMMIT;");
  fs::resize_file(path_, fs::file_size(path_) / 2);
  const auto all = read_nsys_file(path_.string());
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::corrupt);
  EXPECT_EQ(all.error().next, "export it again");
}

TEST_F(NsysFile, ViewsAreNotRun) {
  write(
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) "
      "SELECT x AS start, x+1 AS end FROM n;");
  EXPECT_EQ(error(), ": it holds nothing that ran on a GPU");
}

TEST(NsysMagic, OfSqlite) {
  EXPECT_TRUE(looks_like_sqlite(std::string_view("SQLite format 3\0\x10", 17)));
  EXPECT_FALSE(looks_like_sqlite("SQLite format 3"));
}

}  // namespace
}  // namespace muster::sqlite
