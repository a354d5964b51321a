#include "ingest/prom_text.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ingest/cluster_file.h"

namespace muster {
namespace {

Site site() {
  Site s;
  s.gpus_per_node = 8;
  s.gpu_pci = {"0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00", "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00"};
  s.nodes.resize(3);
  s.nodes[0].name = "node0001";
  s.nodes[1].name = "node0002";
  s.nodes[2].name = "node0003";
  return s;
}

struct Parsed {
  std::size_t refused = 0;
  std::vector<Sample> samples;
};
Parsed parse(std::string_view text) {
  Parsed p;
  p.refused = parse_scrape(text, NodeId{1}, Time{9}, site(), p.samples);
  return p;
}
// The only sample of a text that must be without fault.
Sample only(std::string_view text) {
  const Parsed p = parse(text);
  EXPECT_EQ(p.refused, 0u) << text;
  EXPECT_EQ(p.samples.size(), 1u) << text;
  return p.samples.empty() ? Sample{} : p.samples[0];
}

TEST(PromText, ReadsALineOfDcgmExporter) {
  const Parsed p = parse(
      "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"5\",UUID=\"GPU-2669d42e\",pci_bus_id=\"00000000:C3:00.0\",device=\"nvidia5\","
      "modelName=\"NVIDIA "
      "H200\",Hostname=\"node0002\",DCGM_FI_DRIVER_VERSION=\"580.159.04\"} 64\n");
  ASSERT_EQ(p.samples.size(), 2u);
  EXPECT_EQ(p.samples[0].field, Field::driver_version);  // once a scrape, of the node
  EXPECT_EQ(p.samples[0].slot, -1);
  EXPECT_EQ(p.samples[0].value, version_number(580, 159, 4));
  const Sample& s = p.samples[1];
  EXPECT_EQ(s.at, Time{9});
  EXPECT_EQ(s.node, NodeId{1});
  EXPECT_EQ(s.slot, 5);
  EXPECT_EQ(s.field, Field::gpu_temp_c);
  EXPECT_EQ(s.value, 64);
}

TEST(PromText, ReadsWhatStandsInLabels) {
  const Sample firmware = only("node_infiniband_info{device=\"mlx5_3\",board_id=\"X\",firmware_version=\"28.43.2566\"} 1\n");
  EXPECT_EQ(firmware.field, Field::nic_firmware);
  EXPECT_EQ(firmware.slot, 3);
  EXPECT_EQ(firmware.value, version_number(28, 43, 2566));
  const Sample lanes = only("node_pcidevice_current_link_width{segment=\"0000\",bus=\"c3\",device=\"00\",function=\"0\"} 8\n");
  EXPECT_EQ(lanes.field, Field::pcie_width);
  EXPECT_EQ(lanes.slot, 5);
  EXPECT_TRUE(parse("node_pcidevice_current_link_width{segment=\"0000\",bus=\"05\",device=\"00\"} 1\n").samples.empty());
  const Sample hung = only("muster_probe_hung{probe=\"nvml\"} 1\n");
  EXPECT_EQ(hung.field, Field::driver_answers);
  EXPECT_EQ(hung.value, 0);
  EXPECT_TRUE(parse("muster_probe_hung{probe=\"mounts\"} 1\n").samples.empty());
}

TEST(PromText, KnowsOldAndNewNames) {
  const std::pair<const char*, Field> names[] = {{"DCGM_FI_DEV_GPU_TEMP_CELSIUS", Field::gpu_temp_c},
                                                 {"DCGM_FI_DEV_MEMORY_TEMP", Field::memory_temp_c},
                                                 {"DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", Field::memory_temp_c},
                                                 {"DCGM_FI_DEV_POWER_USAGE", Field::power_w},
                                                 {"DCGM_FI_DEV_BOARD_POWER_WATTS", Field::power_w},
                                                 {"DCGM_FI_DEV_SM_CLOCK", Field::sm_clock_mhz},
                                                 {"DCGM_FI_DEV_GPU_UTIL", Field::gpu_util_pct},
                                                 {"DCGM_FI_DEV_GPU_UTIL_RATIO", Field::gpu_util_pct},
                                                 {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Field::tensor_active},
                                                 {"DCGM_FI_PROF_TENSOR_UTIL_RATIO", Field::tensor_active},
                                                 {"DCGM_FI_DEV_THERMAL_VIOLATION", Field::thermal_violation_us},
                                                 {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", Field::ecc_sbe_total},
                                                 {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Field::ecc_dbe_total},
                                                 {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", Field::remapped_rows},
                                                 {"DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", Field::remapped_rows},
                                                 {"DCGM_FI_DEV_ROW_REMAP_PENDING", Field::remap_pending},
                                                 {"DCGM_FI_DEV_ROW_REMAP_FAILURE", Field::remap_failed},
                                                 {"DCGM_FI_DEV_ROW_REMAP_FAILED", Field::remap_failed},
                                                 {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", Field::pcie_replay_total},
                                                 {"DCGM_FI_DEV_PCIE_REPLAY_TOTAL", Field::pcie_replay_total},
                                                 {"DCGM_FI_DEV_PCIE_LINK_WIDTH", Field::pcie_width},
                                                 {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", Field::nvlink_errors_total},
                                                 {"DCGM_FI_DEV_XID_ERRORS", Field::xid_last},
                                                 {"DCGM_FI_DEV_XID_ERROR", Field::xid_last},
                                                 {"DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS", Field::nvlink_errors_total},
                                                 {"DCGM_FI_DEV_NVLINK_RECOVERY_FAILED_TOTAL", Field::nvlink_failures_total},
                                                 {"DCGM_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS", Field::pcie_corrected_total},
                                                 {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", Field::nvlink_errors_total}};
  for (const auto& [name, field] : names) {
    const Sample s = only(std::string(name) + "{gpu=\"3\"} 1");
    EXPECT_EQ(s.field, field) << name;
    EXPECT_EQ(s.slot, 3);
    EXPECT_EQ(s.value, 1);
  }
}

TEST(PromText, ReadsNodeExporter) {
  EXPECT_EQ(only("node_boot_time_seconds 1.7672256e+09").value, 1767225600.0);
  EXPECT_EQ(only("node_boot_time_seconds 1").slot, -1);
  const Sample down = only("node_infiniband_link_downed_total{device=\"mlx5_7\",port=\"1\"} 3");
  EXPECT_EQ(down.field, Field::ib_link_downed_total);
  EXPECT_EQ(down.slot, 7);
  EXPECT_EQ(only("node_infiniband_state_id{device=\"mlx5_0\",port=\"1\"} 4").value, 1);
  EXPECT_EQ(only("node_infiniband_state_id{device=\"mlx5_0\",port=\"1\"} 1").value, 0);
  const Parsed other =
      parse("node_infiniband_state_id{device=\"mlx5_8\",port=\"1\"} 1\nnode_infiniband_state_id{device=\"hfi1_0\"} 1\n");
  EXPECT_EQ(other.refused, 0u);
  EXPECT_TRUE(other.samples.empty());
}

TEST(PromText, ReadsValuesExactly) {
  for (const auto& [text, value] :
       std::initializer_list<std::pair<const char*, double>>{{"0", 0},
                                                             {"700.125", 700.125},
                                                             {"1e2", 100},
                                                             {"+3", 3},
                                                             {"0.1", 0.1},
                                                             {"123.456789012345", 123.456789012345},
                                                             {"0.30000000000000004", 0.30000000000000004},
                                                             {"00012", 12},
                                                             {"5.", 5},
                                                             {"7 1395066363000", 7},
                                                             {"7\t", 7},
                                                             {"7\r", 7}}) {
    EXPECT_EQ(only(std::string("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} ") + text).value, value) << text;
  }
}

TEST(PromText, DropsBlanksAndNotNumbersSilently) {
  for (const char* v : {"NaN", "nan", "+Inf", "-Inf", "9223372036854775792", "9223372036854775794", "9.223372036854776e+18",
                        "2147483632", "2147483635", "140737488355328", "140737488355331"}) {
    const Parsed p = parse(std::string("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\"} ") + v);
    EXPECT_EQ(p.refused, 0u) << v;
    EXPECT_TRUE(p.samples.empty()) << v;
  }
}

TEST(PromText, RefusesWhatIsMalformedOrOutOfRange) {
  for (const char* bad : {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"}",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} x",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\" 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0} 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=0} 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 64 x",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 64 1 2",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"8\"} 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"-1\"} 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"x\"} 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"\"} 64",
                          "DCGM_FI_DEV_GPU_TEMP 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 1e999",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 2000",
                          "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} -1",
                          "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\"} -5",
                          "DCGM_FI_DEV_ROW_REMAP_PENDING{gpu=\"0\"} 2",
                          "9abc 1",
                          "{gpu=\"0\"} 1",
                          "node_boot_time_seconds",
                          "node_boot_time_seconds{",
                          "node_boot_time_seconds{a=\"\\\"} 1",
                          "\x01\x02",
                          "é 1",
                          "node_infiniband_state_id{port=\"1\"} 4",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"node0001\"} 64",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",hostname=\"node0003\"} 64"}) {
    const Parsed p = parse(bad);
    EXPECT_EQ(p.refused, 1u) << bad;
    EXPECT_TRUE(p.samples.empty()) << bad;
  }
  EXPECT_EQ(parse("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",a=\"" + std::string(kScrapeLabelMax + 1, 'x') + "\"} 1").refused, 1u);
  EXPECT_EQ(parse("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",a=\"" + std::string(kScrapeLabelMax, 'x') + "\"} 1").refused, 0u);
  EXPECT_EQ(parse("anything " + std::string(kScrapeLineMax, 'x')).refused, 1u);
}

TEST(PromText, ReadsOpenMetrics) {
  const Parsed p = parse(
      "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n# UNIT DCGM_FI_DEV_GPU_TEMP celsius\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 64 1520879607.789\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 65 # {trace_id=\"KOO5S4vxi0o\"} 0.67\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"2\"} 66 1520879607.789 # {trace_id=\"x\"} 0.67 1520879607.1\n"
      "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL_created{gpu=\"2\"} 1520430000.123\n"
      "{\"DCGM_FI_DEV_GPU_TEMP\",gpu=\"3\"} 67\n"
      "{\"node.with dots\",gpu=\"3\"} 67\n"
      "{\"node_boot_time_seconds\"} 5\n"
      "DCGM_FI_DEV_GPU_TEMP{\"gpu\"=\"4\",\"odd.label\\\"\"=\"x\"} 68\n"
      "# EOF\n");
  EXPECT_EQ(p.refused, 0u);
  ASSERT_EQ(p.samples.size(), 6u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(p.samples[static_cast<std::size_t>(i)].slot, i);
    EXPECT_EQ(p.samples[static_cast<std::size_t>(i)].value, 64 + i);
  }
  EXPECT_EQ(p.samples[4].field, Field::boot_time_s);
  EXPECT_EQ(p.samples[5].slot, 4);
  for (const char* bad : {"DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 65 #x", "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 65# {a=\"b\"} 1",
                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 65 NaN", "{\"DCGM_FI_DEV_GPU_TEMP\"gpu=\"1\"} 65",
                          "{\"DCGM_FI_DEV_GPU_TEMP", "{\"\",gpu=\"1\"} 65", "DCGM_FI_DEV_GPU_TEMP{\"gpu=\"1\"} 65"})
    EXPECT_EQ(parse(bad).refused, 1u) << bad;
}

TEST(PromText, AWrongLineDoesNotHurtItsNeighbours) {
  const Parsed p = parse("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 1\nDCGM_FI_DEV_GPU_TEMP{gpu=\"\n\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 2");
  EXPECT_EQ(p.refused, 1u);
  ASSERT_EQ(p.samples.size(), 2u);
  EXPECT_EQ(p.samples[1].value, 2);
}

TEST(PromText, LabelsMayBeEscapedSpacedAndInAnyOrder) {
  EXPECT_EQ(only("DCGM_FI_DEV_GPU_TEMP{modelName=\"a\\\"},{gpu=\\\"7\\\"\\\\\",gpu=\"2\",} 64").slot, 2);
  EXPECT_EQ(only("DCGM_FI_DEV_GPU_TEMP{ gpu=\"2\", uuid=\"\" }\t64").slot, 2);
}

TEST(PromText, ThePciAddressDecidesTheSlot) {
  // GPU 0 is gone: the exporter calls the second one 0 now.
  EXPECT_EQ(only("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",pci_bus_id=\"00000000:43:00.0\"} 64").slot, 1);
  EXPECT_EQ(only("DCGM_FI_DEV_GPU_TEMP{gpu=\"4\",pci_bus_id=\"00000000:77:00.0\"} 64").slot, 4);
}

// Labels that stood on earlier lines are compared and not read again: whatever the order, each line must say what it says alone.
TEST(PromText, LabelsSeenBeforeAreReadAsTheFirstTime) {
  const char* const pci[] = {"1b", "43", "52", "61", "9d", "c3", "d1", "df"};
  std::vector<std::string> labels;
  for (int g = 0; g < 8; ++g)
    labels.push_back(fmt::format("gpu=\"{0}\",UUID=\"GPU-{0}\",pci_bus_id=\"0000:{1}:00.0\",device=\"nvidia{0}\"", g, pci[g]));
  labels.push_back(labels[1] + ",x=\"1\"");                                                     // begins like another
  labels.push_back("gpu=\"1\"");                                                                // the beginning of another
  labels.push_back("gpu=\"1\",pci_bus_id=\"bad\"");                                             // falls back to the index
  for (int i = 0; i < 16; ++i) labels.push_back(fmt::format("gpu=\"{}\",y=\"{}\"", i % 8, i));  // more than are remembered
  const char* const series[] = {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK"};
  std::string page;
  std::vector<Sample> alone;
  std::uint32_t draw = 1;
  for (int n = 0; n < 600; ++n) {
    draw = draw * 1664525 + 1013904223;
    // Runs in order, as exporters print them, and jumps.
    const std::size_t at = n % 50 < 24 ? static_cast<std::size_t>(n % 8) : draw / 65536 % labels.size();
    const std::string line = fmt::format("{}{{{}}} {}\n", series[n / 8 % 3], labels[at], 20 + n % 60);
    page += line;
    for (const Sample& s : parse(line).samples) alone.push_back(s);
  }
  const Parsed all = parse(page);
  EXPECT_EQ(all.refused, 0u);
  ASSERT_EQ(all.samples.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(all.samples[i].slot, alone[i].slot) << i;
    ASSERT_EQ(all.samples[i].field, alone[i].field) << i;
    ASSERT_EQ(all.samples[i].value, alone[i].value) << i;
  }
}

TEST(PromText, AForeignHostnameNobodyHasIsTolerated) {
  EXPECT_EQ(only("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"dcgm-exporter-x7k2p\"} 64").value, 64);
  EXPECT_EQ(only("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"node0002.cluster.example\"} 64").value, 64);
  std::string many;
  for (int i = 0; i < 100; ++i) many += fmt::format("DCGM_FI_DEV_GPU_TEMP{{gpu=\"0\",Hostname=\"h{}\"}} 64\n", i);
  EXPECT_GT(parse(many).refused, 90u);
}

TEST(PromText, NvlinkErrorsAreAddedUp) {
  const Parsed p = parse(
      "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{gpu=\"1\"} "
      "5\nDCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{gpu=\"1\"} 7\n");
  ASSERT_EQ(p.samples.size(), 1u);
  EXPECT_EQ(p.samples[0].value, 12);
  EXPECT_EQ(p.samples[0].slot, 1);
}

TEST(PromText, TimesInCollectivesAreAddedUp) {
  const std::string labels =
      "version=\"v5.1\",slurm_job_id=\"1670760\",node=\"node0002\",gpu=\"GPU3\",comm_name=\"unknown\",n_nodes=\"4\",nranks="
      "\"32\","
      "collective=\"{}\",message_size=\"134-135MB\",algo_proto=\"RING_SIMPLE\"";
  std::string text = "# muster full\n";
  for (const char* op : {"ReduceScatter", "AllGather"}) {
    const std::string l = fmt::format(fmt::runtime(labels), op);
    text += fmt::format("nccl_bus_bandwidth_gbs{{{}}} 44.1181\nnccl_collective_exec_time_microseconds{{{}}} 104164\n", l, l);
  }
  const Parsed p = parse(text);
  EXPECT_EQ(p.refused, 0u);
  ASSERT_EQ(p.samples.size(), 2u);
  EXPECT_EQ(p.samples[0].field, Field::collective_us);
  EXPECT_EQ(p.samples[0].slot, 3);
  EXPECT_EQ(p.samples[0].value, 208'328);
  EXPECT_EQ(p.samples[1].field, Field::gpus_visible);
  EXPECT_EQ(p.samples[1].value, 0) << "what a job writes shows no GPU";
}

TEST(PromText, LinksAreAddedUpUnderTheirGpusUuid) {
  const std::string gpu = "DCGM_FI_DEV_XID_ERRORS{gpu=\"2\",UUID=\"GPU-7\"} 0\n";
  const std::string links =
      "DCGM_FI_DEV_NVLINK_PPCNT_PHYSICAL_LINK_DOWN_COUNTER{nvlink=\"0\",gpu_uuid=\"GPU-7\"} 1\n"
      "DCGM_FI_DEV_NVLINK_PPCNT_PHYSICAL_LINK_DOWN_COUNTER{nvlink=\"1\",gpu_uuid=\"GPU-7\"} 3\n";
  const Parsed p = parse(gpu + links);
  ASSERT_EQ(p.samples.size(), 2u);
  EXPECT_EQ(p.samples[1].field, Field::nvlink_failures_total);
  EXPECT_EQ(p.samples[1].slot, 2);
  EXPECT_EQ(p.samples[1].value, 4);
  EXPECT_TRUE(parse(links).samples.empty()) << "of a GPU that was not shown";
  EXPECT_EQ(parse(links).refused, 0u);
}

TEST(PromText, AnXidsCountNamesItsCode) {
  const Sample s = only("DCGM_EXP_XID_ERRORS_COUNT{gpu=\"1\",window_size_in_ms=\"300000\",xid=\"79\"} 3");
  EXPECT_EQ(s.field, Field::xid_count);
  EXPECT_EQ(s.value, xid_count_value(79, 3));
  for (const char* xid : {"", "x", "7.5", "1000", "-1"}) {
    const Parsed p = parse("DCGM_EXP_XID_ERRORS_COUNT{gpu=\"1\",xid=\"" + std::string(xid) + "\"} 3\n");
    EXPECT_EQ(p.refused, 1u) << xid;
    EXPECT_TRUE(p.samples.empty());
  }
  EXPECT_EQ(parse("DCGM_FI_DEV_XID_ERRORS{gpu=\"1\"} 1000\n").refused, 1u);
}

TEST(PromText, AFullScrapeSaysWhichGpusAreThere) {
  const Parsed p = parse("# muster full\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\nDCGM_FI_DEV_GPU_TEMP{gpu=\"3\"} NaN\n");
  ASSERT_EQ(p.samples.size(), 2u);
  EXPECT_EQ(p.samples[1].field, Field::gpus_visible);
  EXPECT_EQ(p.samples[1].slot, -1);
  EXPECT_EQ(p.samples[1].value, 0b1001);
  EXPECT_EQ(only("# muster full").value, 0);
  EXPECT_TRUE(parse("# muster fuller\n").samples.empty());
  EXPECT_TRUE(parse("\n# muster full\n").samples.empty());
}

TEST(PromText, ABombOfSeriesIsCutOff) {
  std::string bomb;
  for (std::size_t i = 0; i < kScrapeSeriesMax * 4; ++i)
    bomb += "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",x=\"" + std::to_string(i) + "\"} 1\n";
  const Parsed p = parse(bomb);
  EXPECT_EQ(p.samples.size(), kScrapeSeriesMax);
  EXPECT_GE(p.refused, 1u);
}

TEST(PromText, ReadsTheSharedSampleScrapes) {
  const char* data = std::getenv("MUSTER_DATA");
  if (data == nullptr) GTEST_SKIP() << "MUSTER_DATA is not set: the sample scrapes are not here";
  for (const char* name : {"sample_dcgm_scrape_8xH200.prom", "sample_dcgm_scrape_8xH200_newlabel.prom"}) {
    std::ifstream file(std::string(data) + "/faults/" + name);
    if (!file) GTEST_SKIP() << name << " is not there";
    std::stringstream text;
    text << file.rdbuf();
    const Parsed p = parse(text.str());
    EXPECT_EQ(p.refused, 0u);
    EXPECT_EQ(p.samples.size(), 10u * 8u + 2u);  // ten of the default series are Muster's, and a count of Xids
  }
}

// The speed is printed, and asserted far below what is reached so that a loaded machine does not fail.
TEST(PromText, IsFast) {
  std::string text;
  for (const char* name :
       {"SM_CLOCK", "GPU_TEMP", "POWER_USAGE", "GPU_UTIL", "PCIE_REPLAY_COUNTER", "FB_FREE", "FB_USED", "MEM_CLOCK"}) {
    for (int g = 0; g < 8; ++g) {
      text += fmt::format(
          "DCGM_FI_DEV_{}{{gpu=\"{}\",UUID=\"GPU-4d03ada6-067c-79c7-b3cd-b7d9c4293bf5\",pci_bus_id=\"00000000:1B:00."
          "0\","
          "device=\"nvidia{}\",modelName=\"NVIDIA H200\",Hostname=\"node0002\",DCGM_FI_DRIVER_VERSION=\"580.159.04\"}} "
          "{}\n",
          name, g, g, 60 + g);
    }
  }
  const Site s = site();
  std::vector<Sample> out;
  double best = 1e9;
  constexpr int kRounds = 200;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto t0 = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) {
      out.clear();
      ASSERT_EQ(parse_scrape(text, NodeId{1}, Time{1}, s, out), 0u);
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
  }
  const double mb_per_s = static_cast<double>(text.size()) * kRounds / best / 1e6;
  std::printf("parse_scrape: %.0f MB/s, %.0f ns a line\n", mb_per_s, best / kRounds / 64 * 1e9);
  EXPECT_GT(mb_per_s, 20);
}

TEST(PromText, AddsUpWhatSeveralMemoryControllersCount) {
  std::vector<Sample> out;
  const Site s = site();
  EXPECT_EQ(parse_scrape("node_edac_uncorrectable_errors_total{controller=\"0\"} 1\n"
                         "node_edac_uncorrectable_errors_total{controller=\"1\"} 2\n",
                         NodeId{0}, Time{1}, s, out),
            0U);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].field, Field::host_uncorrected_total);
  EXPECT_EQ(out[0].value, 3);
}

TEST(PromText, TurnsTransfersASecondIntoAGeneration) {
  const Site s = site();
  const struct {
    const char* speed;
    double gen;
  } all[] = {{"2.5e9", 1}, {"5e9", 2}, {"8e9", 3}, {"16e9", 4}, {"32e9", 5}, {"64e9", 6}, {"0", 0}};
  for (const auto& x : all) {
    std::vector<Sample> out;
    const std::string pci = s.gpu_pci[1];
    const std::string line = "node_pcidevice_current_link_transfers_per_second{segment=\"" + pci.substr(0, 4) + "\",bus=\"" +
                             pci.substr(5, 2) + "\",device=\"" + pci.substr(8, 2) + "\",function=\"0\"} " + x.speed + "\n";
    parse_scrape(line, NodeId{0}, Time{1}, s, out);
    ASSERT_EQ(out.size(), 1U) << line;
    EXPECT_EQ(out[0].field, Field::pcie_gen);
    EXPECT_EQ(out[0].value, x.gen) << line;
  }
}

TEST(PromText, AddressesTheClusterFileDoesNotHaveAreLearntFromAWholePage) {
  const Site site = *plain_cluster(8);
  const auto page = [](int missing) {
    std::string text;
    int index = 0;
    for (int g = 0; g < 8; ++g) {
      if (g == missing) continue;
      text += fmt::format("DCGM_FI_DEV_GPU_TEMP{{gpu=\"{}\",pci_bus_id=\"00000000:0{}:00.0\"}} {}\n", index++, g + 1, 40 + g);
    }
    return text;
  };
  GpuPlaces places;
  std::vector<Sample> out;
  EXPECT_EQ(parse_scrape(page(-1), NodeId{0}, Time{1}, site, out, &places), 0U);
  EXPECT_EQ(places.address.size(), 8U);
  out.clear();
  // The exporter numbers anew what is behind a lost GPU; the addresses stay.
  EXPECT_EQ(parse_scrape(page(2), NodeId{0}, Time{1}, site, out, &places), 0U);
  ASSERT_EQ(out.size(), 7U);
  for (const Sample& s : out) {
    EXPECT_NE(s.slot, 2);
    EXPECT_EQ(s.value, 40 + s.slot);
  }
}

TEST(PromText, OfAPartitionedGpuTheFirstInstanceSpeaks) {
  const Site site = *plain_cluster(8);
  std::vector<Sample> out;
  parse_scrape(
      "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\",GPU_I_ID=\"7\"} 0\nDCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\",GPU_I_ID=\"8\"} 4\n",
      NodeId{0}, Time{1}, site, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].value, 0);
}

}  // namespace
}  // namespace muster
