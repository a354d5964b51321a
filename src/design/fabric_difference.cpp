#include "design/fabric_difference.h"

#include <algorithm>

namespace muster::design {

Overlay::Overlay(const Fabric& design, const Fabric& found, const FabricMatch& match)
    : design_(design), found_(found), match_(match), of_found_(match.design_of), design_names_(design), found_names_(found) {
  const auto wanted = static_cast<std::uint32_t>(design.nodes.size());
  for (std::uint32_t f = 0; f < found.nodes.size(); ++f) {
    if (of_found_[f] != kNone) continue;
    of_found_[f] = wanted + static_cast<std::uint32_t>(extra_.size());
    extra_.push_back(f);
  }
  const std::uint32_t all = wanted + static_cast<std::uint32_t>(extra_.size());
  begin_.reserve(all + 1U);
  begin_.push_back(0);
  for (std::uint32_t d = 0; d < all; ++d) {
    const std::uint32_t f = d < wanted ? match.found_of[d] : extra_[d - wanted];
    const std::size_t ports = std::max(d < wanted ? design.nodes[d].out.size() : 0, f == kNone ? 0 : found.nodes[f].out.size());
    begin_.push_back(begin_.back() + static_cast<std::uint32_t>(ports));
    device_.insert(device_.end(), ports, d);
  }
  want_.assign(begin_.back(), kNone);
  have_.assign(begin_.back(), kNone);
  for (std::uint32_t i = 0; i < design.links.size(); ++i) {
    const FabricLink &l = design.links[i], &back = design.links[i ^ 1U];
    if (design.out(l.from, l.port) == i) want_[begin_[l.from] + l.port] = begin_[l.to] + back.port;
  }
  for (std::uint32_t i = 0; i < found.links.size(); ++i) {
    const FabricLink &l = found.links[i], &back = found.links[i ^ 1U];
    if (found.out(l.from, l.port) == i) have_[begin_[of_found_[l.from]] + l.port] = begin_[of_found_[l.to]] + back.port;
  }
}

const FabricNode& Overlay::node(std::uint32_t device) const {
  return wanted(device) ? design_.nodes[device] : found_.nodes[extra_[device - design_.nodes.size()]];
}

const FabricLink* Overlay::want_link(std::uint32_t end) const {
  return want_[end] == kNone ? nullptr : &design_.links[design_.out(device_[end], port(end))];
}

const FabricLink* Overlay::have_link(std::uint32_t end) const {
  if (have_[end] == kNone) return nullptr;
  const std::uint32_t d = device_[end];
  const std::uint32_t f = wanted(d) ? match_.found_of[d] : extra_[d - design_.nodes.size()];
  return &found_.links[found_.out(f, port(end))];
}

std::string Overlay::say(std::uint32_t end) const {
  const std::uint32_t d = device_[end];
  return wanted(d) ? design_names_.end(d, port(end)) : found_names_.end(extra_[d - design_.nodes.size()], port(end));
}

std::string Overlay::say_device(std::uint32_t d) const {
  return wanted(d) ? design_names_.device(d) : found_names_.device(extra_[d - design_.nodes.size()]);
}

std::string_view Overlay::called(std::uint32_t d) const {
  if (!wanted(d) || match_.found_of[d] == kNone) return {};
  const std::string& name = found_.nodes[match_.found_of[d]].name;
  return name == design_.nodes[d].name ? std::string_view() : std::string_view(name);
}

std::vector<Chain> chains_of(const Overlay& o) {
  constexpr std::uint32_t kNone = Overlay::kNone;
  std::vector<Chain> out;
  std::vector<bool> seen(o.ends(), false);
  const auto next = [&](std::uint32_t end, bool by_want) {
    if (o.want(end) == o.have(end)) return kNone;
    return by_want ? o.want(end) : o.have(end);
  };
  for (std::uint32_t e = 0; e < o.ends(); ++e) {
    if (seen[e] || o.want(e) == o.have(e)) continue;
    Chain c;
    std::uint32_t at = e;
    bool by_want = true;
    for (std::uint32_t to = next(at, by_want); to != kNone; to = next(at, by_want)) {
      at = to;
      by_want = !by_want;
      if (at != e) continue;
      c.cycle = true;
      break;
    }
    // Where it went no further, it begins; the way back is by the kind of cable it came by.
    by_want = c.cycle ? true : !by_want;
    c.wanted_first = by_want;
    for (; at != kNone && !seen[at]; at = next(at, by_want), by_want = !by_want) {
      seen[at] = true;
      c.ends.push_back(at);
      const std::uint32_t to = next(at, by_want);
      if (to == kNone) break;
    }
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace muster::design
