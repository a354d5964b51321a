#include "ingest/documents.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ingest/fault_catalog.h"
#include "ingest/nvidia_smi_text.h"

namespace muster {
namespace {

DocumentReading read(const std::string& text) {
  const auto kind = recognise_document(text, true);
  EXPECT_TRUE(kind && *kind != DocumentKind::none) << text.substr(0, 80);
  const DocumentReading d = read_document(kind.value_or(DocumentKind::none), text);
  for (const DocumentProblem& p : d.problems) {
    EXPECT_TRUE(p.fault.empty() ? !p.meaning.empty() && !p.severity.empty() && !p.scope.empty() && !p.action.empty()
                                : find_fault(p.fault) != nullptr)
        << p.code << " / " << p.fault;
    EXPECT_GT(p.line_first, 0u) << p.code;
    EXPECT_LE(p.line_first, p.line_last) << p.code;
  }
  return d;
}

std::vector<std::string> codes(const DocumentReading& d) {
  std::vector<std::string> out;
  for (const DocumentProblem& p : d.problems) out.push_back(p.code);
  return out;
}
using Codes = std::vector<std::string>;

const std::string kSmiHead =
    "\n==============NVSMI LOG==============\n\nTimestamp                                 : Sun Nov 15 00:15:38 2026\n"
    "Driver Version                            : 580.159.04\nCUDA Version                              : 13.0\n\n"
    "Attached GPUs                             : 1\nGPU 00000000:1B:00.0\n"
    "    Product Name                          : NVIDIA H200\n";

std::string xml(const std::string& inside) {
  return "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n"
         "<driver_version>580.159.04</driver_version>\n<attached_gpus>1</attached_gpus>\n<gpu id=\"00000000:1B:00.0\">\n" +
         inside + "</gpu>\n</nvidia_smi_log>\n";
}

TEST(Documents, AreRecognisedByTheirContent) {
  const std::pair<const char*, DocumentKind> kinds[] = {
      {"\n==============NVSMI LOG==============\n", DocumentKind::nvidia_smi},
      {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", DocumentKind::nvidia_smi},
      {"<?xml version=\"1.0\" ?>\n<nvidia_smi_log>", DocumentKind::nvidia_smi_xml},
      {"Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n<?xml?><nvidia_smi_log>",
       DocumentKind::nvidia_smi_xml},
      {"NCCL version 2.26.2 compiled with CUDA 12.6\n\nJob summary\n", DocumentKind::nccl_ras},
      {"Errors for \"node7 HCA-1\"\n", DocumentKind::ibqueryerrors},
      {"## Summary: 76 nodes checked, 0 bad nodes found\n", DocumentKind::ibqueryerrors},
      {"ibwarn: [77] mad_rpc: failed\nErrors for \"a\"\n", DocumentKind::ibqueryerrors},
      {"[\n  {\n    \"gpu\": 0,", DocumentKind::amd_smi},
      {"{\"gpu_data\": [", DocumentKind::amd_smi},
      {"[    0.000000] Linux version 6.1\n", DocumentKind::none},
      {"{\"MESSAGE\":\"NVRM: Xid\",\"gpu\":1}\n", DocumentKind::none},
      {"[{\"log\":\"gpu\"}]", DocumentKind::none},
      {"NCCL version 2.26.2+cuda12.6\nstep 1 loss 2.0\n", DocumentKind::none},
      {"<html><body>nothing</body></html>", DocumentKind::none},
      {"ibwarn: [77] mad_rpc: failed\n", DocumentKind::none},
      {"6,1,1,-;Errors for you\n", DocumentKind::none},
      {"", DocumentKind::none},
      {"\n\n", DocumentKind::none},
  };
  for (const auto& [text, kind] : kinds) EXPECT_EQ(recognise_document(text, true), kind) << text;
}

TEST(Documents, ALogDoesNotWaitToBeRecognised) {
  EXPECT_EQ(recognise_document("[    1.0] hello\n", false), DocumentKind::none) << "its first line is enough";
  EXPECT_FALSE(recognise_document("[    1.0] hel", false)) << "half a line is not";
  EXPECT_FALSE(recognise_document("NCCL version 2.26.2 compiled with CUDA 12.6\n", false));
  EXPECT_EQ(recognise_document("NCCL version 2.26.2\n" + std::string(kDocumentHeadMax, 'x'), false), DocumentKind::none);
}

TEST(Documents, WhatNvidiaSmiSaysInXml) {
  const DocumentReading d = read(
      xml("<gpu_recovery_action>Reboot</gpu_recovery_action>\n<remapped_rows>\n<remapped_row_pending>Yes</remapped_row_pending>\n"
          "<remapped_row_failure>No</remapped_row_failure></remapped_rows>\n<ecc_errors><volatile>\n<dram_uncorrectable>2"
          "</dram_uncorrectable></volatile><aggregate><dram_uncorrectable>7</dram_uncorrectable></aggregate></ecc_errors>\n"));
  EXPECT_EQ(d.source, "nvidia_smi");
  EXPECT_EQ(codes(d), (Codes{"recovery_action_2", "row_remap_pending", "ecc_uncorrectable"}));
  EXPECT_EQ(d.problems[0].verdict, 2);
  EXPECT_EQ(d.problems[0].pci, "0000:1b:00");
  EXPECT_EQ(d.problems[0].line_first, 7u);
  EXPECT_EQ(d.problems[1].line_first, 9u);
  EXPECT_NE(d.problems[2].words.find("2 of memory"), std::string::npos);
}

TEST(Documents, AHealthyReportHasNoProblems) {
  EXPECT_TRUE(read(xml("<gpu_recovery_action>None</gpu_recovery_action><pci><pci_gpu_link_info><pcie_gen><max_link_gen>5"
                       "</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen></pci_gpu_link_info></pci>"
                       "<ecc_errors><aggregate><dram_uncorrectable>7</dram_uncorrectable></aggregate></ecc_errors>"))
                  .problems.empty())
      << "an idle link, and errors of a life";
  EXPECT_TRUE(read("## Summary: 76 nodes checked, 0 bad nodes found\n##          257 ports checked, 0 ports have errors beyond "
                   "threshold\n")
                  .problems.empty());
  EXPECT_TRUE(read("NCCL version 2.26.2 compiled with CUDA 12.6\n\nJob summary\n===========\n\nErrors\n======\n\nWarnings\n")
                  .problems.empty());
  EXPECT_TRUE(read(R"([{"gpu": 0, "ecc": {"total_uncorrectable_count": 0}}])").problems.empty());
}

TEST(Documents, TheTextOfNvidiaSmiSaysTheSame) {
  const DocumentReading d = read(
      kSmiHead +
      "    GPU Recovery Action                   : Reset\n    PCI\n        GPU Link Info\n            Link Width\n"
      "                Max                       : 16x\n                Current                   : 8x\n"
      "    Clocks Event Reasons\n        Idle                              : Not Active\n"
      "        HW Slowdown                       : Active\n            HW Thermal Slowdown           : Active\n"
      "            HW Power Brake Slowdown       : Not Active\n"
      "    ECC Errors\n        Volatile\n            DRAM Uncorrectable            : 3\n"
      "            SRAM Uncorrectable SEC-DED    : 1\n        Aggregate\n            DRAM Uncorrectable            : 9\n"
      "            SRAM Threshold Exceeded       : Yes\n        Unrepairable Memory               : Yes\n"
      "    Remapped Rows\n        Pending                           : Yes\n        Remapping Failure Occurred        : Yes\n"
      "        Bank Remap Availability Histogram\n            None                          : 2 bank(s)\n"
      "    Temperature\n        GPU T.Limit Temp                  : 3 C\n    Fabric\n        State                             : "
      "In Progress\n");
  EXPECT_EQ(codes(d), (Codes{"recovery_action_1", "pcie_width", "clock_hw_thermal", "ecc_uncorrectable",
                             "sram_threshold_exceeded", "unrepairable_memory", "row_remap_pending", "row_remap_failed",
                             "row_remap_no_spares", "gpu_temp", "fabric_state"}));
  EXPECT_EQ(d.problems[3].words, "3 of memory, 1 on the chip");
  EXPECT_NE(d.what.find("driver 580.159.04"), std::string::npos);
}

TEST(Documents, WhatNvidiaSmiSaysWhereItCannot) {
  EXPECT_EQ(codes(read("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
                       "NVIDIA driver is installed and running.\n")),
            Codes{"no_driver"});
  EXPECT_EQ(codes(read("Failed to initialize NVML: Driver/library version mismatch\n")), Codes{"driver_version_mismatch"});
  EXPECT_EQ(codes(read("No devices were found\n")), Codes{"no_gpus"});
  EXPECT_EQ(read("==============NVSMI LOG==============\nhello\nthere\nyou\n").notes.size(), 3u) << "one, how many, no GPU";
  const DocumentReading lost = read("Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n");
  EXPECT_EQ(codes(lost), Codes{"gpu_lost"});
  EXPECT_EQ(lost.problems[0].pci, "0000:a1:00");
  EXPECT_EQ(codes(read(kSmiHead + "    Temperature\n        GPU Current Temp                  : GPU is lost\n")),
            Codes{"gpu_lost"});
  EXPECT_EQ(codes(read(xml("<gpu_power_readings><power_draw>[Unknown Error]</power_draw></gpu_power_readings>"))),
            Codes{"unreadable"});
}

TEST(Documents, WhatRasNames) {
  const DocumentReading d = read(
      "NCCL version 2.26.2 compiled with CUDA 12.6\n\nJob summary\n===========\n\nErrors\n======\n\nDEAD\n"
      "  1 job process is considered dead (unreachable via the RAS network)\n"
      "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n#0-0 (cf264af53edbe986) INCOMPLETE\n"
      "  Missing communicator data from 2 ranks\n  The missing ranks: 21, 22\n\nWarnings\n========\n\nSTRANGE\n  x\n");
  EXPECT_EQ(codes(d), (Codes{"DEAD", "INCOMPLETE", "STRANGE"}));
  EXPECT_EQ(d.source, "nccl_ras");
  EXPECT_EQ(d.problems[0].pid, 3487984);
  EXPECT_EQ(d.problems[0].line_first, 9u);
  EXPECT_EQ(d.problems[0].line_last, 11u);
  EXPECT_NE(d.problems[1].words.find("rank 21; rank 22"), std::string::npos) << d.problems[1].words;
}

TEST(Documents, WhatIbqueryerrorsCounts) {
  const DocumentReading d = read(
      "Errors for 0x2c90300004100 \"leaf-000\"\n"
      "   GUID 0x2c90300004100 port ALL: [SymbolErrorCounter == 65535] [LinkDownedCounter == 7]\n"
      "   GUID 0x2c90300004100 port 9: [SymbolErrorCounter == 65535] [LinkDownedCounter == 7] [NewCounter == 3] "
      "[PortXmitData == 252936 (988.031KB)]\n"
      "\n## Summary: 76 nodes checked, 1 bad nodes found\n"
      "##          257 ports checked, 2 ports have errors beyond threshold\n");
  EXPECT_EQ(codes(d), (Codes{"SymbolErrorCounter", "LinkDownedCounter", "NewCounter"}));
  EXPECT_EQ(d.problems[0].line_first, 3u);
  EXPECT_EQ(d.problems[0].fault, "IB symbol_error");
  EXPECT_NE(d.problems[0].words.find("leaf-000, port 9: 65535 (where the counter stops)"), std::string::npos);
  EXPECT_EQ(codes(read("Errors for \"a\"\n   GUID 0x1 port ALL: [PortRcvErrors == 3]\n")), Codes{"PortRcvErrors"});
}

TEST(Documents, WhatAmdSmiCounts) {
  const DocumentReading d = read(
      "[\n{\"gpu\": 0},\n{\"gpu\": 3, \"bus\": {\"bdf\": \"0000:05:00.0\"}, \"ecc\": {\"total_uncorrectable_count\": 2, "
      "\"total_deferred_count\": 1}, \"pending\": [{\"page_address\": \"0x1\", \"status\": \"PENDING\"}]}]\n");
  EXPECT_EQ(codes(d), (Codes{"ecc_uncorrectable", "ecc_deferred", "bad_page_pending"}));
  EXPECT_EQ(d.problems[0].pci, "0000:05:00");
  EXPECT_EQ(d.problems[0].line_first, 3u);
}

TEST(Documents, OfABrokenJsonTheGpusThatAreWholeAreRead) {
  EXPECT_NE(read("[{\"gpu\": 0, ").broken, "");
  const std::string one = R"({"gpu": 1, "asic": {"market_name": "a } \" b"}, "ecc": {"total_uncorrectable_count": 3}})";
  const DocumentReading cut = read("[\n" + one + ",\n{\"gpu\": 2, \"ecc\": {\"total_unc");
  EXPECT_EQ(codes(cut), Codes{"ecc_uncorrectable"});
  EXPECT_NE(cut.broken, "");
  const DocumentReading two = read("[" + one + "]\n[" + one + "]\n");
  EXPECT_EQ(codes(two), (Codes{"ecc_uncorrectable", "ecc_uncorrectable"}));
  EXPECT_EQ(two.problems[1].line_first, 2u);
  EXPECT_NE(two.broken, "");
  EXPECT_EQ(read("[" + one + "]\n").broken, "");
}

