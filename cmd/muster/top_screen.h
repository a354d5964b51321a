// What the keys of `muster top` do: from what is chosen and a key to what is chosen then, and what is to be asked of the server.
// Nothing here reads a key or sends anything.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "options.h"
#include "report/top.h"
#include "report/units.h"
#include "terminal.h"

namespace muster::cmd {

// The screen's own nouns, here and in both files that use them.
using report::text_of;
using report::TopData;
using report::TopFrame;
using report::TopList;
using report::TopPane;
using report::TopView;

// What is done after a y.
struct TopAct {
  std::string verb;
  std::string node{};
  std::uint64_t approval = 0;
  std::string done{};  // what to say then
};

struct TopState {
  TopView view;
  std::string flags;            // that find the same server: " --state /tmp/x"
  std::optional<TopAct> asked;  // what the question on the screen is about
  bool leave = false;
};

struct TopWish {
  enum class Kind { none, list, explain, node, act, suspend, redraw };
  Kind kind = Kind::none;
  std::string what{};  // of explain and node
  TopAct act{};
};

struct TopStep {
  TopState state;
  TopWish wish{};
};

// `frame` is what the person saw when pressing it.
TopStep press(TopState state, const Key& key, const TopFrame& frame, const TopData& data);

// With the rows as they were drawn: others may have come and gone.
TopState seen(TopState state, const TopFrame& frame);

// Asks whether to drain the node, or to undrain one that is held, and says what that does. `node` is the server's answer.
TopState propose_drain(TopState state, const Value& node);

// The request that answers for the list; none for lists that come with the map and the guard.
struct TopPath {
  std::string path;
  std::map<std::string, std::string> query;
};
std::optional<TopPath> top_path(const TopView& view);

// The command that prints the list.
std::string list_command(const TopState& state);
// Flags for a command that is to find the same server.
std::string flags_of(const Connection& connection);

}  // namespace muster::cmd
