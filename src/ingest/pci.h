// PCI addresses as kernels, drivers and exporters spell them, and which slot of a node they are.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/site.h"

namespace muster {

constexpr std::size_t kSlotsMax = 16;  // GPUs in a node, as Site promises

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  auto operator<=>(const PciAddress&) const = default;
};

// "0000:1b:00", "0000:1b:00.0", "00000000:1B:00.0": the whole text. The function digit is not kept.
std::optional<PciAddress> read_pci(std::string_view text);
// Reads an address at the start of `text`; `used` is its length.
std::optional<PciAddress> read_pci_prefix(std::string_view text, std::size_t& used);
// "0000:1b:00"
std::string render(const PciAddress& a);

// The slots of one kind of node. -1: not there.
class PciTable {
 public:
  explicit PciTable(const Site& site);
  int gpu(const PciAddress& a) const;
  int nic(const PciAddress& a) const;  // see nic_pci

 private:
  std::array<std::optional<PciAddress>, kSlotsMax> gpus_;
};

// Where slot's NIC sits: on the bus of its GPU, device 01, as "0000:1b:01.0". Empty when the site does not say where
// its GPUs are.
std::string nic_pci(const Site& site, int slot);

// "mlx5_3", or "mlx5_3:1" with the port, is the NIC of slot 3. -1: the NIC of no GPU.
int slot_of_nic(std::string_view device, const Site& site);

}  // namespace muster
