#include "ingest/node_exporter.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(NodeExporter, reads_infiniband_ports_and_firmware) {
  const NodeMetrics m = parse_node_exporter(
      "# TYPE node_infiniband_info gauge\n"
      "node_infiniband_info{board_id=\"MT_0000000838\",device=\"mlx5_0\",firmware_version=\"28.39.3004\",hca_type=\"MT4129\"} 1\n"
      "node_infiniband_link_downed_total{device=\"mlx5_0\",port=\"1\"} 3\n"
      "node_infiniband_link_downed_total{device=\"mlx5_1\",port=\"1\"} 0\n"
      "node_infiniband_state_id{device=\"mlx5_0\",port=\"1\"} 4\n"
      "node_infiniband_physical_state_id{device=\"mlx5_0\",port=\"1\"} 5\n"
      "node_infiniband_rate_bytes_per_second{device=\"mlx5_0\",port=\"1\"} 5e+10\n"
      "node_infiniband_symbol_error_total{device=\"mlx5_0\",port=\"1\"} 120\n"
      "node_infiniband_rx_icrc_encapsulated_errors_total{device=\"mlx5_0\",port=\"1\"} 9\n"
      "node_infiniband_something_new_total{device=\"mlx5_0\",port=\"1\"} 9\n");
  EXPECT_EQ(m.not_understood, 0u);
  EXPECT_EQ(m.samples, 9u);
  ASSERT_EQ(m.ib_cards.size(), 1u);
  EXPECT_EQ(m.ib_cards[0].firmware, "28.39.3004");
  EXPECT_EQ(m.ib_cards[0].type, "MT4129");
  ASSERT_EQ(m.ib_ports.size(), 2u);
  const IbPortMetrics& p = m.ib_ports[0];
  EXPECT_EQ(p.device, "mlx5_0");
  EXPECT_EQ(p.link_downed, 3);
  EXPECT_EQ(p.state, 4);
  EXPECT_EQ(p.physical_state, 5);
  EXPECT_EQ(p.rate_bytes_s, 5e10);
  EXPECT_EQ(p.symbol_errors, 120);
  EXPECT_EQ(p.icrc_errors, 9);
  EXPECT_FALSE(m.ib_ports[1].state);
}

TEST(NodeExporter, reads_every_series_of_a_port) {
  const char* names[] = {"state_id",
                         "physical_state_id",
                         "rate_bytes_per_second",
                         "link_downed_total",
                         "link_error_recovery_total",
                         "symbol_error_total",
                         "local_link_integrity_errors_total",
                         "excessive_buffer_overrun_errors_total",
                         "port_errors_received_total",
                         "port_receive_remote_physical_errors_total",
                         "port_receive_switch_relay_errors_total",
                         "port_discards_transmitted_total",
                         "port_transmit_wait_total",
                         "port_data_received_bytes_total",
                         "port_data_transmitted_bytes_total",
                         "local_ack_timeout_errors_total",
                         "packet_sequence_errors_total",
                         "out_of_sequence_packets_received_total",
                         "implied_nak_seq_errors_total",
                         "rnr_nak_retry_packets_received_total",
                         "roce_slow_restart_total",
                         "np_cnp_packets_sent_total",
                         "rp_cnp_packets_handled_total",
                         "np_ecn_marked_roce_packets_received_total",
                         "rx_icrc_encapsulated_errors_total"};
  std::string text;
  int value = 0;
  for (const char* n : names)
    text += std::string("node_infiniband_") + n + "{device=\"mlx5_0\",port=\"1\"} " + std::to_string(++value) + "\n";
  const NodeMetrics m = parse_node_exporter(text);
  ASSERT_EQ(m.ib_ports.size(), 1u);
  const IbPortMetrics& p = m.ib_ports[0];
  double sum = 0;
  for (const auto& v : {p.state,
                        p.physical_state,
                        p.rate_bytes_s,
                        p.link_downed,
                        p.link_recoveries,
                        p.symbol_errors,
                        p.integrity_errors,
                        p.buffer_overruns,
                        p.receive_errors,
                        p.remote_physical_errors,
                        p.switch_relay_errors,
                        p.discards,
                        p.transmit_wait,
                        p.received_bytes,
                        p.transmitted_bytes,
                        p.ack_timeouts,
                        p.sequence_errors,
                        p.out_of_sequence,
                        p.implied_nak,
                        p.rnr_retries,
                        p.roce_slow_restarts,
                        p.cnp_sent,
                        p.cnp_handled,
                        p.ecn_marked,
                        p.icrc_errors})
    sum += v.value_or(1e9);
  EXPECT_EQ(sum, value * (value + 1) / 2);
}

