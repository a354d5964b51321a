#include "predict/protocols.h"

#include <algorithm>
#include <array>

#include "base/math.h"

namespace muster::predict {
namespace {

struct Hops {
  double base_us, nvlink_us, network_us, bandwidth;
};
struct Protocol {
  std::string_view name;
  Hops ring, tree;
};
constexpr std::array<Protocol, 3> kProtocols = {{{"LL", {6.6, 0.6, 2.7, 0.5}, {6.8, 0.6, 5, 1 / 3.8}},
                                                 {"LL128", {14, 1.9, 4, 0.92}, {14, 1.25, 8.5, 120.0 / 128}},
                                                 {"Simple", {8.4, 3.4, 14, 1}, {8.4, 4, 14, 1}}}};
constexpr double kNvlsUs = 25, kNvlsTreeUs = 20.9, kCollNetUs = 31, kPeerUs = 0.4;
constexpr double kFullRing = 1.4;  // a ring of several nodes under Simple, from 64 bytes a rank and channel on

}  // namespace

std::vector<ProtocolCost> protocol_costs(std::string_view algorithm, const CollectiveSetup& s) {
  const double near = std::min<double>(s.gpus, std::max(1U, s.together)), domains = std::max(1.0, s.gpus / near);
  const double levels = det_log(domains) / det_log(2.0);
  if (algorithm == "NVLS") return {{"Simple", kNvlsUs, 1}};
  if (algorithm == "NVLSTree") return {{"Simple", kNvlsUs + 2 * levels * kNvlsTreeUs, 1}};
  if (algorithm == "CollNet") return {{"Simple", 2 * kProtocols[2].tree.nvlink_us + kPeerUs * (near - 1) + kCollNetUs, 1}};
  std::vector<ProtocolCost> out;
  for (const Protocol& p : kProtocols) {
    const bool simple = p.name == "Simple";
    if (algorithm == "Tree") {
      const double up = (near - 1) * p.tree.nvlink_us + levels * p.tree.network_us;
      out.push_back({p.name, p.tree.base_us + 2 * up, p.tree.bandwidth});
    } else if (algorithm == "direct") {
      if (p.name == "LL128") continue;  // sends and receives have the other two
      // All to all: messages to many are under way at once; what waits grows with the doublings.
      const double hops = s.op == Collective::all_to_all ? 1 + levels : 1;
      out.push_back(
          {p.name, p.ring.base_us + (domains > 1 ? hops * p.ring.network_us : p.ring.nvlink_us * hops), p.ring.bandwidth});
    } else {
      const double rounds = s.op == Collective::all_reduce ? 2 : 1;
      const double across = rounds * (domains - 1) * p.ring.network_us * (simple ? kFullRing : 1);
      out.push_back({p.name, p.ring.base_us + rounds * (s.gpus - domains) * p.ring.nvlink_us + across, p.ring.bandwidth});
    }
  }
  return out;
}

}  // namespace muster::predict
