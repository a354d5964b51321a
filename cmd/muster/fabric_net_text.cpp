#include "fabric_net_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ingest/ib_survey.h"
#include "ingest/lldp.h"

namespace muster::cmd {
namespace {

constexpr double kEthernetGbS = 50;  // of a port that does not say

bool between_switches(const Fabric& f, const FabricLink& l) { return f.nodes[l.from].is_switch && f.nodes[l.to].is_switch; }
bool has_trunks(const Fabric& f) {
  return std::any_of(f.links.begin(), f.links.end(), [&](const FabricLink& l) { return between_switches(f, l); });
}

// What hosts can tell of: their own cables, and the switches at the other ends.
Fabric as_hosts_see_it(const Fabric& f) {
  Fabric out;
  std::vector<std::uint32_t> id(f.nodes.size(), UINT32_MAX);
  const auto node = [&](std::uint32_t n) {
    if (id[n] == UINT32_MAX) {
      FabricNode copy = f.nodes[n];
      copy.out.clear();
      id[n] = out.add(std::move(copy));
    }
    return id[n];
  };
  for (std::size_t l = 0; l < f.links.size(); l += 2) {
    const FabricLink &a = f.links[l], &b = f.links[l + 1];
    if (!between_switches(f, a)) out.connect(node(a.from), a.port, node(b.from), b.port, a.gb_s, a.lanes);
  }
  return out;
}

}  // namespace

Result<Fabric> lldp_in(std::string_view text, const std::string& from) {
  const auto neighbours = parse_lldp(text, from);
  if (!neighbours) return tl::unexpected(neighbours.error());
  return lldp_fabric(*neighbours, kEthernetGbS);
}

Result<NetText> net_in(std::string_view text, const std::string& from) {
  NetText out;
  out.ethernet = looks_like_lldp(text);
  if (out.ethernet) {
    auto fabric = lldp_in(text, from);
    if (!fabric) return tl::unexpected(fabric.error());
    out.survey.fabric = std::move(*fabric);
    return out;
  }
  auto survey = parse_ib_survey(text, from);
  if (!survey) return tl::unexpected(survey.error());
  out.survey = std::move(*survey);
  return out;
}

bool leave_out_trunks(Fabric& design, const Fabric& found) {
  if (has_trunks(found) || !has_trunks(design)) return false;
  design = as_hosts_see_it(design);
  return true;
}

}  // namespace muster::cmd
