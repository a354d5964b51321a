#include "predict/route_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace muster::predict {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kPorts = 256;
constexpr std::size_t kBlock = 64;  // destinations whose entries are gathered at once: neighbours in every table

// The fabric by switches alone, in flat arrays.
struct Flat {
  std::vector<std::uint32_t> node;                      // of a switch
  std::vector<std::uint32_t> index;                     // of a node; kNone: an endpoint
  std::vector<std::uint32_t> out;                       // by switch and port: link
  std::vector<std::uint32_t> to;                        // by link: index of the switch it leads to; kNone: to an endpoint
  std::vector<std::uint32_t> attached;                  // by switch: endpoints
  std::vector<const std::vector<std::uint8_t>*> table;  // by switch; may be null

  explicit Flat(const Fabric& f, const ForwardingTables& tables) : index(f.nodes.size(), kNone) {
    for (std::uint32_t n = 0; n < f.nodes.size(); ++n) {
      if (!f.nodes[n].is_switch) continue;
      index[n] = static_cast<std::uint32_t>(node.size());
      node.push_back(n);
      const auto it = tables.switches.find(f.nodes[n].guid);
      table.push_back(it == tables.switches.end() ? nullptr : &it->second);
    }
    out.assign(node.size() * kPorts, kNone);
    attached.assign(node.size(), 0);
    for (const FabricLink& l : f.links) to.push_back(index[l.to]);
    for (std::uint32_t s = 0; s < node.size(); ++s) {
      const auto& ports = f.nodes[node[s]].out;
      // The last number means "no port" in a table.
      for (std::size_t p = 0; p < std::min(ports.size(), kPorts - 1); ++p) {
        if (ports[p] == Fabric::kNoLink) continue;
        out[s * kPorts + p] = ports[p];
        if (to[ports[p]] == kNone) ++attached[s];
      }
    }
  }
};

struct Destination {
  std::uint32_t endpoint, leaf;  // leaf: index of the switch it is plugged into
  std::uint16_t lid;
};

class Check {
 public:
  Check(const Fabric& fabric, const ForwardingTables& tables) : fabric_(fabric), flat_(fabric, tables) {
    const std::size_t switches = flat_.node.size();
    next_.resize(switches);
    waiting_.resize(switches);
    flows_.resize(switches);
    seen_.resize(switches);
    for (std::uint32_t s = 0; s < switches; ++s) {
      if (flat_.attached[s] > 0) leaves_.push_back(s);
    }
    follows_.resize(fabric.links.size());
    result_.load.assign(fabric.links.size(), 0);
    for (const auto* t : flat_.table) result_.switches_untold += t == nullptr ? 1 : 0;
    std::uint64_t senders = 0;
    for (const std::uint32_t a : flat_.attached) senders += a;
    for (std::uint32_t e = 0; e < fabric.nodes.size(); ++e) {
      if (fabric.nodes[e].is_switch) continue;
      const auto lid = tables.lids.find(fabric.nodes[e].guid);
      const auto link = std::find_if(fabric.nodes[e].out.begin(), fabric.nodes[e].out.end(),
                                     [](std::uint32_t l) { return l != Fabric::kNoLink; });
      if (link == fabric.nodes[e].out.end() || flat_.to[*link] == kNone) continue;  // not cabled, or not to a switch
      if (lid == tables.lids.end()) {
        ++result_.without_address;
        continue;
      }
      destinations_.push_back({e, flat_.to[*link], lid->second});
      result_.pairs += senders - 1;
    }
    std::sort(destinations_.begin(), destinations_.end(), [](const auto& a, const auto& b) { return a.lid < b.lid; });
  }

  RouteCheck run() {
    const std::size_t switches = flat_.node.size();
    std::vector<std::uint8_t> ports(kBlock * switches);
    for (std::size_t begin = 0; begin < destinations_.size(); begin += kBlock) {
      const std::size_t many = std::min(kBlock, destinations_.size() - begin);
      for (std::size_t s = 0; s < switches; ++s) {
        const std::vector<std::uint8_t>* table = flat_.table[s];
        for (std::size_t b = 0; b < many; ++b) {
          const std::size_t lid = destinations_[begin + b].lid;
          ports[b * switches + s] = table == nullptr || lid >= table->size() ? ForwardingTables::kNoPort : (*table)[lid];
        }
      }
      for (std::size_t b = 0; b < many; ++b) ways_to(destinations_[begin + b], ports.data() + b * switches);
    }
    inject();
    layers();
    credit_loops();
    return std::move(result_);
  }

