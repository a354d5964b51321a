#include "detect/engine_drains.h"

#include <fmt/core.h>

namespace muster::detect {

void on_engine(const Body& b, const State& s, Time utc, Signs& out) {
  constexpr FindingKind kKind = FindingKind::engine_drained;
  if (const auto* h = std::get_if<NodeHeld>(&b); h != nullptr && h->node.v < s.nodes.size()) {
    if (!h->engine) return out.clear(kKind, h->node, -1, h->held ? "a person has the node now" : "somebody put it back");
    if (s.nodes[h->node.v].hold != Hold::none) return;  // it is out of service already, and somebody knows why
    out.see(kKind, Severity::warning, h->node, -1, Witness::engine, utc,
            fmt::format("taken out of service by the scheduler itself: {}", h->why));
    out.seen.back().code = h->leftovers ? kLeftovers : 0;
    return;
  }
  const auto* ended = std::get_if<OrderEnded>(&b);
  if (ended == nullptr || ended->status != Status::done) return;
  const auto order = s.orders.find(ended->key);
  if (order == s.orders.end() || order->second.order.action.verb != Verb::undrain_node) return;
  out.clear(kKind, order->second.order.action.node, -1, "back in service");
}

}  // namespace muster::detect
