// What the forwarding tables of a fabric's switches do, taken together: who reaches whom, how many ways share each link, and
// whether packets could wait for each other in a circle.
#pragma once
#include <cstdint>
#include <vector>

#include "model/fabric.h"

namespace muster::predict {

constexpr std::size_t kBrokenWaysMax = 64;  // told of; the rest is counted

struct RouteCheck {
  // Ways from one endpoint to another end before they arrive, or go round for ever.
  struct Broken {
    std::uint32_t at = 0;     // the switch where they end, or one of those they go round
    std::uint32_t to = 0;     // endpoint
    std::uint64_t pairs = 0;  // how many endpoints reach it not, for this
    bool loop = false;
  };
  // Links between switches that are equally far from the endpoints.
  struct Layer {
    std::uint32_t from_level = 0, to_level = 0;  // 0: switches with endpoints
    std::uint32_t links = 0;
    double mean = 0;  // pairs on a link
    std::uint64_t most = 0;
    std::uint32_t fullest = 0;  // that link
  };

  std::uint64_t pairs = 0;            // of a sender and a receiver that has an address, both cabled
  std::uint64_t unreachable = 0;      // of them
  std::uint64_t not_judged = 0;       // of them, that come to a switch whose table is not there
  std::uint64_t looping = 0;          // of them
  std::uint32_t without_address = 0;  // endpoints that no table knows
  std::uint32_t switches_untold = 0;  // switches without a table
  std::vector<Broken> broken;
  std::vector<std::uint64_t> load;  // by link: pairs whose way leads over it
  std::vector<Layer> layers;
  // A circle of links each of which may wait for the next: a deadlock can happen there if all packets are on one virtual lane.
  // The tables do not tell of lanes, and engines such as dfsssp, lash and nue rely on them.
  std::vector<std::uint32_t> credit_loop;  // one of the shortest; empty: there is none
  std::uint32_t links_in_credit_loops = 0;
};

// Takes time in proportion to endpoints times switches: tables are looked up once for each. Ways to switches themselves, which
// only management takes, are not looked at.
RouteCheck route_check(const Fabric& fabric, const ForwardingTables& tables);

}  // namespace muster::predict