 private:
  // All ways to one endpoint make up a tree with it at the root, or parts that end or go round: from the outermost switches
  // inward, each hands on what it has of its own and what came in. Most switches are on no way to it, and are not looked at.
  void ways_to(const Destination& d, const std::uint8_t* ports) {
    ++now_;
    on_ways_.clear();
    for (const std::uint32_t leaf : leaves_) {
      for (std::uint32_t s = enter(leaf, ports) ? leaf : kNone; s != kNone;) {
        const std::uint32_t far = next_[s] == kNone ? kNone : flat_.to[next_[s]];
        if (far == kNone) break;
        const bool fresh = enter(far, ports);
        ++waiting_[far];
        s = fresh ? far : kNone;
      }
    }
    if (flows_[d.leaf] > 0) --flows_[d.leaf];  // it does not send to itself
    order_.clear();
    for (const std::uint32_t s : on_ways_) {
      if (waiting_[s] == 0) order_.push_back(s);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::uint32_t s = order_[i], link = next_[s];
      const std::uint32_t far = link == kNone ? kNone : flat_.to[link];
      if (far != kNone && --waiting_[far] == 0) order_.push_back(far);
      if (flows_[s] == 0) continue;
      if (flat_.table[s] == nullptr) {
        result_.not_judged += flows_[s];
        continue;
      }
      if (link == kNone || (far == kNone && fabric_.links[link].to != d.endpoint)) {
        result_.unreachable += flows_[s];
        tell(flat_.node[s], d.endpoint, flows_[s], false);
        continue;
      }
      result_.load[link] += flows_[s];
      if (far == kNone) continue;
      flows_[far] += flows_[s];
      const std::uint8_t on = ports[far];
      std::uint64_t& bits = follows_[link][on / 64U];
      const std::uint64_t bit = std::uint64_t{1} << (on % 64U);
      if ((bits & bit) == 0) bits |= bit;  // is there nearly always: a line of the cache that is not written stays
    }
    if (order_.size() < on_ways_.size()) circles(d);
  }

  // False: it was already there.
  bool enter(std::uint32_t s, const std::uint8_t* ports) {
    if (seen_[s] == now_) return false;
    seen_[s] = now_;
    on_ways_.push_back(s);
    waiting_[s] = 0;
    next_[s] = flat_.out[s * kPorts + ports[s]];
    flows_[s] = flat_.attached[s];
    return true;
  }

  // What nobody could hand on is a circle, or several.
  void circles(const Destination& d) {
    for (const std::uint32_t s : on_ways_) {
      if (waiting_[s] == 0) continue;
      std::uint64_t pairs = 0;
      for (std::uint32_t at = s; waiting_[at] != 0; at = flat_.to[next_[at]]) {
        waiting_[at] = 0;
        pairs += flows_[at];
      }
      if (pairs == 0) continue;
      result_.looping += pairs;
      tell(flat_.node[s], d.endpoint, pairs, true);
    }
  }

  void tell(std::uint32_t at, std::uint32_t to, std::uint64_t pairs, bool loop) {
    if (result_.broken.size() < kBrokenWaysMax) result_.broken.push_back({at, to, pairs, loop});
  }

  // What endpoints send goes over their own cable first.
  void inject() {
    for (const FabricNode& n : fabric_.nodes) {
      for (const std::uint32_t link : n.out) {
        if (!n.is_switch && link != Fabric::kNoLink) result_.load[link] += destinations_.size();
      }
    }
    for (const Destination& d : destinations_) {
      for (const std::uint32_t link : fabric_.nodes[d.endpoint].out) {
        if (link != Fabric::kNoLink) --result_.load[link];
      }
    }
  }