TEST(Documents, ATextThatIsCutOffHasNoGpuMissing) {
  const std::string head = "==============NVSMI LOG==============\n\nAttached GPUs                             : 3\n";
  const std::string gpu =
      "GPU 00000000:1B:00.0\n    Product Name                          : NVIDIA H200\n    Processes                  : None\n"
      "    Capabilities\n        EGM                               : disabled\n";
  EXPECT_EQ(codes(read(head + gpu)), Codes{"gpu_count"}) << "whole as far as it goes";
  EXPECT_EQ(codes(read(head + gpu + gpu)), Codes{"gpu_count"});
  EXPECT_EQ(codes(read(head + gpu + gpu + "\nroot@gpu01:~# ")), Codes{"gpu_count"}) << "a prompt is no part of it";
  for (const std::string& cut : {gpu.substr(0, 60), gpu + gpu.substr(0, 60), gpu + gpu.substr(0, gpu.find("    Cap")),
                                 gpu + "GPU 00000000:43:00.0\n", gpu + gpu.substr(0, gpu.size() - 14)}) {
    const DocumentReading d = read(head + cut);
    EXPECT_EQ(codes(d), Codes{}) << cut;
    ASSERT_EQ(d.notes.size(), 1u) << cut;
    EXPECT_EQ(d.notes[0].find("it is not whole: 3 GPUs are attached"), 0u) << d.notes[0];
  }
}

