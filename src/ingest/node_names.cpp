#include "ingest/node_names.h"

#include <algorithm>

namespace muster {

NodeNames::NodeNames(const Site& site) {
  for (std::uint32_t n = 0; n < site.nodes.size(); ++n) names_.emplace(site.nodes[n].name, NodeId{n});
}

NodeId NodeNames::find(std::string_view host) const {
  const auto look = [&](std::string_view name) {
    const auto it = names_.find(name);
    return it == names_.end() ? NodeId{} : it->second;
  };
  if (const NodeId n = look(host); n.some()) return n;
  if (const auto colon = host.rfind(':'); colon != std::string_view::npos) {
    host = host.substr(0, colon);
    if (const NodeId n = look(host); n.some()) return n;
  }
  // An address is not a name whose first part could be a node's.
  const bool address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto dot = host.find('.');
  return address || dot == std::string_view::npos ? NodeId{} : look(host.substr(0, dot));
}

std::string_view hostname_in(std::string_view page) {
  for (std::size_t at = 0; (at = page.find("ostname=\"", at)) != std::string_view::npos; at += 9) {
    if (at < 2 || (page[at - 1] != 'H' && page[at - 1] != 'h') || (page[at - 2] != ',' && page[at - 2] != '{')) continue;
    const std::string_view rest = page.substr(at + 9, 256);
    return rest.substr(0, std::min(rest.find('"'), rest.size()));
  }
  return {};
}

}  // namespace muster