TEST(NodeExporter, reads_pcie_memory_heat_network_storage_and_the_killer) {
  const NodeMetrics m = parse_node_exporter(
      "node_pcidevice_current_link_width{bus=\"1b\",device=\"00\",function=\"0\",segment=\"0000\"} 8\n"
      "node_pcidevice_max_link_width{bus=\"1b\",device=\"00\",function=\"0\",segment=\"0000\"} 16\n"
      "node_pcidevice_current_link_transfers_per_second{bus=\"1b\",device=\"00\",function=\"0\",segment=\"0000\"} 1.6e+10\n"
      "node_edac_correctable_errors_total{controller=\"0\"} 7\nnode_edac_uncorrectable_errors_total{controller=\"0\"} 1\n"
      "node_edac_csrow_correctable_errors_total{controller=\"0\",csrow=\"unknown\"} 3\n"
      "node_hwmon_temp_celsius{chip=\"platform_coretemp_0\",sensor=\"temp1\"} 71\n"
      "node_network_carrier_changes_total{device=\"eth0\"} 5\nnode_network_up{device=\"eth0\"} 1\n"
      "node_vmstat_oom_kill 2\nnode_nfs_rpc_retransmissions_total 11\nnode_boot_time_seconds 1.7e+09\n"
      "node_uname_info{machine=\"x86_64\",nodename=\"n\",release=\"6.1.0-18-amd64\",sysname=\"Linux\"} 1\n");
  EXPECT_EQ(m.not_understood, 0u);
  ASSERT_EQ(m.pcie.size(), 1u);
  EXPECT_EQ(m.pcie[0].address, (PciAddress{0, 0x1b, 0}));
  EXPECT_EQ(m.pcie[0].width, 8);
  EXPECT_EQ(m.pcie[0].width_max, 16);
  EXPECT_EQ(m.pcie[0].transfers_s, 1.6e10);
  ASSERT_EQ(m.memory.size(), 1u);
  EXPECT_EQ(m.memory[0].corrected, 7);
  EXPECT_EQ(m.memory[0].uncorrected, 1);
  ASSERT_EQ(m.heat.size(), 1u);
  EXPECT_EQ(m.heat[0].temp_c, 71);
  ASSERT_EQ(m.network.size(), 1u);
  EXPECT_EQ(m.network[0].carrier_changes, 5);
  EXPECT_EQ(m.network[0].up, 1);
  EXPECT_EQ(m.oom_kills, 2);
  EXPECT_EQ(m.nfs_retransmissions, 11);
  EXPECT_EQ(m.boot_time_s, 1.7e9);
  EXPECT_EQ(m.kernel, "6.1.0-18-amd64");
}

TEST(NodeExporter, counts_what_it_does_not_understand) {
  for (const char* bad :
       {"node_infiniband_state_id 4", "node_infiniband_state_id{device=\"mlx5_0\"} 4", "node_infiniband_info 1",
        "node_pcidevice_max_link_width{bus=\"zz\",device=\"00\",function=\"0\",segment=\"0000\"} 16",
        "node_pcidevice_max_link_width{bus=\"1b\",device=\"00\",function=\"9\",segment=\"0000\"} 16", "node_vmstat_oom_kill -1",
        "node_vmstat_oom_kill", "node_vmstat_oom_kill x", "node_vmstat_oom_kill 1x", "node_edac_correctable_errors_total 1",
        "a{b=\"c} 1", "a{b=\"c\" d=\"e\"} 1", "{} 1", "node_hwmon_temp_celsius 1e9"}) {
    EXPECT_EQ(parse_node_exporter(bad).not_understood, 1u) << bad;
  }
  const NodeMetrics fine = parse_node_exporter("a{b=\"x\\\"},{\\n\\\\\",} 1 1600000000000\r\n# EOF\nnode_vmstat_oom_kill NaN\n");
  EXPECT_EQ(fine.not_understood, 0u);
  EXPECT_EQ(fine.samples, 2u);
  EXPECT_FALSE(fine.oom_kills);
}

TEST(NodeExporter, is_bounded) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "node_network_up{device=\"veth" + std::to_string(i) + "\"} 1\n";
  const NodeMetrics m = parse_node_exporter(text);
  EXPECT_EQ(m.network.size(), kNodeItemsMax);
  EXPECT_EQ(m.left_out, 3000 - kNodeItemsMax);
  const NodeMetrics name = parse_node_exporter("node_network_up{device=\"" + std::string(3000, 'x') + "\"} 1\n");
  EXPECT_EQ(name.network.at(0).device.size(), kNodeTextMax);
}

}  // namespace
}  // namespace muster
