#include "model/fabric.h"

#include <algorithm>

namespace muster {

std::uint32_t Fabric::add(FabricNode node) {
  nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

void Fabric::connect(std::uint32_t a, std::uint16_t a_port, std::uint32_t b, std::uint16_t b_port, double gb_s,
                     std::uint8_t lanes) {
  const auto plug = [&](std::uint32_t from, std::uint16_t port, std::uint32_t to) {
    std::vector<std::uint32_t>& ports = nodes[from].out;
    if (ports.size() <= port) ports.resize(port + 1U, kNoLink);
    ports[port] = static_cast<std::uint32_t>(links.size());
    links.push_back({from, to, port, lanes, gb_s});
  };
  plug(a, a_port, b);
  plug(b, b_port, a);
}

void Fabric::cut(std::uint32_t link) {
  for (const FabricLink& l : {links[link], links[link ^ 1U]}) nodes[l.from].out[l.port] = kNoLink;
}

std::vector<std::uint32_t> Fabric::endpoints() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_switch) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [&](std::uint32_t x, std::uint32_t y) { return nodes[x].name < nodes[y].name; });
  return out;
}

}  // namespace muster
