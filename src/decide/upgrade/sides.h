// Sides: while a rolling upgrade is at work a node has the new version or not, and its turn is still to come or not. Work is kept
// from spanning versions that do not go together, and off nodes that it would hold beyond their turn.
#pragma once
#include <set>
#include <vector>

#include "decide/place/shape.h"
#include "model/state.h"

namespace muster::decide {

constexpr Duration kTurnTakes = minutes(25);  // a node's turn, from its drain to its return
constexpr Duration kAnyTime{INT64_MAX};

// The nodes asked for, in node order; on the way back those that have it.
std::vector<NodeId> upgrade_targets(const State& s);
// Its agent says so, or Muster installed it.
bool has_new_version(const State& s, NodeId n);
// Turns of nodes that are on their way, at work or bad with it: who was taken away from it proves nothing.
std::uint32_t serving_turns(const Upgrade& u);
// Named to go first, sound, and their turn has not come; none where as many serve as are wanted.
std::vector<NodeId> canaries_to_come(const State& s);
// Nodes that may be away for it at one time, whatever else is away.
std::uint32_t away_at_once(const State& s);

// What an upgrade asks of the placement of work.
struct Sides {
  std::vector<std::uint8_t> of;  // by node: bits of kHasIt, kWaits and kFewer; empty: no upgrade has a say
  std::uint8_t apart = 0;        // mask: no gang on nodes of these sides and of others, see Tree::keep_apart
  std::uint8_t together = 0;     // mask: but who stays on these mixes nothing
  // How long work may last that starts on a node that waits: until the last of them has its turn. Longer work would hold it
  // beyond.
  Duration open_for = kAnyTime;
};
Sides sides_of(const State& s);

}  // namespace muster::decide
