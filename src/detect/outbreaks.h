// The same trouble on many nodes at about the same time, beyond what chance allows, and what those nodes share: a leaf switch, a
// rack's power, an NVLink domain, a row, a driver that was pushed out, a file system. One finding for the site, to which those of
// the nodes point. It leads to no act: whoever reads it looks at the shared thing instead of at every node. It is over when
// nearly all of its nodes are well again, or when nobody has mended it for long: what is left is then looked at node by node.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "detect/drift.h"
#include "detect/sign.h"
#include "model/event.h"

namespace muster::detect {

class Outbreaks {
 public:
  explicit Outbreaks(const Site& site);
  void take_over(const Finding& f);
  // After the signs of a turn have been merged: `out` holds what opened and cleared in it. Marks members there and adds causes.
  void on_turn(std::vector<Body>& out, const State& s, const Drift& versions, Time utc, Time mono, std::uint64_t& next_id);
  Time next() const;

 private:
  enum class Bond : std::uint8_t { leaf, rack, domain, row, pod, driver, firmware, job, wired, site };
  static constexpr std::size_t kBonds = 10;
  struct Group {
    Bond bond = Bond::site;
    double value = 0;  // index, version, number of the job, or 1 + index of the switch
    auto operator<=>(const Group&) const = default;
  };
  // What a finding itself shares with others, whatever its node does; 0: nothing.
  struct Ties {
    double job = 0;   // its number
    double wire = 0;  // 1 + index of the switch that its link is wired to
  };
  struct Struck {
    Time at;  // mono
    NodeId node;
    FindingId id;
    Time began;  // utc
    Ties ties;
    Witness witness = Witness::scrape;
  };
  struct Cause {
    FindingId id;
    Group group;
    std::string subject;
    std::set<FindingKind> kinds;
    std::set<FindingId> members;  // open ones
    Time last;                    // mono, when the newest of them came
    std::set<NodeId> struck;      // nodes that were ever in it
    Time changed;                 // mono, when a finding of it last came or went
  };
  struct Due {
    Time at;      // mono
    Time latest;  // mono: however many come
  };
  struct Choice {
    Group group;
    std::size_t struck = 0;  // nodes in it
    std::size_t nodes = 0;   // that it has
    std::size_t all = 0;     // struck anywhere
    double chance = 1;       // that nothing is behind it
    double fit = 0;          // 1: all of its nodes and no others
  };
  using Kin = std::pair<FindingKind, std::string>;  // what has to be the same: the kind, and the mount where there is one

  bool in(const Group& g, NodeId n, const Ties& ties, const Drift& versions) const;
  double value_of(Bond b, NodeId n, const Ties& ties, const Drift& versions) const;
  std::size_t size_of(const Group& g, const State& s, const Drift& versions) const;
  std::optional<Choice> choose(const Kin& kin, const State& s, const Drift& versions, Time mono) const;
  std::string name_of_group(const Group& g, const State& s, const Drift& versions, Time utc, Time mono) const;
  void on_opened(Finding& f, const State& s, const Drift& versions, Time mono);
  void on_cleared(FindingId id, Time mono);
  // A node that its cause had struck is back. True: that explains the boot, which is no trouble of its own.
  bool on_booted(const Finding& f, std::vector<Body>& more, const State& s, Time mono);
  void look_after(std::vector<Body>& out, const State& s, Time utc, Time mono);
  void end(Cause& c, std::string why, std::vector<Body>& out, const State& s, Time utc);
  void judge(const Kin& kin, std::vector<Body>& out, const State& s, const Drift& versions, Time utc, Time mono,
             std::uint64_t& next_id);
  void link(Cause& c, const Kin& kin, std::vector<Body>& out, const State& s, const Drift& versions, Time mono);

  std::array<std::vector<std::uint32_t>, 5> value_;  // leaf, rack, domain, row, pod of each node
  std::array<std::vector<std::uint32_t>, 5> size_;   // nodes of each of them
  std::vector<std::uint32_t> wired_;                 // nodes with a cable to each switch
  std::size_t wires_ = 0;                            // pairs of a node and a switch it is wired to
  std::map<Kin, std::deque<Struck>> lately_;         // of a day
  std::map<Kin, Due> due_;                           // what to judge, once the storm of openings has settled
  std::map<Kin, Time> first_;                        // mono: when many were first judged to share nothing that is known
  std::map<FindingId, Cause> causes_;                // open ones
  std::map<FindingId, FindingId> member_of_;
  Time look_at_ = kNever;                            // mono: open causes are looked after
};

}  // namespace muster::detect