TEST(Documents, ReportsAreFoundBehindAPromptAndInALog) {
  const std::string ras = "NCCL version 2.26.2 compiled with CUDA 12.6\n\nJob summary\n===========\n";
  const std::string ib = "Errors for \"a\"\n   GUID 0x1 port 3: [PortRcvErrors == 3]\n## Summary: 7 nodes checked, 1 bad nodes\n";
  const std::string log = "[    1.0] hello\n", prompt = "root@gpu01:~# x\n", noise(10'000, 'x');
  using Found = std::vector<std::pair<std::uint64_t, DocumentKind>>;
  const std::pair<std::string, Found> texts[] = {
      {prompt + kSmiHead, {{2, DocumentKind::nvidia_smi}}},
      {"# ncclras\n" + ras, {{1, DocumentKind::nccl_ras}}},
      {"$ ibqueryerrors\n" + ib, {{1, DocumentKind::ibqueryerrors}}},
      {prompt + xml(""), {{1, DocumentKind::nvidia_smi_xml}}},
      {log + kSmiHead + ras + log + ib + xml("") + xml(""),
       {{2, DocumentKind::nvidia_smi},
        {11, DocumentKind::nccl_ras},
        {16, DocumentKind::ibqueryerrors},
        {19, DocumentKind::nvidia_smi_xml},
        {27, DocumentKind::nvidia_smi_xml}}},
      {prompt + "No devices were found\n", {{1, DocumentKind::nvidia_smi}}},
      {"Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n" + xml(""),
       {{0, DocumentKind::nvidia_smi_xml}}},
      {std::string(40, '\n') + "No devices were found\n", {}},
      {"NCCL version 2.21.5+cuda12.4\n" + noise + "\nJob summary\n", {}},
      {"NCCL version 2.21.5+cuda12.4\n" + noise + "\n" + ib, {{2, DocumentKind::ibqueryerrors}}},
      {"[  2.0] Errors for \"a\"\n " + kSmiHead.substr(1), {}},
  };
  for (const auto& [text, expected] : texts) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, text.size()}) {
      ReportFinder finder;
      for (std::size_t at = 0; at < text.size(); at += step) finder.feed(std::string_view(text).substr(at, step));
      Found found;
      for (const FoundReport& r : finder.finish()) found.emplace_back(r.lines_before, r.kind);
      EXPECT_EQ(found, expected) << text.substr(0, 60) << " in steps of " << step;
    }
  }
  ReportFinder finder;
  finder.feed(kSmiHead);
  for (int i = 0; i < 40; ++i) finder.feed(std::string(1 << 20, 'x') + "\n");
  const auto found = finder.finish();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].cut);
  EXPECT_EQ(found[0].text.size(), kDocumentBytesMax);
}

