#include "design/fabric_hosts.h"

#include <set>
#include <string_view>

#include "design/fabric_compare.h"
#include "design/fabric_match.h"

namespace muster::design {
namespace {

// A card's description is "HOST CARD"; what is described otherwise, such as a switch's own aggregation port, is no host's.
bool of_host(const FabricNode& n) {
  const std::string_view host = host_of(n.name);
  return !n.is_switch && !host.empty() && host.size() + 1 < n.name.size() &&
         n.name.find_first_of(" \t", host.size() + 1) == std::string::npos;
}

// "leaf03" of "leaf03[17]".
std::string_view device_of(std::string_view end) { return end.ends_with(']') ? end.substr(0, end.rfind('[')) : end; }

}  // namespace

FabricHosts::FabricHosts(const Fabric& design) {
  const EndNames names(design);
  for (std::uint32_t i = 0; i < design.nodes.size(); ++i) {
    const FabricNode& n = design.nodes[i];
    if (of_host(n)) {
      const std::string host(host_of(n.name));
      devices_[names.device(i)] = {true, {host}};
      devices_[host] = {true, {host}};
      continue;
    }
    if (!n.is_switch) continue;
    std::set<std::string> hosts;
    for (const std::uint32_t link : n.out) {
      if (link == Fabric::kNoLink) continue;
      const FabricNode& far = design.nodes[design.links[link].to];
      if (of_host(far)) hosts.emplace(host_of(far.name));
    }
    devices_[names.device(i)] = {false, {hosts.begin(), hosts.end()}};
  }
}

std::vector<std::string> FabricHosts::touched(const FabricFault& f) const {
  std::set<std::string> hosts, behind;
  for (const std::string& end : f.ends) {
    const auto at = devices_.find(device_of(end));
    if (at == devices_.end()) continue;
    (at->second.is_host ? hosts : behind).insert(at->second.hosts.begin(), at->second.hosts.end());
  }
  const std::set<std::string>& out = hosts.empty() ? behind : hosts;
  return {out.begin(), out.end()};
}

}  // namespace muster::design