  void layers() {
    std::vector<std::uint32_t> level(flat_.node.size(), kNone), ring;
    for (std::uint32_t s = 0; s < level.size(); ++s) {
      if (flat_.attached[s] > 0) level[s] = 0, ring.push_back(s);
    }
    for (std::size_t i = 0; i < ring.size(); ++i) {
      for (std::size_t p = 0; p < kPorts; ++p) {
        const std::uint32_t link = flat_.out[ring[i] * kPorts + p];
        const std::uint32_t far = link == kNone ? kNone : flat_.to[link];
        if (far != kNone && level[far] == kNone) level[far] = level[ring[i]] + 1, ring.push_back(far);
      }
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, RouteCheck::Layer> layers;
    for (std::uint32_t s = 0; s < level.size(); ++s) {
      for (std::size_t p = 0; p < kPorts; ++p) {
        const std::uint32_t link = flat_.out[s * kPorts + p];
        if (link == kNone || flat_.to[link] == kNone || level[s] == kNone) continue;  // or far from all endpoints
        RouteCheck::Layer& y = layers[{level[s], level[flat_.to[link]]}];
        if (y.links++ == 0 || result_.load[link] > y.most) y.most = result_.load[link], y.fullest = link;
        y.mean += static_cast<double>(result_.load[link]);
      }
    }
    for (auto& [key, y] : layers) {
      y.from_level = key.first;
      y.to_level = key.second;
      y.mean /= y.links;
      result_.layers.push_back(y);
    }
  }

  // The next link after `link` by a port of at least `port`; moves `port` past it.
  std::uint32_t follower(std::uint32_t link, std::size_t& port) const {
    while (port < kPorts) {
      const std::uint64_t bits = follows_[link][port / 64] >> (port % 64);
      if (bits == 0) {
        port = (port / 64 + 1) * 64;
        continue;
      }
      port += static_cast<std::size_t>(std::countr_zero(bits));
      const std::uint32_t next = flat_.out[flat_.to[link] * kPorts + port++];
      if (next != kNone && flat_.to[next] != kNone) return next;  // what leaves to an endpoint waits for nobody
    }
    return kNone;
  }

  // Tarjan's strongly connected components over links, without recursion: links may be hundreds of thousands deep.
  void credit_loops() {
    struct Frame {
      std::uint32_t link;
      std::size_t port;
    };
    const std::size_t links = fabric_.links.size();
    std::vector<std::uint32_t> number(links, 0), low(links, 0), stack;
    std::vector<bool> on_stack(links, false);
    std::vector<Frame> frames;
    std::uint32_t count = 0;
    std::vector<std::uint32_t> smallest;  // component
    for (std::uint32_t start = 0; start < links; ++start) {
      if (number[start] != 0 || flat_.to[start] == kNone || !fabric_.nodes[fabric_.links[start].from].is_switch) continue;
      frames.push_back({start, 0});
      while (!frames.empty()) {
        Frame& f = frames.back();
        if (f.port == 0 && number[f.link] == 0) {
          number[f.link] = low[f.link] = ++count;
          stack.push_back(f.link);
          on_stack[f.link] = true;
        }
        const std::uint32_t next = follower(f.link, f.port);
        if (next != kNone) {
          if (number[next] == 0) {
            frames.push_back({next, 0});
          } else if (on_stack[next]) {
            low[f.link] = std::min(low[f.link], number[next]);
          }
          continue;
        }
        const std::uint32_t link = f.link;
        frames.pop_back();
        if (!frames.empty()) low[frames.back().link] = std::min(low[frames.back().link], low[link]);
        if (low[link] != number[link]) continue;
        const auto first = std::find(stack.rbegin(), stack.rend(), link).base() - 1;
        std::vector<std::uint32_t> component(first, stack.end());
        stack.erase(first, stack.end());
        for (const std::uint32_t l : component) on_stack[l] = false;
        if (component.size() < 2) continue;
        result_.links_in_credit_loops += static_cast<std::uint32_t>(component.size());
        if (smallest.empty() || component.size() < smallest.size()) smallest = std::move(component);
      }
    }
    if (!smallest.empty()) result_.credit_loop = shortest_circle(smallest);
  }

  // One of the shortest circles through the lowest of these links.
  std::vector<std::uint32_t> shortest_circle(std::vector<std::uint32_t>& component) const {
    std::sort(component.begin(), component.end());
    const std::uint32_t start = component.front();
    std::map<std::uint32_t, std::uint32_t> before{{start, kNone}};
    std::vector<std::uint32_t> ring{start};
    for (std::size_t i = 0; i < ring.size(); ++i) {
      std::size_t port = 0;
      for (std::uint32_t next = follower(ring[i], port); next != kNone; next = follower(ring[i], port)) {
        if (next == start) {
          std::vector<std::uint32_t> circle;
          for (std::uint32_t l = ring[i]; l != kNone; l = before.at(l)) circle.push_back(l);
          std::reverse(circle.begin(), circle.end());
          return circle;
        }
        if (!std::binary_search(component.begin(), component.end(), next)) continue;
        if (before.try_emplace(next, ring[i]).second) ring.push_back(next);
      }
    }
    return {};
  }

  const Fabric& fabric_;
  Flat flat_;
  std::vector<Destination> destinations_;  // by lid
  // Of the destination at hand, by switch:
  std::vector<std::uint32_t> next_;     // link
  std::vector<std::uint32_t> waiting_;  // switches that still have to hand on to it
  std::vector<std::uint64_t> flows_;
  std::vector<std::uint32_t> seen_;  // for which destination the three above hold
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> on_ways_, order_;
  std::vector<std::uint32_t> leaves_;  // switches with endpoints
  // By link: the ports by which packets go on that came over it. Endpoints' own links come before all others and are left out.
  std::vector<std::array<std::uint64_t, kPorts / 64>> follows_;
  RouteCheck result_;
};

}  // namespace

RouteCheck route_check(const Fabric& fabric, const ForwardingTables& tables) { return Check(fabric, tables).run(); }

}  // namespace muster::predict