TEST(Documents, TextAndXmlOfTheSameGpuAreReadAlike) {
  const char* data = std::getenv("MUSTER_DATA");
  const auto file = [&](const char* name) {
    std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/h200/" + name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  const std::string text = file("nvidia-smi-q.txt"), as_xml = file("nvidia-smi-q.xml");
  if (text.empty() || as_xml.empty()) GTEST_SKIP() << "h200 of $MUSTER_DATA is not there";
  const NvidiaSmi a = parse_nvidia_smi_text(text), b = parse_nvidia_smi(as_xml);
  ASSERT_EQ(a.gpus.size(), b.gpus.size());
  EXPECT_TRUE(a.complete) << a.broken;
  EXPECT_EQ(a.driver, b.driver);
  EXPECT_EQ(a.not_understood, 0u);
  const SmiGpu &x = a.gpus.at(0), &y = b.gpus.at(0);
  EXPECT_EQ(x.pci, y.pci);
  EXPECT_EQ(x.uuid, y.uuid);
  EXPECT_EQ(x.serial, y.serial);
  EXPECT_EQ(x.recovery, y.recovery);
  EXPECT_EQ(x.ecc_on, y.ecc_on);
  EXPECT_EQ(x.remap_pending, y.remap_pending);
  EXPECT_EQ(x.remap_failed, y.remap_failed);
  EXPECT_EQ(x.remap_banks_none_left, y.remap_banks_none_left);
  EXPECT_EQ(x.sram_uncorrected, y.sram_uncorrected);
  EXPECT_EQ(x.dram_uncorrected, y.dram_uncorrected);
  EXPECT_EQ(x.sram_threshold_exceeded, y.sram_threshold_exceeded);
  EXPECT_EQ(x.unrepairable_memory, y.unrepairable_memory);
  EXPECT_EQ(x.pcie_width, y.pcie_width);
  EXPECT_EQ(x.pcie_gen, y.pcie_gen);
  EXPECT_EQ(x.clock_reasons, y.clock_reasons);
  EXPECT_EQ(x.slowdown_margin_c, y.slowdown_margin_c);
  EXPECT_EQ(x.memory_total_mib, y.memory_total_mib);
  EXPECT_TRUE(x.power_w && x.temp_c && x.margin_c && x.sm_max_mhz);
  for (const std::string& t : {text, as_xml}) EXPECT_TRUE(read(t).problems.empty());
}

}  // namespace
}  // namespace muster
