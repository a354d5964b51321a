// Readings: what probes print, as values. A probe prints lines of words; what cannot be read is counted and left out.
//
//   gpu 0 uuid GPU-5f...                  who it is: uuid, pci, model, serial, minor
//   gpu 0 DCGM_FI_DEV_GPU_TEMP 41         a value, under dcgm-exporter's name
//   node driver_version 580.159.04        a fact about the node
//   ib mlx5_0 1 link_downed_total 3       a counter or state of a port
//   pci 0000:1b:00.0 current_width 16     of a PCI device that is a GPU or a NIC
//   xid 0 31 00000000:1B:00.0             an Xid that NVML told of
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

struct GpuReadings {
  std::map<std::string, std::string> facts;  // uuid, pci, model, serial, minor, vbios, part, inforom
  std::map<std::string, double> values;      // by dcgm-exporter's name
};

struct Xid {
  int gpu = 0;
  int code = 0;
  std::string pci;  // may be empty
};

struct Readings {
  std::map<int, GpuReadings> gpus;                                             // by index
  std::map<std::string, std::string> node;                                     // versions and the like
  std::map<std::pair<std::string, int>, std::map<std::string, double>> ports;  // (device, port)
  std::map<std::string, std::map<std::string, double>> pci;
  std::vector<Xid> xids;   // in order
  std::size_t unread = 0;  // lines
};

Readings parse_readings(std::string_view text);
// `newer` replaces what it has; the rest stays.
void merge_readings(Readings& into, Readings newer);

}  // namespace muster::agent
