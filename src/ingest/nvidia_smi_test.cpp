#include "ingest/nvidia_smi.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ingest/xml.h"

namespace muster {
namespace {

std::string log_of(const std::string& inside, const std::string& top = "") {
  return "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n" + top +
         "<gpu id=\"00000000:1B:00.0\">\n" + inside + "</gpu>\n</nvidia_smi_log>\n";
}

SmiGpu gpu_of(const std::string& inside) {
  const NvidiaSmi smi = parse_nvidia_smi(log_of(inside));
  EXPECT_TRUE(smi.complete) << smi.broken;
  EXPECT_EQ(smi.gpus.size(), 1u);
  return smi.gpus.empty() ? SmiGpu{} : smi.gpus[0];
}

TEST(NvidiaSmi, reads_what_identifies_a_gpu) {
  const SmiGpu g =
      gpu_of("<product_name>NVIDIA H200</product_name><serial>165</serial><uuid>GPU-7</uuid><minor_number>3</minor_number>");
  EXPECT_EQ(g.product, "NVIDIA H200");
  EXPECT_EQ(g.serial, "165");
  EXPECT_EQ(g.uuid, "GPU-7");
  EXPECT_EQ(g.pci, "00000000:1B:00.0");
  EXPECT_EQ(g.minor, 3);
}

TEST(NvidiaSmi, reads_temperatures_as_limits_and_as_margins) {
  const SmiGpu hopper = gpu_of(
      "<temperature><gpu_temp>35 C</gpu_temp><gpu_temp_tlimit>52 C</gpu_temp_tlimit><gpu_temp_max_tlimit_threshold>-8 C"
      "</gpu_temp_max_tlimit_threshold><memory_temp>37 C</memory_temp></temperature>");
  EXPECT_EQ(hopper.temp_c, 35);
  EXPECT_EQ(hopper.margin_c, 52);
  EXPECT_EQ(hopper.shutdown_margin_c, -8);
  EXPECT_EQ(hopper.memory_temp_c, 37);
  EXPECT_FALSE(hopper.shutdown_c);
  const SmiGpu ampere = gpu_of(
      "<temperature><gpu_temp_max_threshold>92 C</gpu_temp_max_threshold><gpu_temp_slow_threshold>89 C</gpu_temp_slow_threshold>"
      "</temperature>");
  EXPECT_EQ(ampere.shutdown_c, 92);
  EXPECT_EQ(ampere.slowdown_c, 89);
}

TEST(NvidiaSmi, reads_clock_reasons_under_both_names) {
  for (const std::string word : {"event", "throttle"}) {
    const std::string head = "clocks_" + word + "_reason";
    const SmiGpu g = gpu_of("<" + head + "s><" + head + "_gpu_idle>Not Active</" + head + "_gpu_idle><" + head +
                            "_hw_thermal_slowdown>Active</" + head + "_hw_thermal_slowdown><" + head + "_hw_slowdown>Active</" +
                            head + "_hw_slowdown></" + head + "s>");
    ASSERT_TRUE(g.clock_reasons) << word;
    EXPECT_EQ(*g.clock_reasons, kClockHwThermal | kClockHwSlowdown) << word;
  }
}

TEST(NvidiaSmi, takes_power_from_wherever_the_driver_puts_it) {
  EXPECT_EQ(gpu_of("<power_readings><power_draw>412.30 W</power_draw><enforced_power_limit>700.00 W</enforced_power_limit>"
                   "</power_readings>")
                .power_w,
            412.3);
  const SmiGpu g = gpu_of(
      "<gpu_power_readings><average_power_draw>77.67 W</average_power_draw><instant_power_draw>77.39 W</instant_power_draw>"
      "<current_power_limit>700.00 W</current_power_limit></gpu_power_readings>"
      "<module_power_readings><instant_power_draw>5000 W</instant_power_draw></module_power_readings>");
  EXPECT_EQ(g.power_w, 77.67);
  EXPECT_EQ(g.power_limit_w, 700);
}

TEST(NvidiaSmi, adds_up_the_kinds_of_sram_errors) {
  const SmiGpu g = gpu_of(
      "<ecc_errors><volatile><sram_correctable>1</sram_correctable><sram_uncorrectable_parity>2</sram_uncorrectable_parity>"
      "<sram_uncorrectable_secded>3</sram_uncorrectable_secded><dram_correctable>4</dram_correctable><dram_uncorrectable>5"
      "</dram_uncorrectable></volatile><aggregate><dram_uncorrectable>6</dram_uncorrectable><sram_threshold_exceeded>Yes"
      "</sram_threshold_exceeded></aggregate><unrepairable_memory>No</unrepairable_memory></ecc_errors>");
  EXPECT_EQ(g.sram_corrected, 1);
  EXPECT_EQ(g.sram_uncorrected, 5);
  EXPECT_EQ(g.dram_corrected, 4);
  EXPECT_EQ(g.dram_uncorrected, 5);
  EXPECT_EQ(g.dram_uncorrected_ever, 6);
  EXPECT_EQ(g.sram_threshold_exceeded, true);
  EXPECT_EQ(g.unrepairable_memory, false);
}

TEST(NvidiaSmi, reads_the_errors_by_unit_of_older_gpus) {
  const SmiGpu g = gpu_of(
      "<ecc_errors><volatile><single_bit><device_memory>7</device_memory><register_file>1</register_file><l2_cache>2</l2_cache>"
      "<texture_memory>N/A</texture_memory><total>10</total></single_bit><double_bit><device_memory>1</device_memory><total>1</"
      "total>"
      "</double_bit></volatile><aggregate><double_bit><l2_cache>4</l2_cache></double_bit></aggregate></ecc_errors>"
      "<retired_pages><multiple_single_bit_retirement><retired_count>3</retired_count></multiple_single_bit_retirement>"
      "<double_bit_retirement><retired_count>1</retired_count></double_bit_retirement><pending_blacklist>Yes</pending_blacklist>"
      "</retired_pages>");
  EXPECT_EQ(g.dram_corrected, 7);
  EXPECT_EQ(g.sram_corrected, 3);
  EXPECT_EQ(g.dram_uncorrected, 1);
  EXPECT_EQ(g.sram_uncorrected_ever, 4);
  EXPECT_EQ(g.retired_single_bit, 3);
  EXPECT_EQ(g.retired_double_bit, 1);
  EXPECT_EQ(g.retirement_pending, true);
}

TEST(NvidiaSmi, is_not_confused_by_the_extra_remap_rows_of_newer_drivers) {
  const SmiGpu g = gpu_of(
      "<remapped_rows><remapped_row_corr>1</remapped_row_corr><remapped_row_corr_inactive>11</remapped_row_corr_inactive>"
      "<remapped_row_unc>2</remapped_row_unc><remapped_row_unc_inactive>12</remapped_row_unc_inactive>"
      "<remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure>"
      "<row_remapper_histogram><row_remapper_histogram_none>4 bank(s)</row_remapper_histogram_none></row_remapper_histogram>"
      "</remapped_rows>");
  EXPECT_EQ(g.remapped_corrected, 1);
  EXPECT_EQ(g.remapped_uncorrected, 2);
  EXPECT_EQ(g.remap_pending, true);
  EXPECT_EQ(g.remap_failed, false);
  EXPECT_EQ(g.remap_banks_none_left, 4);
}

TEST(NvidiaSmi, knows_the_recovery_actions_and_says_when_it_does_not) {
  const std::pair<const char*, RecoveryAction> all[] = {{"None", RecoveryAction::none},
                                                        {"Reset", RecoveryAction::reset},
                                                        {"GPU Reset Required", RecoveryAction::reset},
                                                        {"Reboot", RecoveryAction::reboot},
                                                        {"Node Reboot Required", RecoveryAction::reboot},
                                                        {"Drain P2P", RecoveryAction::drain_p2p},
                                                        {"Drain and Reset", RecoveryAction::drain_and_reset},
                                                        {"Recover IMEX Domain", RecoveryAction::recover_imex}};
  for (const auto& [words, action] : all)
    EXPECT_EQ(gpu_of("<gpu_recovery_action>" + std::string(words) + "</gpu_recovery_action>").recovery, action) << words;
  const NvidiaSmi odd = parse_nvidia_smi(log_of("<gpu_recovery_action>Pray</gpu_recovery_action>"));
  EXPECT_EQ(odd.gpus.at(0).recovery, RecoveryAction::unknown);
  EXPECT_EQ(odd.not_understood, 1u);
  EXPECT_FALSE(gpu_of("<gpu_recovery_action>N/A</gpu_recovery_action>").recovery);
}

TEST(NvidiaSmi, reads_the_pcie_link) {
  const SmiGpu g = gpu_of(
      "<pci><pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>4</"
      "current_link_gen><max_host_link_gen>N/A"
      "</max_host_link_gen></pcie_gen><link_widths><max_link_width>16x</max_link_width><current_link_width>8x</"
      "current_link_width>"
      "</link_widths></pci_gpu_link_info><replay_counter>117</replay_counter></pci>");
  EXPECT_EQ(g.pcie_gen, 4);
  EXPECT_EQ(g.pcie_gen_max, 5);
  EXPECT_FALSE(g.pcie_gen_host_max);
  EXPECT_EQ(g.pcie_width, 8);
  EXPECT_EQ(g.pcie_width_max, 16);
  EXPECT_EQ(g.pcie_replays, 117);
}

TEST(NvidiaSmi, reads_processes_and_mig_devices) {
  const SmiGpu ok = gpu_of(
      "<mig_mode><current_mig>Enabled</current_mig><pending_mig>Disabled</pending_mig></"
      "mig_mode><mig_devices><mig_device><index>0"
      "</index><gpu_instance_id>7</gpu_instance_id><compute_instance_id>0</compute_instance_id></mig_device></mig_devices>"
      "<processes><process_info><pid>4711</pid><type>C</type><process_name>python &lt;x&gt;</process_name><used_memory>1024 MiB"
      "</used_memory></process_info></processes>");
  ASSERT_EQ(ok.processes.size(), 1u);
  EXPECT_EQ(ok.processes[0].pid, 4711u);
  EXPECT_EQ(ok.processes[0].name, "python <x>");
  EXPECT_EQ(ok.processes[0].memory_mib, 1024);
  EXPECT_EQ(ok.mig_on, true);
  ASSERT_EQ(ok.mig.size(), 1u);
  EXPECT_EQ(ok.mig[0].gpu_instance, 7);
}

TEST(NvidiaSmi, tells_what_is_not_there_from_what_could_not_be_asked) {
  const NvidiaSmi none = parse_nvidia_smi(log_of(
      "<fan_speed>N/A</fan_speed><temperature><gpu_temp>N/A</gpu_temp><memory_temp>[Not Supported]</memory_temp></temperature>"
      "<gpu_reset_status><reset_required>Requested functionality has been deprecated</reset_required></gpu_reset_status>"));
  EXPECT_EQ(none.not_understood, 0u);
  EXPECT_EQ(none.gpus.at(0).unreadable, 0u);
  EXPECT_FALSE(none.gpus[0].reset_required);
  const NvidiaSmi lost =
      parse_nvidia_smi(log_of("<temperature><gpu_temp>ERR!</gpu_temp></temperature><power_readings><power_draw>[Unknown "
                              "Error]</power_draw></power_readings>"
                              "<clocks><sm_clock>[GPU requires reset]</sm_clock></clocks>"));
  EXPECT_EQ(lost.gpus.at(0).unreadable, 3u);
  EXPECT_EQ(lost.gpus[0].unreadable_text, "ERR!");
  EXPECT_EQ(parse_nvidia_smi(log_of("<temperature><gpu_temp>warm</gpu_temp></temperature>")).not_understood, 1u);
}

TEST(NvidiaSmi, cuts_the_note_behind_the_driver_version) {
  const NvidiaSmi smi = parse_nvidia_smi(
      log_of("", "<driver_version>610.10.01 (deprecated, see documentation)</driver_version><attached_gpus>8</attached_gpus>"));
  EXPECT_EQ(smi.driver, "610.10.01");
  EXPECT_EQ(smi.attached, 8);
}

TEST(NvidiaSmi, reads_the_words_around_the_xml) {
  const NvidiaSmi smi = parse_nvidia_smi("Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n" +
                                         log_of("") + "WARNING: infoROM is corrupted at gpu 0000:09:00.0\n\n");
  EXPECT_TRUE(smi.complete);
  ASSERT_EQ(smi.problems.size(), 2u);
  EXPECT_EQ(smi.problems[0].kind, SmiProblemKind::no_handle);
  EXPECT_EQ(smi.problems[0].pci, (PciAddress{0, 0xa1, 0}));
  EXPECT_EQ(smi.problems[1].kind, SmiProblemKind::inforom);
  EXPECT_EQ(smi.problems[1].pci, (PciAddress{0, 0x09, 0}));
  EXPECT_EQ(parse_nvidia_smi("Unable to determine the device handle for GPU 0000:09:00.0: GPU is lost.").problems.at(0).pci,
            (PciAddress{0, 0x09, 0}));
  EXPECT_EQ(parse_nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.").problems.at(0).kind,
            SmiProblemKind::no_driver);
  EXPECT_EQ(parse_nvidia_smi("No devices were found").problems.at(0).kind, SmiProblemKind::no_devices);
  EXPECT_EQ(parse_nvidia_smi("Failed to initialize NVML: Driver/library version mismatch").problems.at(0).kind,
            SmiProblemKind::version_mismatch);
  EXPECT_FALSE(parse_nvidia_smi("").complete);
}

TEST(NvidiaSmi, output_cut_in_the_middle_gives_the_gpus_before) {
  std::string text = log_of("<uuid>GPU-1</uuid>");
  text.replace(text.find("</nvidia_smi_log>"), std::string::npos, "<gpu id=\"00000000:43:00.0\"><uuid>GPU-2</uuid><tempe");
  const NvidiaSmi smi = parse_nvidia_smi(text);
  EXPECT_FALSE(smi.complete);
  EXPECT_EQ(smi.broken.rfind("line ", 0), 0u) << smi.broken;
  ASSERT_EQ(smi.gpus.size(), 1u);
  EXPECT_EQ(smi.gpus[0].uuid, "GPU-1");
}

TEST(NvidiaSmi, entities_are_neither_declared_nor_expanded) {
  std::string laughs = "<!DOCTYPE nvidia_smi_log [<!ENTITY a \"ha\">";
  for (char c = 'b'; c < 'm'; ++c) {
    laughs += std::string("<!ENTITY ") + c + " \"";
    for (int i = 0; i < 10; ++i) laughs += std::string("&") + static_cast<char>(c - 1) + ";";
    laughs += "\">";
  }
  laughs += "]><nvidia_smi_log><driver_version>&l;</driver_version></nvidia_smi_log>";
  const NvidiaSmi smi = parse_nvidia_smi(laughs);
  EXPECT_FALSE(smi.complete);
  EXPECT_NE(smi.broken.find("entities"), std::string::npos) << smi.broken;
  EXPECT_EQ(smi.driver, "");
  EXPECT_FALSE(parse_nvidia_smi("<nvidia_smi_log><driver_version>&x;</driver_version></nvidia_smi_log>").complete);
  EXPECT_FALSE(parse_nvidia_smi(log_of("<uuid>&x;</uuid>")).complete) << "nor where a DTD that is not read might declare it";
}

TEST(NvidiaSmi, is_bounded_in_every_direction) {
  std::string deep, many, processes, words;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_NE(parse_nvidia_smi("<nvidia_smi_log>" + deep).broken.find("nested"), std::string::npos);
  for (int i = 0; i < 100; ++i) many += "<gpu id=\"x\"></gpu>";
  const NvidiaSmi gpus = parse_nvidia_smi("<nvidia_smi_log>" + many + "</nvidia_smi_log>");
  EXPECT_EQ(gpus.gpus.size(), kSmiGpusMax);
  EXPECT_EQ(gpus.left_out, 100u - kSmiGpusMax);
  for (int i = 0; i < 300; ++i) processes += "<process_info><pid>1</pid></process_info>";
  EXPECT_EQ(gpu_of("<processes>" + processes + "</processes>").processes.size(), kSmiProcessesMax);
  for (int i = 0; i < 1000; ++i) words += "something is odd\n";
  EXPECT_EQ(parse_nvidia_smi(words).problems.size(), kSmiProblemsMax);
  EXPECT_EQ(gpu_of("<uuid>" + std::string(1 << 20, 'x') + "</uuid>").uuid.size(), kSmiTextMax);
}

TEST(NvidiaSmi, gives_samples_for_the_slots_the_node_has) {
  Site site;
  site.gpus_per_node = 2;
  site.gpu_pci = {"0000:1b:00", "0000:43:00"};
  site.nodes.resize(1);
  const std::string gpu =
      "<temperature><gpu_temp>35 C</gpu_temp></temperature><ecc_errors><volatile><sram_correctable>1</sram_correctable>"
      "<dram_correctable>4</dram_correctable></volatile></ecc_errors><remapped_rows><remapped_row_failure>Yes</"
      "remapped_row_failure>"
      "</remapped_rows><utilization><gpu_util>900 %</gpu_util></utilization>";
  std::vector<Sample> out;
  append_samples(parse_nvidia_smi(log_of(gpu)), NodeId{0}, Time{5}, site, out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].field, Field::gpu_temp_c);
  EXPECT_EQ(out[0].slot, 0);
  EXPECT_EQ(out[1].field, Field::ecc_sbe_total);
  EXPECT_EQ(out[1].value, 5);
  EXPECT_EQ(out[2].field, Field::remap_failed);
  site.gpu_pci = {"0000:99:00", "0000:43:00"};
  out.clear();
  append_samples(parse_nvidia_smi(log_of(gpu)), NodeId{0}, Time{5}, site, out);
  EXPECT_TRUE(out.empty());
}

TEST(NvidiaSmi, reads_a_real_h200) {
  const char* data = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/h200/nvidia-smi-q.xml");
  if (!in) GTEST_SKIP() << "h200/nvidia-smi-q.xml of $MUSTER_DATA is not there";
  std::stringstream text;
  text << in.rdbuf();
  const NvidiaSmi smi = parse_nvidia_smi(text.str());
  EXPECT_TRUE(smi.complete) << smi.broken;
  EXPECT_EQ(smi.driver, "580.159.04");
  EXPECT_EQ(smi.not_understood, 0u);
  ASSERT_EQ(smi.gpus.size(), 1u);
  const SmiGpu& g = smi.gpus[0];
  EXPECT_EQ(g.product, "NVIDIA H200");
  EXPECT_EQ(g.temp_c, 35);
  EXPECT_EQ(g.margin_c, 52);
  EXPECT_EQ(g.power_limit_w, 700);
  EXPECT_EQ(g.recovery, RecoveryAction::none);
  EXPECT_EQ(g.clock_reasons, kClockIdle);
  EXPECT_EQ(g.pcie_width, 16);
  EXPECT_EQ(g.dram_uncorrected_ever, 0);
  EXPECT_EQ(g.remap_failed, false);
  EXPECT_EQ(g.unreadable, 0u);
}

}  // namespace
}  // namespace muster
