#include "ingest/pci.h"

#include <fmt/core.h>

#include <charconv>

namespace muster {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Hex digits from text[i] on, `least` to `most` of them; moves i past them.
std::optional<std::uint32_t> hex_run(std::string_view text, std::size_t& i, std::size_t least, std::size_t most) {
  std::uint32_t v = 0;
  std::size_t n = 0;
  while (i < text.size() && n < most && hex(text[i]) >= 0) {
    v = v << 4 | static_cast<std::uint32_t>(hex(text[i]));
    ++i, ++n;
  }
  if (n < least) return std::nullopt;
  return v;
}

}  // namespace

std::optional<PciAddress> read_pci_prefix(std::string_view text, std::size_t& used) {
  std::size_t i = 0;
  const auto domain = hex_run(text, i, 4, 8);
  if (!domain || i >= text.size() || text[i++] != ':') return std::nullopt;
  const auto bus = hex_run(text, i, 2, 2);
  if (!bus || i >= text.size() || text[i++] != ':') return std::nullopt;
  const auto device = hex_run(text, i, 2, 2);
  if (!device || *device > 0x1f) return std::nullopt;
  if (i + 1 < text.size() && text[i] == '.' && text[i + 1] >= '0' && text[i + 1] <= '7') i += 2;
  used = i;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device)};
}

std::optional<PciAddress> read_pci(std::string_view text) {
  std::size_t used = 0;
  const auto a = read_pci_prefix(text, used);
  return a && used == text.size() ? a : std::nullopt;
}

std::string render(const PciAddress& a) { return fmt::format("{:04x}:{:02x}:{:02x}", a.domain, a.bus, a.device); }

PciTable::PciTable(const Site& site) {
  for (std::size_t i = 0; i < site.gpu_pci.size() && i < kSlotsMax && i < site.gpus_per_node; ++i) {
    gpus_[i] = read_pci(site.gpu_pci[i]);
  }
}

int PciTable::gpu(const PciAddress& a) const {
  for (std::size_t i = 0; i < kSlotsMax; ++i) {
    if (gpus_[i] && *gpus_[i] == a) return static_cast<int>(i);
  }
  return -1;
}

int PciTable::nic(const PciAddress& a) const { return a.device == 1 ? gpu({a.domain, a.bus, 0}) : -1; }

std::string nic_pci(const Site& site, int slot) {
  if (slot < 0 || static_cast<std::size_t>(slot) >= site.gpu_pci.size()) return {};
  const auto a = read_pci(site.gpu_pci[static_cast<std::size_t>(slot)]);
  return a ? fmt::format("{:04x}:{:02x}:01.0", a->domain, a->bus) : std::string();
}

int slot_of_nic(std::string_view device, const Site& site) {
  constexpr std::string_view kDriver = "mlx5_";
  if (device.substr(0, kDriver.size()) != kDriver) return -1;
  device.remove_prefix(kDriver.size());
  device = device.substr(0, device.find(':'));
  unsigned slot = 0;
  const auto r = std::from_chars(device.data(), device.data() + device.size(), slot);
  if (device.empty() || r.ec != std::errc() || r.ptr != device.data() + device.size()) return -1;
  return slot < site.gpus_per_node && slot < kSlotsMax ? static_cast<int>(slot) : -1;
}

}  // namespace muster
